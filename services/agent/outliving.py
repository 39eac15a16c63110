"""Work that a caller begins and that does not end because the caller goes away."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


async def outlive(work: Coroutine[Any, Any, T]) -> T:
    """The result of `work`, which runs in a task of its own.

    Cancelled once, because its caller went away, this waits on: the record tells the true outcome. Cancelled again,
    because the service stops, it breaks the work off, lets it settle, and passes the cancellation on.
    """
    task = asyncio.create_task(work)
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        if task.done():
            raise
    current = asyncio.current_task()
    if current is not None:
        current.uncancel()
    try:
        await asyncio.wait([task])
    except asyncio.CancelledError:
        task.cancel()
        await asyncio.wait([task])
        if not task.cancelled():
            task.exception()
        raise
    return task.result()
