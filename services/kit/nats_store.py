"""The store on a JetStream key-value bucket (NATS's own layout, readable with its tools)."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator
from typing import Generic, TypeVar

from nats.js import api

from services.kit import logs
from services.kit.deadlines import current_budget
from services.kit.nats_acks import AckPublisher, NotAcknowledged, PublishRefused, WrongSequence
from services.kit.nats_connection import NatsConnection
from services.kit.nats_reader import Delivered, OrderedReader, Position, newest, present
from services.kit.nats_streams import StreamUnavailable, ensure_stream, last_by_subject
from services.kit.store import (
    CAUGHT_UP,
    MOST_ENTRIES,
    CaughtUp,
    Change,
    Codec,
    Entry,
    KeyExists,
    RevisionMismatch,
    StoreUnavailable,
    ValueUnreadable,
)
from services.kit.tokens import check_key

T = TypeVar("T")
log = logs.get(__name__)

_EXPECTED = "Nats-Expected-Last-Subject-Sequence"
_OPERATION = "KV-Operation"
_TIMEOUT = 2.0


def bucket_config(bucket: str, ttl_seconds: float | None, max_bytes: int, replicas: int) -> api.StreamConfig:
    """The stream behind a bucket, one value a key, as NATS's key-value layout has it."""
    return api.StreamConfig(
        name=f"KV_{bucket}",
        subjects=[f"$KV.{bucket}.>"],
        max_msgs_per_subject=1,
        max_age=ttl_seconds or 0,
        max_bytes=max_bytes,
        discard=api.DiscardPolicy.NEW,
        duplicate_window=min(120.0, ttl_seconds or 120.0),
        allow_rollup_hdrs=True,
        allow_direct=True,
        deny_delete=True,
        num_replicas=replicas,
    )


