"""One part of the system: its process kept running, and what is known of it."""

from __future__ import annotations

import asyncio
import signal
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from deploy.local.backoff import Backoff
from deploy.local.child import Child
from deploy.local.log_file import LogFile
from deploy.local.notify import ReadySocket

READY_SECONDS = 30.0
# After SIGKILL the kernel needs a moment; a process that outlives it is stuck in the kernel and beyond help.
KILL_SECONDS = 1.0
TAIL_LINES = 5
# How a HyperKitty process ends that does not understand its HYPERKITTY_* variables.
EXIT_BAD_SETTINGS = 2


class SettingsRefused(Exception):
    """A process does not start with these settings; the message ends with what it said."""


class PartState(StrEnum):
    WAITING = "waiting"
    STARTING = "starting"
    READY = "ready"
    BACKING_OFF = "backing_off"
    DOWN = "down"
    STOPPED = "stopped"


@dataclass(frozen=True)
class Start:
    """How a part is started. `probe` waits until it serves; without one the process says so on $NOTIFY_SOCKET."""

    command: Sequence[str]
    environment: Mapping[str, str]
    directory: Path
    probe: Callable[[], Awaitable[None]] | None = None


class Part:
    """Runs one process until stopped, again and again. `changed` is called after each change of state."""

    def __init__(
        self,
        name: str,
        start: Start,
        *,
        needs: Sequence[asyncio.Event],
        log: LogFile,
        ready_socket: Path,
        changed: Callable[[Part, str], None],
    ) -> None:
        self.name = name
        self.state = PartState.WAITING
        self.restarts = 0
        self.started_at_ms = 0
        self.last_exit = ""
        self.has_been_ready = asyncio.Event()
        self._start = start
        self._needs = needs
        self._log = log
        self._ready_socket = ready_socket
        self._changed = changed
        self._backoff = Backoff()
        self._child: Child | None = None
        self._settings_refused = False

    @property
    def pid(self) -> int | None:
        """Of the running process; None while there is none."""
        return self._child.pid if self._child else None

    async def run(self) -> None:
        """Keep the process running until this task is cancelled; cancelling leaves the process to `stop`.

        Raises SettingsRefused when the first start ends with EXIT_BAD_SETTINGS: trying again would change nothing.
        """
        for need in self._needs:
            await need.wait()
        while True:
            served_seconds, tail = await self._run_once()
            if self._settings_refused and not self.has_been_ready.is_set():
                raise SettingsRefused(f"{self.name} refused its settings{tail}")
            delay = self._backoff.exited(time.monotonic(), served_seconds)
            down = self._backoff.is_down(time.monotonic())
            self._enter(
                PartState.DOWN if down else PartState.BACKING_OFF,
                f"{self.last_exit}; starts again in {delay:.1f} s{tail}",
            )
            # The wait *is* the rule here, not a stand-in for a condition.
            await asyncio.sleep(delay)
            self.restarts += 1

    async def _run_once(self) -> tuple[float, str]:
        """From start to exit: seconds it was ready, and the end of its output when it never was."""
        began = time.monotonic()
        self.started_at_ms = time.time_ns() // 1_000_000
        notified = ReadySocket(self._ready_socket)
        try:
            environment = {**self._start.environment, "NOTIFY_SOCKET": str(self._ready_socket)}
            try:
                child = Child(self._start.command, environment, self._start.directory, self._log)
            except OSError as error:
                self.last_exit = f"cannot be started: {error}"
                return 0.0, ""
            self._child = child
            self._enter(PartState.STARTING, f"pid {child.pid}")
            if not await self._becomes_ready(child, notified):
                self._child = None
                return 0.0, "".join(f"\n    | {line}" for line in self._log.tail(TAIL_LINES))
            ready_at = time.monotonic()
            self._enter(PartState.READY, f"pid {child.pid}, after {ready_at - began:.2f} s")
            self.has_been_ready.set()
            self.last_exit = describe_exit(await child.exit_code())
            self._child = None
            return time.monotonic() - ready_at, ""
        finally:
            notified.close()

    async def _becomes_ready(self, child: Child, notified: ReadySocket) -> bool:
        """Whether it became ready before it ended or READY_SECONDS passed; it has ended when not."""
        ready = asyncio.ensure_future(self._start.probe() if self._start.probe else notified.ready.wait())
        ended = asyncio.ensure_future(child.exit_code())
        try:
            done, _ = await asyncio.wait({ready, ended}, timeout=READY_SECONDS, return_when=asyncio.FIRST_COMPLETED)
            if ended in done:
                self._settings_refused = ended.result() == EXIT_BAD_SETTINGS
                self.last_exit = f"{describe_exit(ended.result())} before it was ready"
                return False
            if ready in done:
                ready.result()
                return True
            child.send(signal.SIGKILL)
            async with asyncio.timeout(KILL_SECONDS):
                await child.exit_code()
            self.last_exit = f"not ready within {READY_SECONDS:.0f} s"
            return False
        finally:
            ready.cancel()
            ended.cancel()

    async def stop(self, grace_seconds: float) -> None:
        """SIGTERM, then SIGKILL after `grace_seconds`. Call it when `run` has been cancelled."""
        child, detail = self._child, ""
        if child is not None:
            child.send(signal.SIGTERM)
            if not await ends_within(child, grace_seconds):
                child.send(signal.SIGKILL)
                await ends_within(child, KILL_SECONDS)
                detail = f"killed: did not stop within {grace_seconds:.1f} s"
            self._child = None
        self._enter(PartState.STOPPED, detail)
        self._log.close()

    def kill(self) -> None:
        """SIGKILL, for a user who will not wait for `stop`."""
        if self._child is not None:
            self._child.send(signal.SIGKILL)

    def _enter(self, state: PartState, detail: str) -> None:
        self.state = state
        self._changed(self, detail)


async def ends_within(child: Child, seconds: float) -> bool:
    try:
        async with asyncio.timeout(seconds):
            await child.exit_code()
    except TimeoutError:
        return False
    return True


def describe_exit(code: int) -> str:
    """In words: `exited with 1`, `killed by SIGKILL`."""
    if code >= 0:
        return f"exited with {code}"
    try:
        return f"killed by {signal.Signals(-code).name}"
    except ValueError:
        return f"killed by signal {-code}"
