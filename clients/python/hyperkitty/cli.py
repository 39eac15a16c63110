"""The `hyperkitty` command: the local system up, down, and how it is. Imports nothing large: it answers in 150 ms."""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path

from hyperkitty.local_system import LocalSystem, Report

USAGE = """usage: hyperkitty up | down | status [--json]

  up       run HyperKitty on this machine, in the foreground (Ctrl-C stops it)
  down     stop it, and wait until all of it is gone
  status   what runs and how; exit code 0: all ready, 1: some part is not, 3: not running

The system meant is the one of $HYPERKITTY_HOME (default: hyperkitty in the user's state directory)."""

EXIT_FAILED = 1
EXIT_USAGE = 2
EXIT_NOT_RUNNING = 3
# `up` ends everything within 10 s of being told to; a second more for it to be noticed.
DOWN_SECONDS = 11.0
POLL_SECONDS = 0.02


def main() -> int:
    """Entry point of the console script; returns the exit code."""
    arguments = sys.argv[1:]
    as_json = "--json" in arguments
    words = [argument for argument in arguments if argument != "--json"]
    if words in (["help"], ["--help"], ["-h"]):
        print(USAGE)
        return 0
    if words == ["status"]:
        return status(as_json)
    if words in (["up"], ["down"]) and not as_json:
        return up() if words == ["up"] else down()
    print(USAGE, file=sys.stderr)
    return EXIT_USAGE


def up() -> int:
    """Become the supervisor of this tree; returns only when there is no tree."""
    tree = find_tree()
    if tree is None:
        print("hyperkitty up: needs HyperKitty's source tree; run it there", file=sys.stderr)
        return EXIT_FAILED
    python = tree / ".venv" / "bin" / "python"
    executable = str(python) if python.exists() else sys.executable
    command = [executable, "-m", "deploy.local", "up", "--home", str(LocalSystem.of_environment().home)]
    os.chdir(tree)
    os.execv(executable, command)


def find_tree() -> Path | None:
    """The tree this client is installed from, else the one around the working directory."""
    installed_from = Path(__file__).resolve().parents[3]
    for candidate in (installed_from, Path.cwd(), *Path.cwd().parents):
        if (candidate / "deploy" / "local" / "__main__.py").exists():
            return candidate
    return None


def down() -> int:
    """Ask the supervisor to stop, then wait until nothing of the system is left."""
    system = LocalSystem.of_environment()
    pid = system.supervisor_pid()
    if pid is None:
        print(f"not running: {system.home}")
    else:
        try:
            os.kill(pid, signal.SIGTERM)
        except ProcessLookupError:
            pass
        except PermissionError:
            print(f"hyperkitty down: process {pid} belongs to another user", file=sys.stderr)
            return EXIT_FAILED
    deadline = time.monotonic() + DOWN_SECONDS
    if not wait_until(lambda: system.supervisor_pid() is None, deadline):
        print(f"hyperkitty down: process {pid} does not stop", file=sys.stderr)
        return EXIT_FAILED
    if not wait_until(lambda: not system.processes(), deadline):
        left = " ".join(str(each) for each in system.processes())
        print(f"hyperkitty down: still running: {left}", file=sys.stderr)
        return EXIT_FAILED
    if pid is not None:
        print("stopped")
    return 0


def wait_until(holds: Callable[[], bool], deadline: float) -> bool:
    """Whether the condition came to hold before `deadline` (monotonic seconds)."""
    while not holds():
        if time.monotonic() > deadline:
            return False
        time.sleep(POLL_SECONDS)
    return True


def status(as_json: bool) -> int:
    """Print what runs; the exit code says how it is."""
    report = LocalSystem.of_environment().report()
    if as_json:
        print(json.dumps(report))
    else:
        print_report(report)
    return {"ready": 0, "not_running": EXIT_NOT_RUNNING}.get(report["status"], EXIT_FAILED)


def print_report(report: Report) -> None:
    where = report["rest_url"] or report["home"]
    print(f"{report['status'].replace('_', ' ')}: {where}")
    for name, process in report["processes"].items():
        notes = [f"pid {process['pid']}"] if process["pid"] else []
        notes += [f"{process['restarts']} restarts"] if process["restarts"] else []
        notes += [f"last: {process['last_exit']}"] if process["last_exit"] else []
        print(f"  {name:<10} {process['state'].replace('_', ' '):<12} {', '.join(notes)}".rstrip())


if __name__ == "__main__":
    sys.exit(main())