class NatsStore(Generic[T]):
    """See Store. `open` makes the bucket where it is missing."""

    def __init__(self, connection: NatsConnection, publisher: AckPublisher, bucket: str, codec: Codec[T]) -> None:
        self._connection = connection
        self._publisher = publisher
        self._stream = f"KV_{bucket}"
        self._before = f"$KV.{bucket}."
        self._codec = codec

    async def open(self, *, ttl_seconds: float | None = None, max_bytes: int = -1, replicas: int = 1) -> None:
        """Makes the bucket. Raises StreamUnavailable."""
        bucket = self._stream.removeprefix("KV_")
        await ensure_stream(self._connection, bucket_config(bucket, ttl_seconds, max_bytes, replicas))

    def _subject(self, key: str) -> str:
        return self._before + check_key(key)

    def _filters(self, prefix: str) -> list[str]:
        if not prefix:
            return [self._before + ">"]
        return [self._subject(prefix), self._subject(prefix) + ".>"]

    async def _publish(self, key: str, data: bytes, headers: dict[str, str] | None) -> int:
        timeout = min(_TIMEOUT, current_budget().remaining())
        try:
            return await self._publisher.publish(self._subject(key), data, headers, timeout=timeout)
        except (NotAcknowledged, PublishRefused) as error:
            raise StoreUnavailable(f"writing {key}: {error}") from error

    async def _last(self, key: str) -> tuple[int, bytes | None] | None:
        """Revision and bytes of the last write to a key; bytes are None for a deletion."""
        try:
            found = await last_by_subject(self._connection, self._stream, self._subject(key))
        except StreamUnavailable as error:
            raise StoreUnavailable(f"reading {key}: {error}") from error
        if found is None:
            return None
        return found.sequence, None if _is_deletion(found.headers) else found.data

    async def get(self, key: str) -> Entry[T] | None:
        found = await self._last(key)
        if found is None or found[1] is None:
            return None
        return Entry(key, self._codec.decode(found[1]), found[0])

    async def create(self, key: str, value: T) -> int:
        data = self._codec.encode(value)
        try:
            return await self._publish(key, data, {_EXPECTED: "0"})
        except WrongSequence:
            found = await self._last(key)
        if found is not None and found[1] is not None:
            raise KeyExists(key)
        # A deleted key leaves its deletion behind: writing after exactly that one is still create-if-absent.
        try:
            return await self._publish(key, data, {_EXPECTED: str(0 if found is None else found[0])})
        except WrongSequence as error:
            raise KeyExists(key) from error

    async def update(self, key: str, value: T, expected: int) -> int:
        try:
            return await self._publish(key, self._codec.encode(value), {_EXPECTED: str(expected)})
        except WrongSequence as error:
            raise RevisionMismatch(key) from error

    async def put(self, key: str, value: T) -> int:
        return await self._publish(key, self._codec.encode(value), None)

    async def delete(self, key: str, expected: int | None = None) -> None:
        headers = {_OPERATION: "DEL"}
        if expected is not None:
            headers[_EXPECTED] = str(expected)
        try:
            await self._publish(key, b"", headers)
        except WrongSequence as error:
            raise RevisionMismatch(key) from error

    async def _present(self, prefix: str, *, headers_only: bool) -> list[Delivered]:
        reader = OrderedReader(
            self._connection,
            self._stream,
            self._filters(prefix),
            Position(last_per_subject=True),
            headers_only=headers_only,
        )
        try:
            found = await present(reader, min(10.0, current_budget().remaining()), MOST_ENTRIES)
        except StreamUnavailable as error:
            raise StoreUnavailable(f"listing: {error}") from error
        finally:
            await reader.close()
        return [each for each in found if not _is_deletion(each.headers)]

    async def keys(self, prefix: str = "") -> list[str]:
        found = await self._present(prefix, headers_only=True)
        return sorted(each.subject.removeprefix(self._before) for each in found)

    def _readable(self, delivered: Delivered) -> Entry[T] | None:
        key = delivered.subject.removeprefix(self._before)
        try:
            return Entry(key, self._codec.decode(delivered.data), delivered.sequence)
        except ValueUnreadable as error:
            log.warning("value_unreadable", stream=self._stream, key=key, reason=str(error))
            return None

    async def entries(self, prefix: str = "") -> list[Entry[T]]:
        found = [self._readable(each) for each in await self._present(prefix, headers_only=False)]
        return [entry for entry in found if entry is not None]

    async def newest(self, prefix: str = "", *, limit: int, before: int | None = None) -> list[Entry[T]]:
        timeout = min(10.0, current_budget().remaining())
        found: list[Entry[T]] = []
        deadline = time.monotonic() + timeout
        # Deletions are in the stream too: pages are filled up past them.
        while len(found) < limit:
            try:
                page = await newest(
                    self._connection, self._stream, self._filters(prefix), limit, before=before, timeout=timeout
                )
            except StreamUnavailable as error:
                raise StoreUnavailable(f"listing: {error}") from error
            entries = [self._readable(each) for each in page if not _is_deletion(each.headers)]
            found += [entry for entry in entries if entry is not None]
            if len(page) < limit or time.monotonic() > deadline:
                break
            before = page[-1].sequence
        return found[:limit]

    async def watch(self, prefix: str = "") -> AsyncIterator[Change[T] | CaughtUp]:
        position = Position(last_per_subject=True)
        reader = OrderedReader(self._connection, self._stream, self._filters(prefix), position)
        try:
            await self._open_patiently(reader)
            caught_up = reader.pending_at_start == 0
            if caught_up:
                # Without a last message to resume after, a new consumer must not miss what comes in between.
                yield CAUGHT_UP
            async for delivered in reader.messages():
                change = self._change(delivered)
                if change is not None and (caught_up or change.value is not None):
                    yield change
                if not caught_up and delivered.pending == 0:
                    caught_up = True
                    yield CAUGHT_UP
        finally:
            await reader.close()

    async def _open_patiently(self, reader: OrderedReader) -> None:
        try:
            await reader.open()
        except StreamUnavailable as error:
            raise StoreUnavailable(f"watching: {error}") from error

    def _change(self, delivered: Delivered) -> Change[T] | None:
        if _is_deletion(delivered.headers):
            return Change(delivered.subject.removeprefix(self._before), None, delivered.sequence)
        entry = self._readable(delivered)
        return None if entry is None else Change(entry.key, entry.value, entry.revision)


def _is_deletion(headers: dict[str, str]) -> bool:
    # The second header marks what the server itself expired.
    return headers.get(_OPERATION) in ("DEL", "PURGE") or "Nats-Marker-Reason" in headers
