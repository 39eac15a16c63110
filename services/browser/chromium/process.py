"""One running Chromium: its pipe, its proxy socket, its end."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from hyperkitty.browser.v1 import sessions_pb2 as pb

from services.browser.cdp.client import CdpClient
from services.browser.cdp.domains.browser import Close
from services.browser.chromium.binary import Binary
from services.browser.chromium.child import LauncherChild
from services.browser.chromium.directories import SessionDirectory
from services.browser.chromium.owners import Owner
from services.kit import logs
from services.kit.processes import ProcessId, gone

log = logs.get(__name__)

# Closing: asked (48 ms on an idle machine), then killed with its namespace, then the launcher is killed too.
ASKED_SECONDS = 2.0
KILLED_SECONDS = 2.0


@dataclass(frozen=True)
class Layers:
    """Why a layer that holds a session in is missing; empty where it is there."""

    sandbox_problem: str = ""
    namespace_problem: str = ""


@dataclass(frozen=True)
class ExitReport:
    """How Chromium ended; exactly one of `code` and `signal` is set. `stderr` is the end of what it wrote."""

    code: int | None
    signal: str | None
    stderr: str
    asked: bool

    def __str__(self) -> str:
        return f"exit code {self.code}" if self.signal is None else f"killed by {self.signal}"


class Chromium:
    """A Chromium that was launched. It ends when it is closed, crashes, or the service dies."""

    def __init__(
        self,
        child: LauncherChild,
        client: CdpClient,
        process: ProcessId,
        binary: Binary,
        directory: SessionDirectory,
        owner: Owner,
        layers: Layers,
        version: str,
    ) -> None:
        self._child = child
        self._process = process
        self._owner = owner
        self.client = client
        self.binary = binary
        self.directory = directory
        self.layers = layers
        self.version = version
        self._asked = False
        self._closing: asyncio.Task[ExitReport] | None = None
        self._on_exit: list[Callable[[ExitReport], None]] = []
        self.exit_report: ExitReport | None = None
        self._watching = asyncio.create_task(self._watch(), name=f"chromium-{process.pid}")

    @property
    def pid(self) -> int:
        """Chromium's browser process, as the service's PID namespace numbers it."""
        return self._process.pid

    @property
    def sandbox(self) -> pb.SandboxState.ValueType:
        """Whether Chromium's own sandbox is on."""
        return pb.SANDBOX_STATE_OFF if self.layers.sandbox_problem else pb.SANDBOX_STATE_ON

    @property
    def isolation(self) -> pb.EgressIsolation.ValueType:
        """Whether it has a network namespace of its own, or only Chromium's switches."""
        without = bool(self.layers.namespace_problem)
        return pb.EGRESS_ISOLATION_FLAGS if without else pb.EGRESS_ISOLATION_NAMESPACE

    @property
    def launcher_pid(self) -> int:
        """The process that owns its namespaces."""
        return self._child.pid

    @property
    def proxy_socket(self) -> socket.socket:
        """Listens inside the session's network namespace; what is accepted on it is Chromium's traffic."""
        assert self._child.proxy_socket is not None
        return self._child.proxy_socket

    @property
    def stderr(self) -> str:
        """The end of what it wrote on standard error so far."""
        return self._child.tail.text()

    def on_exit(self, callback: Callable[[ExitReport], None]) -> None:
        """Call `callback` once it has ended, at once when it already has."""
        if self.exit_report is not None:
            callback(self.exit_report)
        else:
            self._on_exit.append(callback)

    @property
    def exited(self) -> Awaitable[ExitReport]:
        """Its end, however long that takes; may be awaited any number of times."""
        return asyncio.shield(self._watching)

    async def close(self) -> ExitReport:
        """End it and remove its files; at most about 7 s, 50 ms as a rule. Cancelling the call does not stop it."""
        if self._closing is None:
            self._closing = asyncio.create_task(self._close(), name=f"close-chromium-{self.pid}")
        return await asyncio.shield(self._closing)

    async def _watch(self) -> ExitReport:
        await self._child.ended.wait()
        # After a killed launcher the kernel needs a moment for the rest of the namespace.
        if not await gone(self._process, KILLED_SECONDS):
            log.error("chromium_left_running", pid=self.pid)
        self.exit_report = self._report()
        self.client.close()
        for callback in self._on_exit:
            callback(self.exit_report)
        return self.exit_report

    def _report(self) -> ExitReport:
        exited = self._child.exited
        status = signal.SIGKILL if exited is None else exited.status
        code = os.waitstatus_to_exitcode(status)
        name = _signal_name(-code) if code < 0 else None
        return ExitReport(None if name else code, name, self.stderr, self._asked)

    async def _close(self) -> ExitReport:
        self._asked = True
        if self.exit_report is None:
            self.client.browser.post(Close(), timeout=ASKED_SECONDS)
        for seconds, harder in ((ASKED_SECONDS, self._child.let_go), (KILLED_SECONDS, self._child.kill)):
            if await self._ended(seconds):
                break
            log.warning("chromium_slow_to_close", pid=self.pid)
            harder()
        report = await self.exited
        self.proxy_socket.close()
        await asyncio.to_thread(self.directory.wipe)
        self._owner.release()
        return report

    async def _ended(self, seconds: float) -> bool:
        try:
            async with asyncio.timeout(seconds):
                await self._child.ended.wait()
        except TimeoutError:
            return False
        return True


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
