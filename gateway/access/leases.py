"""Calls and streams last no longer than the token they were begun with (SPEC §11: they end within 1 s)."""

from __future__ import annotations

import asyncio
from types import TracebackType

from hyperkitty.auth.v1.identity_pb2 import CallerIdentity
from hyperkitty.operations.v1.errors_pb2 import ErrorCode

from services.kit.clock import Clock
from services.kit.errors import Refusal


class Lease:
    """What a call does inside is cancelled when its token ends, and comes out as Refusal unauthenticated."""

    def __init__(self, leases: Leases, caller: CallerIdentity) -> None:
        self._leases = leases
        self.token_id = caller.token_id
        self._expires_at_ms = caller.expires_at_ms
        self._task: asyncio.Task[object] | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._ended = False

    async def __aenter__(self) -> Lease:
        self._task = asyncio.current_task()
        self._leases.add(self)
        if self._expires_at_ms:
            left = max(0, self._expires_at_ms - self._leases.clock.now_ms()) / 1000
            self._timer = asyncio.get_running_loop().call_later(left, self.end)
        return self

    def end(self) -> None:
        """Ends what runs inside."""
        if not self._ended and self._task is not None:
            self._ended = True
            self._task.cancel()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._leases.remove(self)
        if self._timer is not None:
            self._timer.cancel()
        if not self._ended or self._task is None:
            return
        # Somebody else may have cancelled as well: that one still counts.
        if self._task.uncancel() == 0 and isinstance(error, asyncio.CancelledError):
            raise token_ended() from None


class Leases:
    """What is running, by the token it was begun with."""

    def __init__(self, clock: Clock) -> None:
        self.clock = clock
        self._running: dict[str, set[Lease]] = {}

    def lease(self, caller: CallerIdentity) -> Lease:
        """For one call or stream: `async with`."""
        return Lease(self, caller)

    def add(self, lease: Lease) -> None:
        """Part of entering a lease."""
        self._running.setdefault(lease.token_id, set()).add(lease)

    def remove(self, lease: Lease) -> None:
        """Part of leaving a lease."""
        held = self._running.get(lease.token_id)
        if held is not None:
            held.discard(lease)
            if not held:
                del self._running[lease.token_id]

    def end(self, token_id: str) -> None:
        """The token is revoked: ends everything that runs under it."""
        for lease in list(self._running.get(token_id, ())):
            lease.end()


def token_ended() -> Refusal:
    """The token was good when the call began and is not any more."""
    return Refusal(
        ErrorCode.ERROR_CODE_UNAUTHENTICATED,
        "the token has ended",
        hint="create_token makes another one; what was done before is on the record, get_operation tells.",
    )
