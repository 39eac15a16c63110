"""The tokens that were made: in memory, as the store has them, with every gateway following the same bucket."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

import msgspec
from google.protobuf.message import DecodeError
from hyperkitty.auth.v1.identity_pb2 import CallerIdentity
from hyperkitty.auth.v1.tokens_pb2 import Token
from hyperkitty.operations.v1.errors_pb2 import ErrorCode

from gateway.access.leases import Leases
from services.kit import logs
from services.kit.clock import Clock
from services.kit.errors import Refusal
from services.kit.store import CaughtUp, Store

BUCKET = "tokens"

log = logs.get(__name__)


class StoredToken(msgspec.Struct, frozen=True):
    """What is kept of a token: its facts (a serialized auth.v1.Token), and the SHA-256 of its secret."""

    token: bytes
    digest: bytes


@dataclass
class _Issued:
    token: Token
    digest: bytes
    # Calls that may still be made now, refilled with time; counts only when the token has a rate.
    left: float
    refilled_at: float


class IssuedTokens:
    """Looks tokens up by digest or id. `follow` keeps it as the store is."""

    def __init__(self, store: Store[StoredToken], leases: Leases, clock: Clock) -> None:
        self._store = store
        self._leases = leases
        self._clock = clock
        self._by_id: dict[str, _Issued] = {}
        self._by_digest: dict[bytes, _Issued] = {}
        self.caught_up = asyncio.Event()

    async def follow(self) -> None:
        """Takes every change of the bucket, for ever: a revocation elsewhere ends what runs here."""
        async for change in self._store.watch():
            if isinstance(change, CaughtUp):
                self.caught_up.set()
            elif change.value is None:
                self._forget(change.key)
            else:
                self._take(change.key, change.value)

    async def add(self, token: Token, digest: bytes) -> None:
        """Keeps a new token; it is good at once. Raises StoreUnavailable."""
        stored = StoredToken(token.SerializeToString(), digest)
        await self._store.create(token.token_id, stored)
        self._take(token.token_id, stored)

    async def remove(self, token_id: str) -> None:
        """Forgets a token and ends what runs under it. Raises StoreUnavailable."""
        await self._store.delete(token_id)
        self._forget(token_id)

    def get(self, token_id: str) -> Token | None:
        """A token by its id, also one that has expired."""
        issued = self._by_id.get(token_id)
        return None if issued is None else issued.token

    def all(self) -> list[Token]:
        """Every token, newest first (ids rise with time)."""
        return [self._by_id[token_id].token for token_id in sorted(self._by_id, reverse=True)]

    def find(self, digest: bytes) -> CallerIdentity | None:
        """Whose token it is; None for an unknown or expired one. Raises Refusal resource_exhausted over its rate."""
        issued = self._by_digest.get(digest)
        if issued is None:
            return None
        token = issued.token
        if token.expires_at_ms and token.expires_at_ms <= self._clock.now_ms():
            return None
        if token.rate_per_minute:
            self._count(issued)
        return CallerIdentity(
            tenant=token.tenant,
            token_id=token.token_id,
            agent_id=token.agent_id,
            scopes=token.scopes,
            expires_at_ms=token.expires_at_ms,
        )

    def _count(self, issued: _Issued) -> None:
        """One call of a token bucket that holds a minute's calls."""
        rate = issued.token.rate_per_minute
        now = self._clock.monotonic()
        issued.left = min(rate, issued.left + (now - issued.refilled_at) * rate / 60)
        issued.refilled_at = now
        if issued.left < 1:
            wait_ms = round((1 - issued.left) * 60_000 / rate)
            raise Refusal(
                ErrorCode.ERROR_CODE_RESOURCE_EXHAUSTED,
                f"the token may call {rate} times a minute",
                hint="Try again after details.retry_after_ms, or create_token with a larger rate_per_minute.",
                details={"rate_per_minute": rate, "retry_after_ms": wait_ms},
            )
        issued.left -= 1

    def _take(self, token_id: str, stored: StoredToken) -> None:
        token = Token()
        try:
            token.ParseFromString(stored.token)
        except DecodeError:
            log.error("token_unreadable", token_id=token_id)
            return
        if token_id in self._by_id:
            return
        issued = _Issued(token, stored.digest, token.rate_per_minute, self._clock.monotonic())
        self._by_id[token_id] = issued
        self._by_digest[stored.digest] = issued

    def _forget(self, token_id: str) -> None:
        issued = self._by_id.pop(token_id, None)
        if issued is not None:
            del self._by_digest[issued.digest]
        self._leases.end(token_id)
