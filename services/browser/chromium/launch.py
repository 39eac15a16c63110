"""Starting a Chromium for a session: directory, user, namespaces, pipe."""

from __future__ import annotations

import asyncio
import os
import socket
from contextlib import AsyncExitStack
from dataclasses import dataclass

from hyperkitty.operations.v1.errors_pb2 import ErrorCode

from services.browser.cdp.client import CdpClient
from services.browser.cdp.domains.browser import GetVersion
from services.browser.cdp.errors import CdpFault
from services.browser.chromium import flags, owners
from services.browser.chromium.binary import Binary
from services.browser.chromium.child import Failed, LauncherChild, Plan, Started
from services.browser.chromium.directories import HOME_VARIABLE, SessionDirectories, SessionDirectory
from services.browser.chromium.owners import Owner
from services.browser.chromium.process import Chromium, Layers
from services.kit import logs
from services.kit.errors import Refusal
from services.kit.processes import identity

log = logs.get(__name__)

PROXY_PORT = 3128
LAUNCH_SECONDS = 20.0
_UNDO_SECONDS = 2.0
_SMALL_SHM_BYTES = 512 * 1024 * 1024


class LaunchFailed(Exception):
    """Chromium did not start; the text says why and quotes the end of its standard error."""


class _IsolationUnavailable(Exception):
    """The namespaces cannot be had here."""


@dataclass(frozen=True)
class LaunchRequest:
    """What to start. `switches` are added to Chromium's command line."""

    session_id: str
    binary: Binary
    headed: bool = False
    window: tuple[int, int] = flags.DEFAULT_WINDOW
    switches: tuple[str, ...] = ()
    profile: str = ""
    """File name of the profile that is kept; empty for a fresh one that is wiped."""


class Launcher:
    """Starts Chromiums for one home."""

    def __init__(self, directories: SessionDirectories, *, allow_unsandboxed: bool = False) -> None:
        self._directories = directories
        self._allow_unsandboxed = allow_unsandboxed

    async def launch(self, request: LaunchRequest, timeout: float = LAUNCH_SECONDS) -> Chromium:
        """A Chromium that answers on its pipe, with no page yet.

        Raises Refusal sandbox_unavailable; LaunchFailed for anything else, also when `timeout` seconds pass
        without an answer. Nothing is left of a launch that failed or was cancelled.
        """
        try:
            async with asyncio.timeout(timeout):
                try:
                    return await self._launch(request)
                except _IsolationUnavailable as problem:
                    log.warning("network_namespace_unavailable", problem=str(problem))
                    return await self._launch(request, without=str(problem))
        except TimeoutError:
            raise LaunchFailed(f"Chromium did not start within {timeout:g} s") from None

    async def _launch(self, request: LaunchRequest, without: str = "") -> Chromium:
        async with AsyncExitStack() as undo:
            owner = owners.claim()
            undo.callback(owner.release)
            directory = self._directories.session(request.session_id, request.profile)
            directory.make(owner)
            undo.callback(directory.wipe)
            pipe, far = socket.socketpair()
            undo.callback(pipe.close)
            plan = self._plan(request, directory, owner, isolate=not without)
            names = (self._directories.hash, request.session_id)
            child = LauncherChild.start(plan, names, self._environment(directory), far)
            undo.push_async_callback(child.end, _UNDO_SECONDS)
            client = await CdpClient.over(pipe)
            undo.callback(client.close)
            started = _checked(await child.outcome, child)
            version = await self._answered(client, child)
            process = identity(started.pid)
            if process is None:
                raise LaunchFailed(f"Chromium ended at once\n{child.tail.text()}")
            layers = Layers(started.sandbox_problem, without)
            undo.pop_all()
            return Chromium(child, client, process, request.binary, directory, owner, layers, version)

    async def _answered(self, client: CdpClient, child: LauncherChild) -> str:
        """Chromium's version, once it answers. The caller sets the deadline."""
        try:
            return (await client.browser.send(GetVersion(), timeout=LAUNCH_SECONDS)).product
        except CdpFault as fault:
            await child.end(_UNDO_SECONDS)
            stderr = child.tail.text()
            if "No usable sandbox" in stderr:
                raise sandbox_unavailable(stderr.strip()[-300:]) from fault
            raise LaunchFailed(f"Chromium ended before it answered: {fault}\n{stderr}") from fault

    def _plan(self, request: LaunchRequest, directory: SessionDirectory, owner: Owner, *, isolate: bool) -> Plan:
        line = flags.CommandLine(
            binary=request.binary,
            user_data_dir=directory.profile,
            headed=request.headed,
            window=request.window,
            small_shm=_shm_is_small(),
            extra=request.switches,
        )
        return Plan(
            argv=flags.argv(line),
            env=self._environment(directory),
            directory=str(directory.path),
            uid=owner.uid,
            gid=owner.gid,
            proxy_port=PROXY_PORT,
            isolate=isolate,
            allow_unsandboxed=self._allow_unsandboxed,
        )

    def _environment(self, directory: SessionDirectory) -> dict[str, str]:
        """All of Chromium's environment: nothing of the service's own gets in, so no credential does."""
        kept = {name: os.environ[name] for name in ("DISPLAY", "TZ", "XAUTHORITY") if name in os.environ}
        return kept | {
            HOME_VARIABLE: self._directories.hash,
            "HOME": str(directory.path),
            "TMPDIR": str(directory.temporary),
            "XDG_CONFIG_HOME": str(directory.path / "config"),
            "XDG_CACHE_HOME": str(directory.path / "cache"),
            "PATH": "/usr/bin:/bin",
            "LANG": "C.UTF-8",
        }


def _checked(outcome: Started | Failed, child: LauncherChild) -> Started:
    if isinstance(outcome, Started):
        return outcome
    if outcome.kind == "sandbox":
        raise sandbox_unavailable(outcome.detail)
    if outcome.kind == "isolation":
        raise _IsolationUnavailable(outcome.detail)
    raise LaunchFailed(f"{outcome.detail}\n{child.tail.text()}".strip())


def _shm_is_small() -> bool:
    try:
        shm = os.statvfs("/dev/shm")
    except OSError:
        return True
    return shm.f_blocks * shm.f_frsize < _SMALL_SHM_BYTES


def sandbox_unavailable(detail: str) -> Refusal:
    """Chromium's sandbox cannot run on this machine; says which setting lets a browser run without it."""
    return Refusal(
        ErrorCode.ERROR_CODE_SANDBOX_UNAVAILABLE,
        "Chromium's sandbox needs unprivileged user namespaces, and this machine refuses them",
        hint="allow user namespaces (sysctl user.max_user_namespaces, kernel.apparmor_restrict_unprivileged_userns, or"
        " the container's seccomp profile); HYPERKITTY_ALLOW_UNSANDBOXED=1 runs browsers without the sandbox",
        details={"problem": detail, "setting": "HYPERKITTY_ALLOW_UNSANDBOXED"},
    )
