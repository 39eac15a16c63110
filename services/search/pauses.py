"""Waiting before something that is away is asked again: nothing tells when it is back."""

from __future__ import annotations

import asyncio

_SECONDS = (0.5, 1.0, 2.0, 5.0, 10.0, 30.0)


async def pause(attempt: int) -> None:
    """Longer from attempt to attempt (from 0), never over half a minute."""
    await asyncio.sleep(_SECONDS[min(attempt, len(_SECONDS) - 1)])
