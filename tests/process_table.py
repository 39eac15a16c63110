"""What /proc says of processes: the tests' own view of what runs, independent of the product."""

from __future__ import annotations

import os
from pathlib import Path


def pids() -> list[int]:
    return [int(entry) for entry in os.listdir("/proc") if entry.isdigit()]


def is_running(pid: int) -> bool:
    """Whether the process exists and is not a zombie."""
    try:
        state = Path("/proc", str(pid), "stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state not in ("Z", "X")


def parent_of(pid: int) -> int | None:
    try:
        return int(Path("/proc", str(pid), "stat").read_text().rpartition(")")[2].split()[1])
    except OSError:
        return None


def descendants(pid: int) -> set[int]:
    """Every process below `pid`, itself excluded."""
    children: dict[int, list[int]] = {}
    for each in pids():
        parent = parent_of(each)
        if parent is not None:
            children.setdefault(parent, []).append(each)
    found: set[int] = set()
    pending = [pid]
    while pending:
        for child in children.get(pending.pop(), []):
            found.add(child)
            pending.append(child)
    return found


def appeared_since(before: set[int]) -> set[int]:
    """Processes below this one that are not in `before`, nor below one of it.

    A system that other tests of the run share is in `before`, and starts and ends processes as it likes.
    """
    return {pid for pid in descendants(os.getpid()) if before.isdisjoint(_line_of(pid))}


def _line_of(pid: int) -> set[int]:
    """The process and those above it, up to this one."""
    line: set[int] = set()
    each: int | None = pid
    while each and each != os.getpid():
        line.add(each)
        each = parent_of(each)
    return line


def carrying(mark: str) -> set[int]:
    """Processes with `mark` in their environment or on their command line, this one and its ancestors excepted."""
    ours: set[int] = set()
    pid: int | None = os.getpid()
    while pid:
        ours.add(pid)
        pid = parent_of(pid)
    found: set[int] = set()
    for each in set(pids()) - ours:
        try:
            text = Path("/proc", str(each), "environ").read_bytes() + Path("/proc", str(each), "cmdline").read_bytes()
        except OSError:
            continue
        if mark.encode() in text and is_running(each):
            found.add(each)
    return found
