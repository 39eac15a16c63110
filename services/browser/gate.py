"""The gate between an operation and its page: closed until the operation's intent is on the event log (SPEC §9).

Resolving, measuring and waiting may go on meanwhile; the first command that can change the page, its network or
its state waits here.
"""

from __future__ import annotations

import asyncio
from collections.abc import Generator
from contextlib import contextmanager
from contextvars import ContextVar

_intent: ContextVar[asyncio.Future[None] | None] = ContextVar("intent", default=None)


async def opened() -> None:
    """Wait until the operation may act. Raises Refusal event_log_unavailable when its intent was not acknowledged."""
    intent = _intent.get()
    if intent is not None:
        # Shielded: cancelling one call never cancels its record.
        await asyncio.shield(intent)


@contextmanager
def closed_until(intent: asyncio.Future[None]) -> Generator[None]:
    """Close the gate for what runs inside, until `intent` is acknowledged."""
    token = _intent.set(intent)
    try:
        yield
    finally:
        _intent.reset(token)
