"""The store in memory, for tests and single-process tools: same behaviour, nothing kept."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Generic, TypeVar

from services.kit.store import (
    CAUGHT_UP,
    MOST_ENTRIES,
    CaughtUp,
    Change,
    Codec,
    Entry,
    KeyExists,
    RevisionMismatch,
    under,
)
from services.kit.tokens import check_key

T = TypeVar("T")


class MemoryStore(Generic[T]):
    """See Store. Values pass through the codec, so that no two callers share an object."""

    def __init__(self, codec: Codec[T]) -> None:
        self._codec = codec
        self._data: dict[str, tuple[int, bytes]] = {}
        # Key → revision and bytes of its last write, None for a deletion, in the order of writing.
        self._last: dict[str, tuple[int, bytes | None]] = {}
        self._revision = 0
        self._changed = asyncio.Condition()

    def _entry(self, key: str, revision: int, data: bytes) -> Entry[T]:
        return Entry(key, self._codec.decode(data), revision)

    async def _write(self, key: str, data: bytes | None) -> int:
        self._revision += 1
        self._last.pop(key, None)
        self._last[key] = (self._revision, data)
        if data is None:
            self._data.pop(key, None)
        else:
            self._data.pop(key, None)
            self._data[key] = (self._revision, data)
        async with self._changed:
            self._changed.notify_all()
        return self._revision

    async def get(self, key: str) -> Entry[T] | None:
        found = self._data.get(check_key(key))
        return None if found is None else self._entry(key, *found)

    async def create(self, key: str, value: T) -> int:
        if check_key(key) in self._data:
            raise KeyExists(key)
        return await self._write(key, self._codec.encode(value))

    def _expect(self, key: str, expected: int) -> None:
        found = self._data.get(check_key(key))
        if found is None or found[0] != expected:
            raise RevisionMismatch(key)

    async def update(self, key: str, value: T, expected: int) -> int:
        self._expect(key, expected)
        return await self._write(key, self._codec.encode(value))

    async def put(self, key: str, value: T) -> int:
        return await self._write(check_key(key), self._codec.encode(value))

    async def delete(self, key: str, expected: int | None = None) -> None:
        if expected is not None:
            self._expect(key, expected)
        if check_key(key) in self._data:
            await self._write(key, None)

    async def keys(self, prefix: str = "") -> list[str]:
        return sorted(key for key in self._data if under(prefix, key))[:MOST_ENTRIES]

    async def entries(self, prefix: str = "") -> list[Entry[T]]:
        found = [self._entry(key, *value) for key, value in self._data.items() if under(prefix, key)]
        return found[:MOST_ENTRIES]

    async def newest(self, prefix: str = "", *, limit: int, before: int | None = None) -> list[Entry[T]]:
        found = [entry for entry in await self.entries(prefix) if before is None or entry.revision < before]
        return found[::-1][:limit]

    async def watch(self, prefix: str = "") -> AsyncIterator[Change[T] | CaughtUp]:
        seen = 0
        for entry in await self.entries(prefix):
            yield Change(entry.key, entry.value, entry.revision)
        seen = self._revision
        yield CAUGHT_UP
        while True:
            for key, (revision, data) in list(self._last.items()):
                if revision > seen and under(prefix, key):
                    yield Change(key, None if data is None else self._codec.decode(data), revision)
                seen = max(seen, revision)
            async with self._changed:
                await self._changed.wait_for(lambda: self._revision > seen)  # noqa: B023
