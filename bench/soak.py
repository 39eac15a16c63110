"""Sessions opened, used, killed and closed for minutes, as many as may be (`make soak`).

Prints what happened, and whether everything is back where it was; exits 1 when anything was lost or left.
"""

from __future__ import annotations

import argparse
import itertools
import os
import random
import signal
import sys
import tempfile
import time
from collections import Counter
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from pathlib import Path
from typing import Any

from services.kit.settings import home_hash
from tests import process_table
from tests.running_system import RunningSystem
from tests.site import Site
from tests.waiting import until

SESSIONS = "/api/browser/sessions"
SETTLED_SECONDS = 20.0
MOST_GROWN_BYTES = 48 * 1024**2


class Worker:
    """Opens a session, uses it, kills or closes it, again and again."""

    def __init__(self, system: RunningSystem, url: str, number: int, until_time: float) -> None:
        self.rest = system.rest
        self.url = url
        self.until_time = until_time
        self.random = random.Random(number)
        self.counts: Counter[str] = Counter()
        self.sessions: list[str] = []

    def run(self) -> None:
        while time.monotonic() < self.until_time:
            self.round()

    def round(self) -> None:
        created = self.rest.post(SESSIONS, {})
        if created.status != 200:
            self.counts[f"refused: {created.error_code}"] += 1
            return
        self.counts["created"] += 1
        session_id = created.result["session_id"]
        self.sessions.append(session_id)
        path = f"{SESSIONS}/{session_id}"
        tab = self.rest.post(f"{path}/tabs", {"url": self.url})
        if tab.status == 200:
            for _ in range(self.random.randrange(1, 6)):
                self.use(f"{path}/tabs/{tab.result['tab_id']}/actions")
            if self.random.random() < 0.3:
                self.kill(path)
                self.use(f"{path}/tabs/{tab.result['tab_id']}/actions")
        else:
            self.counts[f"open_tab: {tab.error_code}"] += 1
        closed = self.rest.post(f"{path}/close", {})
        self.counts["closed" if closed.status == 200 else f"close: {closed.error_code}"] += 1

    def use(self, path: str) -> None:
        op = self.random.choice(("read_page", "scroll", "reload"))
        args: dict[str, object] = {"delta_y": 100} if op == "scroll" else {}
        answer = self.rest.post(path, {"op": op, "args": args})
        self.counts["operations" if answer.status == 200 else f"{op}: {answer.error_code}"] += 1

    def kill(self, path: str) -> None:
        before = self.rest.get(path).json
        if before["pid"] and process_table.is_running(before["pid"]):
            os.kill(before["pid"], signal.SIGKILL)
            self.counts["killed"] += 1
            until(lambda: self.rest.get(path).json["restart_count"] > before["restart_count"], "restored", 20)


def usage(pid: int, home: Path) -> dict[str, int]:
    """What the browser service holds: PSS bytes, descriptors, threads, processes below it, files of sessions."""
    proc = Path(f"/proc/{pid}")
    pss = next(line for line in (proc / "smaps_rollup").read_text().splitlines() if line.startswith("Pss:"))
    files = Path(f"/var/tmp/hyperkitty-{home_hash(home)}")
    return {
        "memory_bytes": int(pss.split()[1]) * 1024,
        "descriptors": len(list((proc / "fd").iterdir())),
        "threads": len(list((proc / "task").iterdir())),
        "processes": len(process_table.descendants(pid)),
        "session_files": len(list(files.iterdir())) - 2,
        "saved_sessions": len(list((home / "sessions").iterdir())),
    }


def categories(system: RunningSystem, session_id: str) -> Counter[str]:
    events: list[Any] = system.rest.get(f"/api/events/recent?subject={session_id}&limit=1000").json["events"]
    return Counter(event["category"] for event in events)


def lost(system: RunningSystem, sessions: list[str], counts: Counter[str]) -> int:
    """Events that should be there and are not; counts crashes and restorations by the log."""
    missing = 0
    for session_id in sessions:
        told = categories(system, session_id)
        counts["crashed"] += told["browser.session.crashed"]
        counts["restored"] += told["browser.session.restored"]
        missing += told["browser.session.created"] != 1
        missing += told["browser.session.closed"] != 1
        missing += told["browser.session.crashed"] != told["browser.session.restored"]
    return missing


def soak(minutes: float, home: Path, most: int) -> int:
    environment = {"HYPERKITTY_WARM_POOL": "0", "HYPERKITTY_MAX_SESSIONS": str(most)}
    system = RunningSystem(home, environment=environment).wait_ready()
    failed = True
    try:
        with Site() as site:
            failed = _soaked(system, site.put("/", "<title>Soak</title><p style=height:5000px>text"), minutes, most)
    finally:
        failed = system.stop() != 0 or failed
    return int(failed)


def _soaked(system: RunningSystem, url: str, minutes: float, most: int) -> bool:
    pid, home = system.pid_of("browser"), system.home
    warm = Worker(system, url, 0, 0.0)
    warm.round()
    before = usage(pid, home)
    end = time.monotonic() + minutes * 60
    workers = [Worker(system, url, number, end) for number in range(1, most + 1)]
    below: set[int] = set()
    with ThreadPoolExecutor(most) as threads:
        running = [threads.submit(worker.run) for worker in workers]
        while not all(each.done() for each in running):
            below |= set(process_table.descendants(pid))
            wait(running, 0.5, FIRST_EXCEPTION)
        for each in running:
            each.result()
    counts: Counter[str] = Counter()
    for worker in workers:
        counts += worker.counts
    missing = lost(system, list(itertools.chain(*(worker.sessions for worker in workers))), counts)
    until(lambda: usage(pid, home)["processes"] <= before["processes"], "processes gone", SETTLED_SECONDS)
    after = usage(pid, home)
    orphans = sum(process_table.is_running(each) for each in below)
    for name, value in sorted(counts.items()):
        print(f"{name:32} {value}")
    print(f"{'orphans':32} {orphans}\n{'lost events':32} {missing}")
    for name, value in before.items():
        print(f"{name:32} {value} -> {after[name]}")
    held = system.pid_of("browser") == pid
    back = all(after[name] <= before[name] + 4 for name in ("descriptors", "processes"))
    clean = after["session_files"] == 0 and after["saved_sessions"] == 0
    grown = after["memory_bytes"] - before["memory_bytes"] > MOST_GROWN_BYTES
    return bool(orphans or missing or grown) or not (held and back and clean)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--minutes", type=float, default=2.0)
    parser.add_argument("--sessions", type=int, default=16)
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="hk-soak-") as home:
        sys.exit(soak(chosen.minutes, Path(home), chosen.sessions))


if __name__ == "__main__":
    main()
