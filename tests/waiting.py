"""Waiting in tests: for a condition, with a deadline, never for a time."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")

POLL_SECONDS = 0.02


def until(holds: Callable[[], T], what: str, seconds: float = 10.0) -> T:
    """The first true value of `holds`; fails the test naming `what` after `seconds`."""
    deadline = time.monotonic() + seconds
    while True:
        value = holds()
        if value:
            return value
        if time.monotonic() > deadline:
            raise AssertionError(f"not within {seconds:g} s: {what} (last: {value!r})")
        time.sleep(POLL_SECONDS)


async def async_until(holds: Callable[[], T], what: str, seconds: float = 10.0) -> T:
    """As `until`, letting the event loop run meanwhile."""
    deadline = time.monotonic() + seconds
    while True:
        value = holds()
        if value:
            return value
        if time.monotonic() > deadline:
            raise AssertionError(f"not within {seconds:g} s: {what} (last: {value!r})")
        await asyncio.sleep(POLL_SECONDS)
