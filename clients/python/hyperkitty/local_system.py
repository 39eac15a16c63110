"""A system that `hyperkitty up` runs on this machine, seen from outside: who supervises it, what runs, how it is."""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import struct
from pathlib import Path
from typing import TypedDict, cast

# struct flock on 64-bit Linux: l_type, l_whence, l_start, l_len, l_pid (fcntl(2)).
FLOCK = "hhqqi4x"
MAX_RUNTIME_BYTES = 44


class ProcessReport(TypedDict):
    """One part, as the supervisor tells of it."""

    state: str
    pid: int | None
    restarts: int
    started_at_ms: int
    last_exit: str


class Report(TypedDict):
    """`hyperkitty status --json`. `status`: ready, starting, degraded or not_running."""

    status: str
    home: str
    pid: int | None
    rest_url: str
    grpc_target: str
    processes: dict[str, ProcessReport]


class LocalSystem:
    """The system of one home. Paths follow the same rules as the supervisor's (deploy/local/home.py)."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.name = f"hk-{hashlib.sha256(os.fsencode(home)).hexdigest()[:12]}"

    @classmethod
    def of_environment(cls) -> LocalSystem:
        """$HYPERKITTY_HOME, else `hyperkitty` in the user's state directory."""
        chosen = os.environ.get("HYPERKITTY_HOME", "")
        if chosen:
            return cls(Path(chosen).expanduser().resolve())
        state = os.environ.get("XDG_STATE_HOME", "")
        return cls((Path(state) if state else Path.home() / ".local" / "state").resolve() / "hyperkitty")

    def supervisor_pid(self) -> int | None:
        """Who holds the home's lock; None when nobody does, whatever a dead `up` left lying about."""
        try:
            descriptor = os.open(self.home / "up.lock", os.O_RDWR)
        except (FileNotFoundError, NotADirectoryError):
            return None
        try:
            wanted = struct.pack(FLOCK, fcntl.F_WRLCK, os.SEEK_SET, 0, 0, 0)
            kind, _, _, _, pid = struct.unpack(FLOCK, fcntl.fcntl(descriptor, fcntl.F_GETLK, wanted))
        finally:
            os.close(descriptor)
        return None if kind == fcntl.F_UNLCK else pid

    def runtime(self) -> Path:
        """The directory of its sockets."""
        for base in (os.environ.get("XDG_RUNTIME_DIR", ""), "/tmp"):
            if base and Path(base).is_dir() and len(os.fsencode(f"{base}/{self.name}")) <= MAX_RUNTIME_BYTES:
                return Path(base) / self.name
        return Path("/tmp") / self.name

    def report(self) -> Report:
        """What the supervisor last wrote; every field has its empty value when it does not run."""
        pid = self.supervisor_pid()
        report = Report(
            status="not_running", home=str(self.home), pid=pid, rest_url="", grpc_target="", processes={}
        )
        if pid is None:
            return report
        state = _read_object(self.home / "state.json")
        report["rest_url"] = str(state.get("rest_url", ""))
        report["grpc_target"] = str(state.get("grpc_target", ""))
        told = _read_object(self.runtime() / "supervisor.json").get("processes", {})
        report["processes"] = cast("dict[str, ProcessReport]", told)
        states = {process["state"] for process in report["processes"].values()}
        if not state:
            report["status"] = "starting"
        else:
            report["status"] = "ready" if states == {"ready"} else "degraded"
        return report

    def processes(self) -> list[int]:
        """Processes that carry this home's hash in their environment or on their command line, this one excepted."""
        marks = (self.name.encode(), self.name.replace("hk-", "hyperkitty-").encode())
        found: list[int] = []
        for entry in os.listdir("/proc"):
            if not entry.isdigit() or int(entry) == os.getpid():
                continue
            try:
                carried = Path("/proc", entry, "environ").read_bytes() + Path("/proc", entry, "cmdline").read_bytes()
            except OSError:
                continue
            if any(mark in carried for mark in marks):
                found.append(int(entry))
        return found


def _read_object(path: Path) -> dict[str, object]:
    """A JSON object from a file; empty when there is none (not written yet, or already removed)."""
    try:
        content: object = json.loads(path.read_bytes())
    except (OSError, ValueError):
        return {}
    return cast("dict[str, object]", content) if isinstance(content, dict) else {}
