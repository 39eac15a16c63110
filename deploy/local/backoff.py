"""How long to wait before a part is started again, and when it counts as down (SPEC section 2)."""

from __future__ import annotations

from collections import deque

FIRST_SECONDS = 0.5
LONGEST_SECONDS = 30.0
# Slow enough a growth that a part which ends at once still reaches ten exits within the window.
GROWTH = 1.5
# A part that served this long had a fresh fault, not the old one.
STEADY_SECONDS = 10.0
DOWN_EXITS = 10
DOWN_WINDOW_SECONDS = 60.0


class Backoff:
    """The exits of one part. Times are seconds of one monotonic clock."""

    def __init__(self) -> None:
        self._exits: deque[float] = deque(maxlen=DOWN_EXITS)
        self._delay = FIRST_SECONDS

    def exited(self, now: float, served_seconds: float) -> float:
        """Note an exit after `served_seconds` of being ready; returns the seconds to wait before the next start."""
        if served_seconds >= STEADY_SECONDS:
            self._delay = FIRST_SECONDS
        self._exits.append(now)
        if self.is_down(now):
            return LONGEST_SECONDS
        delay = self._delay
        self._delay = min(self._delay * GROWTH, LONGEST_SECONDS)
        return delay

    def is_down(self, now: float) -> bool:
        """Whether the last ten exits lie within a minute; it is then tried only every 30 seconds."""
        return len(self._exits) == DOWN_EXITS and now - self._exits[0] <= DOWN_WINDOW_SECONDS
