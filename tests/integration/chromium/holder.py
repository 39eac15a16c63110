"""Stands in for the browser service: holds one Chromium with its proxy, and does what its standard input says.

Run as `python holder.py <home> <JSON options>`. One JSON object a line each way; the first line out tells what
was started. It is a process of its own so that a test can look at it, and kill it, from outside.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import uvloop

sys.path.insert(0, str(Path(__file__).parents[3]))

import msgspec

from services.browser.cdp.domains import browser, page, runtime, target
from services.browser.cdp.errors import CdpClosed
from services.browser.cdp.session import CdpSession
from services.browser.chromium import binary
from services.browser.chromium.directories import SessionDirectories
from services.browser.chromium.launch import Launcher, LaunchFailed, LaunchRequest
from services.browser.chromium.process import Chromium
from services.browser.egress.proxy import Blocked, EgressProxy
from services.browser.egress.request_head import RequestHead
from services.kit import logs
from services.kit.dialer import EgressPolicy
from services.kit.errors import Refusal, reason
from services.kit.host_rules import parse_rule
from services.kit.ids import new_id

SECONDS = 20.0


class WatchedProxy(EgressProxy):
    """The proxy, telling what it was asked for."""

    def __init__(self, policy: EgressPolicy, on_blocked: Callable[[Blocked], None]) -> None:
        super().__init__(policy, on_blocked)
        self.asked: list[str] = []

    async def dial(self, request: RequestHead) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        self.asked.append(f"{request.host}:{request.port}")
        return await super().dial(request)


class Holder:
    """One Chromium and what may be asked of it."""

    def __init__(self, chromium: Chromium, proxy: WatchedProxy, blocked: list[Blocked]) -> None:
        self._chromium = chromium
        self._proxy = proxy
        self._blocked = blocked

    async def visit(self, url: str) -> dict[str, object]:
        """Load a URL in a new tab; what came of it."""
        client = self._chromium.client
        made = await client.browser.send(target.CreateTarget(url="about:blank"), timeout=SECONDS)
        attach = target.AttachToTarget(target_id=made.target_id, flatten=True)
        session = client.session((await client.browser.send(attach, timeout=SECONDS)).session_id)
        assert session is not None
        loads: asyncio.Queue[str] = asyncio.Queue()
        session.on(
            page.LifecycleEvent, lambda event: loads.put_nowait(event.loader_id) if event.name == "load" else None
        )
        await session.send(page.Enable(), timeout=SECONDS)
        await session.send(page.SetLifecycleEventsEnabled(enabled=True), timeout=SECONDS)
        answer = await session.send(page.Navigate(url=url), timeout=SECONDS)
        text = "" if answer.error_text else await self._text_of(session, answer.loader_id, loads)
        failure = self._proxy.failure_of(url)
        return {
            "error": answer.error_text or "",
            "text": text,
            "failure": "" if failure is None else failure.net_error,
            "asked": self._proxy.asked,
            "blocked": [f"{each.host}:{each.port}" for each in self._blocked],
        }

    async def _text_of(self, session: CdpSession, loader_id: str | None, loads: asyncio.Queue[str]) -> str:
        async with asyncio.timeout(SECONDS):
            while await loads.get() != loader_id:
                continue
        expression = runtime.Evaluate(expression="document.documentElement.innerText")
        return msgspec.json.decode((await session.send(expression, timeout=SECONDS)).result.value, type=str)

    async def rule(self, text: str) -> dict[str, object]:
        self._proxy.open_rule(parse_rule(text))
        return {}

    async def close(self) -> dict[str, object]:
        return self._report(await self._chromium.close())

    async def crash(self) -> dict[str, object]:
        """Make the browser process crash, and wait for it."""
        with contextlib.suppress(CdpClosed):  # it dies before it answers
            await self._chromium.client.browser.send(browser.Crash(), timeout=SECONDS)
        return await self.exited()

    async def exited(self) -> dict[str, object]:
        """Wait for Chromium's end."""
        async with asyncio.timeout(SECONDS):
            return self._report(await self._chromium.exited)

    def _report(self, report: Any) -> dict[str, object]:
        return {"code": report.code, "signal": report.signal, "stderr": report.stderr, "asked": report.asked}


def say(what: dict[str, object]) -> None:
    sys.stdout.write(json.dumps(what) + "\n")
    sys.stdout.flush()


async def main() -> None:
    logs.configure("holder")  # to standard error: standard output is the conversation
    options = json.loads(sys.argv[2])
    directories = SessionDirectories(Path(sys.argv[1]))
    directories.claim()
    launcher = Launcher(directories, allow_unsandboxed=options.get("allow_unsandboxed", False))
    request = LaunchRequest(
        new_id("sess"), binary.find(full=options.get("full", False)), switches=tuple(options.get("switches", ()))
    )
    try:
        chromium = await launcher.launch(request)
    except Refusal as refusal:
        say({"refused": reason(refusal.code), "details": refusal.details, "hint": refusal.hint})
        return
    except LaunchFailed as failed:
        say({"failed": str(failed)})
        return
    blocked: list[Blocked] = []
    proxy = WatchedProxy(EgressPolicy(), blocked.append)
    await proxy.start(chromium.proxy_socket)
    say(
        {
            "service": os.getpid(),
            "launcher": chromium.launcher_pid,
            "chromium": chromium.pid,
            "directory": str(chromium.directory.path),
            "sandbox": chromium.sandbox,
            "isolation": chromium.isolation,
            "hash": directories.hash,
        }
    )
    holder = Holder(chromium, proxy, blocked)
    reader = asyncio.StreamReader()
    await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    while line := await reader.readline():
        command = json.loads(line)
        try:
            say(await getattr(holder, command.pop("do"))(**command))
        except Exception as error:
            say({"raised": f"{type(error).__name__}: {error}"})
    await chromium.close()
    await proxy.close()


if __name__ == "__main__":
    uvloop.run(main())
