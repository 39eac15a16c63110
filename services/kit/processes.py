"""Child processes: spawned so that they die with us, found as descendants, ended as a tree."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

_WRAPPER = str(Path(__file__).with_name("exec_child.py"))
_FREEZE_ROUNDS = 50


@dataclass(frozen=True)
class ProcessId:
    """A pid and when its process started: together they name one process for ever (proc(5), field 22)."""

    pid: int
    started: int


async def spawn(
    argv: Sequence[str],
    *,
    env: Mapping[str, str] | None = None,
    cwd: str | os.PathLike[str] | None = None,
    stdin: int | None = asyncio.subprocess.DEVNULL,
    stdout: int | None = None,
    stderr: int | None = None,
    pass_fds: Sequence[int] = (),
    uid: int | None = None,
    gid: int | None = None,
) -> asyncio.subprocess.Process:
    """Starts a program in a session of its own that gets SIGKILL when this process ends.

    `process.pid` is the program's own pid: the wrapper execs. Call it from the main thread: the kernel sends
    the death signal when the *thread* that forked ends. A program that cannot be executed exits non-zero.
    """
    if not argv:
        raise ValueError("no program given")
    wrapper = [sys.executable, "-I", "-S", _WRAPPER, str(os.getpid())]
    owner = ["-" if uid is None else str(uid), "-" if gid is None else str(gid)]
    return await asyncio.create_subprocess_exec(
        *wrapper,
        *owner,
        *argv,
        env=None if env is None else dict(env),
        cwd=cwd,
        stdin=stdin,
        stdout=stdout,
        stderr=stderr,
        pass_fds=tuple(pass_fds),
        start_new_session=True,
    )


def _stat(pid: int) -> tuple[int, ProcessId, str] | None:
    """(parent's pid, identity, state) of a process, or None when it is gone."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text(errors="replace")
    except (FileNotFoundError, ProcessLookupError):
        return None
    # The name in parentheses may hold anything, also parentheses: what follows the last one is fields 3….
    fields = text[text.rindex(")") + 2 :].split()
    return int(fields[1]), ProcessId(pid, int(fields[19])), fields[0]


def identity(pid: int) -> ProcessId | None:
    """The identity of a live process (a zombie counts as gone)."""
    found = _stat(pid)
    return None if found is None or found[2] in "ZX" else found[1]


def is_alive(process: ProcessId) -> bool:
    """Whether this very process, not another with its pid, is alive."""
    return identity(process.pid) == process


def descendants(pid: int) -> list[ProcessId]:
    """Every live process below `pid` now, parents before their children; `pid` itself not."""
    children: dict[int, list[ProcessId]] = {}
    for name in os.listdir("/proc"):
        if name.isdigit() and (found := _stat(int(name))) is not None and found[2] not in "ZX":
            children.setdefault(found[0], []).append(found[1])
    result: list[ProcessId] = []
    queue = [pid]
    while queue:
        for child in children.get(queue.pop(0), ()):
            result.append(child)
            queue.append(child.pid)
    return result


def send(process: ProcessId, number: signal.Signals) -> bool:
    """Signals this very process; False when it is gone. A pidfd, so that a reused pid is never hit."""
    try:
        descriptor = os.pidfd_open(process.pid)
    except ProcessLookupError:
        return False
    try:
        if not is_alive(process):
            return False
        signal.pidfd_send_signal(descriptor, number)
        return True
    except ProcessLookupError:
        return False
    finally:
        os.close(descriptor)


async def gone(process: ProcessId, timeout: float) -> bool:
    """Waits until this process has ended (its pidfd becomes readable); False when `timeout` seconds passed."""
    try:
        descriptor = os.pidfd_open(process.pid)
    except ProcessLookupError:
        return True
    loop = asyncio.get_running_loop()
    ended: asyncio.Future[None] = loop.create_future()
    try:
        if not is_alive(process):
            return True
        loop.add_reader(descriptor, lambda: None if ended.done() else ended.set_result(None))
        async with asyncio.timeout(timeout):
            await ended
        return True
    except TimeoutError:
        return False
    finally:
        loop.remove_reader(descriptor)
        os.close(descriptor)


async def kill_tree(pid: int, timeout: float = 5.0) -> list[ProcessId]:
    """Kills a process and all its descendants; returns those that outlived `timeout` seconds.

    The tree is frozen first: a process that forks while its parent dies would otherwise get away under init.
    """
    root = identity(pid)
    found: dict[ProcessId, None] = {} if root is None else {root: None}
    for process in found:
        send(process, signal.SIGSTOP)
    for _ in range(_FREEZE_ROUNDS):
        fresh = [process for process in descendants(pid) if process not in found]
        if not fresh:
            break
        for process in fresh:
            send(process, signal.SIGSTOP)
            found[process] = None
    for process in found:
        send(process, signal.SIGKILL)
    results = await asyncio.gather(*(gone(process, timeout) for process in found))
    return [process for process, ended in zip(found, results, strict=True) if not ended]


async def stop_process(process: asyncio.subprocess.Process, grace: float = 5.0) -> int:
    """SIGTERM, then after `grace` seconds SIGKILL for whatever is left of the tree; returns the exit code."""
    below = descendants(process.pid)
    if process.returncode is None:
        process.terminate()
        try:
            async with asyncio.timeout(grace):
                await process.wait()
        except TimeoutError:
            below = descendants(process.pid) or below
            await kill_tree(process.pid)
    for orphan in below:
        send(orphan, signal.SIGKILL)
    async with asyncio.timeout(grace):
        return await process.wait()
