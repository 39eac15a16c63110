"""Waiting for a condition that events can make true, never for time alone."""

from __future__ import annotations

import asyncio
from collections.abc import Callable


class Conditions:
    """Wakes those who wait whenever something happened."""

    def __init__(self) -> None:
        self._waiting: dict[asyncio.Future[None], Callable[[], bool]] = {}
        self._held_back: Exception | None = None

    def happened(self) -> None:
        """Something changed: look at every condition again."""
        for future, holds in list(self._waiting.items()):
            if not future.done() and holds():
                future.set_result(None)

    def fail(self, error: Exception) -> None:
        """Nothing will happen before someone acts: whoever waits, or begins to before `resume`, gets the error."""
        self._held_back = error
        for future in list(self._waiting):
            if not future.done():
                future.set_exception(error)

    def resume(self) -> None:
        """Things can happen again."""
        self._held_back = None

    async def until(self, holds: Callable[[], bool], seconds: float) -> None:
        """Wait until `holds()`, for at most `seconds`. Raises TimeoutError, or what `fail` was given."""
        if holds():
            return
        if self._held_back is not None:
            raise self._held_back
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting[future] = holds
        try:
            async with asyncio.timeout(seconds):
                await future
        finally:
            del self._waiting[future]
