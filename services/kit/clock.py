"""Time as a dependency, so that tests can move it."""

from __future__ import annotations

import time
from typing import Protocol


class Clock(Protocol):
    """Where a part reads the time."""

    def now_ms(self) -> int:
        """Milliseconds since 1970 UTC: for what is stored or shown."""
        ...

    def monotonic(self) -> float:
        """Seconds that never go back: for measuring and deadlines."""
        ...


class SystemClock:
    """The machine's clocks."""

    def now_ms(self) -> int:
        return time.time_ns() // 1_000_000

    def monotonic(self) -> float:
        return time.monotonic()


class ManualClock:
    """A clock that stands still until a test moves it."""

    def __init__(self, now_ms: int = 1_700_000_000_000) -> None:
        self._start_ms = now_ms
        self._elapsed = 0.0

    def advance(self, seconds: float) -> None:
        """Moves both clocks forward."""
        if seconds < 0:
            raise ValueError(f"time does not go back: {seconds}")
        self._elapsed += seconds

    def now_ms(self) -> int:
        return self._start_ms + round(self._elapsed * 1000)

    def monotonic(self) -> float:
        return self._elapsed
