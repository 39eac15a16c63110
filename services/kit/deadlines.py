"""One budget of time for a request, shrinking through every hop (DESIGN §6.2)."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, Generator
from contextlib import asynccontextmanager, contextmanager
from contextvars import ContextVar

from hyperkitty.operations.v1.errors_pb2 import ErrorCode

from services.kit.errors import Refusal

DEFAULT_SECONDS = 30.0


class Budget:
    """The time that is left for a request."""

    __slots__ = ("_deadline", "seconds")

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self._deadline = time.monotonic() + seconds

    def left(self) -> float:
        """Seconds left, 0.0 when none."""
        return max(0.0, self._deadline - time.monotonic())

    def exceeded(self) -> Refusal:
        """The refusal for a budget that is used up."""
        return Refusal(
            ErrorCode.ERROR_CODE_DEADLINE_EXCEEDED,
            f"the call did not end within {round(self.seconds * 1000)} ms",
            details={"timeout_ms": round(self.seconds * 1000)},
        )

    def remaining(self) -> float:
        """Seconds left; raises Refusal deadline_exceeded when there are none."""
        left = self.left()
        if left <= 0.0:
            raise self.exceeded()
        return left

    @asynccontextmanager
    async def limit(self, seconds: float | None = None) -> AsyncGenerator[None]:
        """Bounds what is awaited inside by `seconds` and by the budget.

        TimeoutError when the `seconds` were over, Refusal deadline_exceeded when the budget was.
        """
        left = self.remaining()
        budget_is_sooner = seconds is None or left <= seconds
        scope = asyncio.timeout(left if budget_is_sooner else seconds)
        try:
            async with scope:
                yield
        except TimeoutError:
            if budget_is_sooner and scope.expired():
                raise self.exceeded() from None
            raise


_current: ContextVar[Budget | None] = ContextVar("budget", default=None)


def current_budget() -> Budget:
    """The budget of the call being handled; a fresh one of 30 s where no call is."""
    return _current.get() or Budget(DEFAULT_SECONDS)


@contextmanager
def within(seconds: float) -> Generator[Budget]:
    """Opens a budget for work that has no caller, or narrows the caller's."""
    outer = _current.get()
    budget = Budget(seconds if outer is None else min(seconds, outer.left()))
    token = _current.set(budget)
    try:
        yield budget
    finally:
        _current.reset(token)


@contextmanager
def apart(seconds: float) -> Generator[Budget]:
    """A budget of its own, whatever is left of the caller's: for the record, which outlives the call."""
    budget = Budget(seconds)
    token = _current.set(budget)
    try:
        yield budget
    finally:
        _current.reset(token)


def use(budget: Budget) -> None:
    """Makes it the budget of the current task from here on."""
    _current.set(budget)
