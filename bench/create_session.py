"""How long create_session takes over REST, cold and from the warm pool: `python -m bench.create_session [rounds]`."""

from __future__ import annotations

import statistics
import sys
import tempfile
import time
from pathlib import Path

from tests.rest_client import RestClient
from tests.running_system import RunningSystem
from tests.waiting import until

SESSIONS = "/api/browser/sessions"
WARM_SECONDS = 30.0


def warm_browsers(rest: RestClient) -> int:
    services = rest.get("/api/health").json["services"]
    return next(int(each["counts"]["warm_browsers"]) for each in services if each["name"] == "browser")


def measured(pool: int, rounds: int) -> list[float]:
    """Milliseconds of each creation; with a pool it is full before each."""
    times: list[float] = []
    with tempfile.TemporaryDirectory(prefix="hk-bench-") as home:
        system = RunningSystem(Path(home), environment={"HYPERKITTY_WARM_POOL": str(pool)}).wait_ready()
        try:
            rest = system.rest
            for _ in range(rounds):
                until(lambda: warm_browsers(rest) >= pool, "the pool is full", WARM_SECONDS)
                begun = time.perf_counter()
                session = rest.post(SESSIONS, {}).result
                times.append((time.perf_counter() - begun) * 1000)
                rest.post(f"{SESSIONS}/{session['session_id']}/close", {})
        finally:
            system.stop()
    return times


def main() -> None:
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 15
    for name, pool in (("cold", 0), ("from the pool", 2)):
        times = sorted(measured(pool, rounds))
        print(f"{name:16} median {statistics.median(times):6.1f} ms, p95 {times[int(len(times) * 0.95)]:6.1f} ms")


if __name__ == "__main__":
    main()
