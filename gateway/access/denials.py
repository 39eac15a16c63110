"""`auth.denied` events: every refusal at the door with its source, at most 60 a minute, then counted (SPEC §9)."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TypeAlias

from gateway import metrics
from services.kit import logs
from services.kit.clock import Clock
from services.kit.errors import Refusal, reason
from services.kit.json_values import JsonValue

CATEGORY = "auth.denied"
MOST_A_WINDOW = 60
WINDOW_SECONDS = 60.0

Emit: TypeAlias = Callable[[str, dict[str, JsonValue]], Awaitable[None]]
"""Publishes one event: request id and data."""

log = logs.get(__name__)


@dataclass(frozen=True, slots=True)
class _Denial:
    request_id: str
    data: dict[str, JsonValue]


class Denials:
    """Takes refusals without waiting; `run` publishes them."""

    def __init__(self, emit: Emit, clock: Clock) -> None:
        self._emit = emit
        self._clock = clock
        # A window's events and the count of one before it.
        self._queue: asyncio.Queue[_Denial] = asyncio.Queue(2 * (MOST_A_WINDOW + 1))
        self._window_ends = 0.0
        self._in_window = 0
        self._uncounted = 0

    def note(self, refusal: Refusal, *, source: str, request_id: str, what: str) -> None:
        """One refusal. `what`: the method that was called, as the gateway knows it, never text of the caller."""
        metrics.DENIED.labels(reason(refusal.code)).inc()
        if self._clock.monotonic() >= self._window_ends:
            self._next_window()
        if self._in_window >= MOST_A_WINDOW:
            self._uncounted += 1
            return
        self._in_window += 1
        code = reason(refusal.code)
        self._put(request_id, {"code": code, "reason": refusal.message, "source": source, "what": what})

    def _next_window(self) -> None:
        self._window_ends = self._clock.monotonic() + WINDOW_SECONDS
        self._in_window = 0
        self._report()

    def _report(self) -> None:
        """Says how many were only counted."""
        if self._uncounted:
            self._put("", {"code": "counted", "reason": f"{self._uncounted} more refusals", "count": self._uncounted})
            self._uncounted = 0

    def _put(self, request_id: str, data: dict[str, JsonValue]) -> None:
        try:
            self._queue.put_nowait(_Denial(request_id, data))
        except asyncio.QueueFull:
            self._uncounted += 1

    async def run(self) -> None:
        """Publishes until it is cancelled; a window that ended with counts reports them."""
        while True:
            try:
                async with asyncio.timeout(WINDOW_SECONDS):
                    denial = await self._queue.get()
            except TimeoutError:
                self._report()
                continue
            try:
                await self._emit(denial.request_id, denial.data)
            except Refusal as refusal:
                # Neither the log nor its spool took it: the process's own log is what is left.
                log.error("denial_not_recorded", code=reason(refusal.code), denied=denial.data)
