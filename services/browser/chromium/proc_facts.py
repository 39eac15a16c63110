"""What /proc says about a browser from outside: whether its sandbox and its namespaces are really there."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from services.kit.processes import descendants

_SECCOMP_FILTER = "2"


_NAMESPACES = ("user", "pid", "net")


@dataclass(frozen=True)
class ProcessFacts:
    """One process of a browser. A namespace that may not be read (an ordinary user's view) is left out."""

    pid: int
    kind: str
    seccomp: str
    no_new_privileges: bool
    namespaces: dict[str, str]

    def in_sandbox_of(self, browser: ProcessFacts) -> bool:
        """Whether it runs in Chromium's namespace and seccomp sandbox (the two layers on Linux)."""
        shared = set(self.namespaces.items()) & set(browser.namespaces.items())
        return self.seccomp == _SECCOMP_FILTER and self.no_new_privileges and not shared


def read(pid: int) -> ProcessFacts | None:
    """The facts of a process; None when it is gone."""
    try:
        status = Path(f"/proc/{pid}/status").read_text()
        command = Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return None
    lines = dict(line.split(":\t", 1) for line in status.splitlines() if ":\t" in line)
    no_new_privileges = lines.get("NoNewPrivs") == "1"
    return ProcessFacts(pid, _kind(command), lines.get("Seccomp", ""), no_new_privileges, _namespaces(pid))


def _kind(command: bytes) -> str:
    # The zygote's children write their command line as one text with blanks in it.
    for part in command.replace(b"\0", b" ").split(b" "):
        if part.startswith(b"--type="):
            return part[7:].decode(errors="replace")
    return "browser"


def _namespaces(pid: int) -> dict[str, str]:
    found: dict[str, str] = {}
    for name in _NAMESPACES:
        try:
            found[name] = os.readlink(f"/proc/{pid}/ns/{name}")
        except OSError:
            continue
    return found


def browser_processes(pid: int) -> list[ProcessFacts]:
    """The browser process `pid`, first, and all below it."""
    found = [read(pid), *(read(process.pid) for process in descendants(pid))]
    return [facts for facts in found if facts is not None]
