"""Idempotency keys (SPEC §10): a repeat with the same body gets the first answer, another body is refused."""

from __future__ import annotations

import hashlib
from collections.abc import AsyncIterator

import msgspec
from google.protobuf.message import DecodeError, Message
from hyperkitty.operations.v1 import errors_pb2
from hyperkitty.operations.v1.errors_pb2 import ErrorCode

from services.kit import logs
from services.kit.clock import Clock
from services.kit.deadlines import current_budget
from services.kit.errors import Refusal, from_proto
from services.kit.store import CaughtUp, Change, KeyExists, RevisionMismatch, Store
from services.kit.tokens import encode_token

log = logs.get(__name__)

KEPT_SECONDS = 24 * 3600.0
# An answer that is larger is not kept: NATS takes messages up to 1 MiB.
_MOST_ANSWER_BYTES = 700 * 1024
# A call that has not ended by then never will: no deadline is longer.
_ABANDONED_MS = 180_000
_LONGEST_KEY = 200


class FirstCall(msgspec.Struct, frozen=True):
    """The first call with a key, and its answer once it has one."""

    body: str
    operation_id: str
    started_at_ms: int
    ended: bool = False
    response: bytes | None = None
    error: bytes | None = None


class Claim:
    """This call is the first one: it says how it ended, or gives the key back."""

    def __init__(self, store: Store[FirstCall], key: str, call: FirstCall, revision: int) -> None:
        self._store = store
        self._key = key
        self._call = call
        self._revision = revision

    async def answer(self, response: Message | None, refusal: Refusal | None) -> None:
        """Keeps the answer for repeats. Failing to do so is logged: the call itself has ended."""
        data = b"" if response is None else response.SerializeToString()
        kept = msgspec.structs.replace(
            self._call,
            ended=True,
            response=data if refusal is None and len(data) <= _MOST_ANSWER_BYTES else None,
            error=None if refusal is None else refusal.to_proto().SerializeToString(),
        )
        try:
            await self._store.update(self._key, kept, self._revision)
        except (Refusal, RevisionMismatch) as error:
            log.warning("idempotent_answer_not_kept", reason=str(error))

    async def release(self) -> None:
        """Nothing was done: a repeat may try again."""
        try:
            await self._store.delete(self._key, self._revision)
        except (Refusal, RevisionMismatch) as error:
            log.warning("idempotency_key_not_released", reason=str(error))


class Repeat(Exception):
    """The call was made before; carries what the first one got."""

    def __init__(self, first: FirstCall) -> None:
        super().__init__(first.operation_id)
        self.first = first

    def answer(self, response_type: type[Message]) -> Message:
        """The first answer, or raises the first refusal."""
        if self.first.error is not None:
            error = errors_pb2.Error()
            error.ParseFromString(self.first.error)
            raise from_proto(error)
        if self.first.response is None:
            raise _refused(self.first, "the first call succeeded, but its answer was too large to be kept")
        response = response_type()
        try:
            response.ParseFromString(self.first.response)
        except DecodeError:
            raise _refused(self.first, "the first answer cannot be read any more") from None
        return response


def _refused(first: FirstCall, message: str) -> Refusal:
    return Refusal(ErrorCode.ERROR_CODE_ALREADY_EXISTS, message, details={"operation_id": first.operation_id})


class IdempotencyKeys:
    """The keys of one service's calls."""

    def __init__(self, service: str, store: Store[FirstCall], clock: Clock) -> None:
        self._service = service
        self._store = store
        self._clock = clock

    def _key(self, tenant: str, method: str, key: str) -> str:
        digest = hashlib.sha256(f"{method}\0{key}".encode()).hexdigest()[:32]
        return f"{self._service}.{encode_token(tenant)}.{digest}"

    async def claim(self, tenant: str, method: str, key: str, request: Message, operation_id: str) -> Claim:
        """The claim of a first call. Raises Repeat for a later one, Refusal for another body."""
        if len(key) > _LONGEST_KEY:
            raise Refusal(ErrorCode.ERROR_CODE_INVALID_ARGUMENTS, f"idempotency-key is over {_LONGEST_KEY} characters")
        stored_under = self._key(tenant, method, key)
        body = hashlib.sha256(request.SerializeToString(deterministic=True)).hexdigest()
        call = FirstCall(body, operation_id, self._clock.now_ms())
        try:
            return Claim(self._store, stored_under, call, await self._store.create(stored_under, call))
        except KeyExists:
            first = await self._ended(stored_under, body)
        if first is None:
            # The first call gave the key back: this one takes its place.
            return await self.claim(tenant, method, key, request, operation_id)
        raise Repeat(first)

    async def _ended(self, key: str, body: str) -> FirstCall | None:
        """The first call, once it has ended; None when its key was given back."""
        entry = await self._store.get(key)
        if entry is None:
            return None
        first = entry.value
        if first.body != body:
            raise _refused(first, "the idempotency-key was used with another body")
        if first.ended:
            return first
        if self._clock.now_ms() - first.started_at_ms > _ABANDONED_MS:
            raise Refusal(
                ErrorCode.ERROR_CODE_INTERRUPTED,
                "the first call with this idempotency-key never ended",
                details={"operation_id": first.operation_id},
            )
        async with current_budget().limit():
            return await _first_end(self._store.watch(key))


async def _first_end(changes: AsyncIterator[Change[FirstCall] | CaughtUp]) -> FirstCall | None:
    async for change in changes:
        if isinstance(change, CaughtUp):
            continue
        if change.value is None or change.value.ended:
            return change.value
    return None
