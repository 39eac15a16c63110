"""What is being done in each session, and which sessions nobody has used for long (SPEC §4, "Sessions")."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass

from services.kit.clock import Clock

DEFAULT_IDLE_MS = 1_800_000


@dataclass(slots=True)
class _Use:
    running: int
    since: float
    """When the last command ended; seconds of the clock that never goes back."""


class Activity:
    """Commands that run or are queued, by session."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._uses: dict[str, _Use] = {}
        self._running = 0
        self._ended = clock.monotonic()

    @contextmanager
    def of(self, session_id: str) -> Generator[None]:
        """Around a command of a session (empty: one that makes a session), from its arrival to its end."""
        use = self._uses.setdefault(session_id, _Use(0, 0.0)) if session_id else _Use(0, 0.0)
        use.running += 1
        self._running += 1
        try:
            yield
        finally:
            use.running -= 1
            self._running -= 1
            use.since = self._ended = self._clock.monotonic()

    def idle_seconds(self, session_id: str) -> float:
        """For how long nothing was done in a session; counted from the first time of asking when nothing ever was."""
        use = self._uses.setdefault(session_id, _Use(0, self._clock.monotonic()))
        return 0.0 if use.running else self._clock.monotonic() - use.since

    def quiet_seconds(self) -> float:
        """For how long nothing was done in any session."""
        return 0.0 if self._running else self._clock.monotonic() - self._ended

    def forget(self, session_id: str) -> None:
        """The session ended."""
        self._uses.pop(session_id, None)
