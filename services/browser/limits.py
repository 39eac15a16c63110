"""What a session may take of the machine (SPEC §4, "Sessions"), measured from outside through /proc.

Memory is PSS: shared pages are divided among those that share them (proc(5), smaps_rollup). Processes are counted
below the launcher, whose PID namespace holds them all: RLIMIT_NPROC would count threads, and is the user's where the
service is not root.
"""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from hyperkitty.operations.v1.errors_pb2 import ErrorCode

from services.browser.session import Session
from services.kit import logs
from services.kit.errors import Refusal
from services.kit.processes import ProcessId, descendants, send

log = logs.get(__name__)

MOST_BYTES = 2 * 1024**3
MOST_PROCESSES = 400
LEAST_FREE_BYTES = 512 * 1024**2
"""Less free memory than this, and no session is created."""
MEASURE_SECONDS = 3.0
_PAGE = 4096


def available_bytes() -> int:
    """Memory that can be had without swapping: the machine's, or the control group's where that is less."""
    machine = _meminfo("MemAvailable")
    try:
        limit = Path("/sys/fs/cgroup/memory.max").read_text().strip()
        used = int(Path("/sys/fs/cgroup/memory.current").read_text())
        reclaimable = _field(Path("/sys/fs/cgroup/memory.stat").read_text(), "inactive_file")
    except (OSError, ValueError):
        return machine
    return machine if limit == "max" else min(machine, max(0, int(limit) - used + reclaimable))


def _meminfo(name: str) -> int:
    return _field(Path("/proc/meminfo").read_text(), f"{name}:") * 1024


def _field(text: str, name: str) -> int:
    """A number of a file of lines `name number`. Raises ValueError."""
    for line in text.splitlines():
        words = line.split()
        if words and words[0] == name:
            return int(words[1])
    raise ValueError(f"no {name}")


def check_free_memory(available: int) -> None:
    """Raises Refusal resource_exhausted when a browser more would be too much."""
    if available < LEAST_FREE_BYTES:
        raise Refusal(
            ErrorCode.ERROR_CODE_RESOURCE_EXHAUSTED,
            f"{available // 1024**2} MiB of memory are free, and a session needs {LEAST_FREE_BYTES // 1024**2}",
            details={"available_bytes": available, "needed_bytes": LEAST_FREE_BYTES, "retry_after_ms": 5_000},
        )


@dataclass(frozen=True, slots=True)
class Measured:
    """What a session takes. `renderers`: largest first."""

    memory_bytes: int
    processes: int
    renderers: tuple[ProcessId, ...] = ()

    def over(self) -> str:
        """Which limit it is over; empty for none."""
        if self.memory_bytes > MOST_BYTES:
            return "memory"
        return "processes" if self.processes > MOST_PROCESSES else ""


def measure(launcher_pid: int) -> Measured:
    """What runs below a launcher. Blocking: some milliseconds."""
    below = descendants(launcher_pid)
    sizes = {process: _pss(process.pid) for process in below}
    renderers = sorted((each for each in below if _is_renderer(each.pid)), key=lambda each: -sizes[each])
    return Measured(sum(sizes.values()), len(below), tuple(renderers))


def _pss(pid: int) -> int:
    try:
        return _field(Path(f"/proc/{pid}/smaps_rollup").read_text(), "Pss:") * 1024
    except (OSError, ValueError):
        pass
    try:
        # A sandboxed renderer is not readable to an ordinary user: what it does not share counts.
        _, resident, shared = Path(f"/proc/{pid}/statm").read_text().split()[:3]
        return (int(resident) - int(shared)) * _PAGE
    except (OSError, ValueError):
        return 0


def _is_renderer(pid: int) -> bool:
    try:
        return b"--type=renderer" in Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return False


class Registry(Protocol):
    """Where the sessions are."""

    def live(self) -> list[Session]:
        """Those that run."""
        ...

    async def end_over_limit(self, session: Session, limit: str) -> None:
        """End one for good."""
        ...


class Watch:
    """Measures every session, and ends first the largest tab, then the session, of what is over a limit."""

    def __init__(self, registry: Registry, measured: Callable[[int], Measured] = measure) -> None:
        self._registry = registry
        self._measured = measured
        self._warned: set[str] = set()
        # A thread of its own: what others do in threads may hang.
        self._thread = ThreadPoolExecutor(1, "measure")

    async def run(self) -> None:
        """Look for ever."""
        never = asyncio.Event()
        while True:
            try:
                async with asyncio.timeout(MEASURE_SECONDS):
                    await never.wait()
            except TimeoutError:
                await self.look()

    async def look(self) -> None:
        """Measure once, and act."""
        sessions = {each.session_id: each for each in self._registry.live() if each.exit is None and not each.closing}
        launchers = {session_id: each.chromium.launcher_pid for session_id, each in sessions.items()}
        found = await asyncio.get_running_loop().run_in_executor(self._thread, self._all, launchers)
        self._warned &= sessions.keys()
        for session_id, measured in found.items():
            sessions[session_id].memory_bytes = measured.memory_bytes
            await self._judge(sessions[session_id], measured)

    def close(self) -> None:
        """Measure no more."""
        self._thread.shutdown(wait=False, cancel_futures=True)

    def _all(self, launchers: Mapping[str, int]) -> dict[str, Measured]:
        return {session_id: self._measured(pid) for session_id, pid in launchers.items()}

    async def _judge(self, session: Session, measured: Measured) -> None:
        limit = measured.over()
        if not limit or session.exit is not None or session.closing:
            self._warned.discard(session.session_id)
            session.killed_for = ""
            return
        log.warning(
            "session_over_limit",
            session_id=session.session_id,
            limit=limit,
            memory_bytes=measured.memory_bytes,
            processes=measured.processes,
        )
        if session.session_id not in self._warned and measured.renderers:
            self._warned.add(session.session_id)
            session.killed_for = limit
            send(measured.renderers[0], signal.SIGKILL)
        else:
            await self._registry.end_over_limit(session, limit)
