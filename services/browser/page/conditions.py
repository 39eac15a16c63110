"""Waiting for a condition that events can make true, never for time alone."""

from __future__ import annotations

import asyncio
from collections.abc import Callable


class Conditions:
    """Wakes those who wait whenever something happened."""

    def __init__(self) -> None:
        self._waiting: dict[asyncio.Future[None], Callable[[], bool]] = {}

    def happened(self) -> None:
        """Something changed: look at every condition again."""
        for future, holds in list(self._waiting.items()):
            if not future.done() and holds():
                future.set_result(None)

    def fail(self, error: Exception) -> None:
        """Nothing will happen any more, or not before someone acts: everyone who waits gets the error."""
        for future in list(self._waiting):
            if not future.done():
                future.set_exception(error)

    async def until(self, holds: Callable[[], bool], seconds: float) -> None:
        """Wait until `holds()`, for at most `seconds`. Raises TimeoutError, or what `fail` was given."""
        if holds():
            return
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting[future] = holds
        try:
            async with asyncio.timeout(seconds):
                await future
        finally:
            del self._waiting[future]
