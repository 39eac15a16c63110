"""One suite for every store."""

from __future__ import annotations

import asyncio

import msgspec
import pytest

from services.kit.memory_store import MemoryStore
from services.kit.nats_store import NatsStore
from services.kit.store import (
    CAUGHT_UP,
    CaughtUp,
    Change,
    KeyExists,
    RevisionMismatch,
    Store,
    ValueUnreadable,
    page_revision,
    page_token,
    struct_codec,
)
from services.kit.tokens import encode_token
from tests.contract.kit.nats_server import Bus


class Thing(msgspec.Struct, frozen=True):
    name: str
    count: int = 0


@pytest.fixture
def memory_store() -> Store[Thing]:
    return MemoryStore(struct_codec(Thing))


@pytest.fixture
async def nats_store(bus: Bus) -> Store[Thing]:
    made = NatsStore(bus.connection, bus.publisher, "things", struct_codec(Thing))
    await made.open()
    await made.open()
    return made


@pytest.fixture(params=["memory", "nats"])
def store(request: pytest.FixtureRequest) -> Store[Thing]:
    return request.getfixturevalue(f"{request.param}_store")


async def test_what_is_put_is_read(store: Store[Thing]) -> None:
    assert await store.get("a.b") is None
    revision = await store.put("a.b", Thing("x", 1))
    entry = await store.get("a.b")
    assert entry is not None
    assert (entry.key, entry.value, entry.revision) == ("a.b", Thing("x", 1), revision)
    assert await store.put("a.b", Thing("y")) > revision


async def test_create_only_when_absent(store: Store[Thing]) -> None:
    await store.create("k", Thing("first"))
    with pytest.raises(KeyExists):
        await store.create("k", Thing("second"))
    await store.delete("k")
    await store.create("k", Thing("third"))
    entry = await store.get("k")
    assert entry is not None
    assert entry.value.name == "third"


async def test_many_creators_one_winner(store: Store[Thing]) -> None:
    results = await asyncio.gather(*(store.create("one", Thing(str(n))) for n in range(20)), return_exceptions=True)
    assert sum(isinstance(result, int) for result in results) == 1
    assert sum(isinstance(result, KeyExists) for result in results) == 19


async def test_update_needs_the_revision(store: Store[Thing]) -> None:
    first = await store.create("k", Thing("a"))
    second = await store.update("k", Thing("b"), first)
    assert second > first
    with pytest.raises(RevisionMismatch):
        await store.update("k", Thing("c"), first)
    with pytest.raises(RevisionMismatch):
        await store.update("absent", Thing("c"), first)
    with pytest.raises(RevisionMismatch):
        await store.delete("k", first)
    await store.delete("k", second)
    assert await store.get("k") is None


async def test_concurrent_counters_lose_nothing(store: Store[Thing]) -> None:
    await store.create("counter", Thing("n", 0))

    async def add() -> None:
        while True:
            entry = await store.get("counter")
            assert entry is not None
            try:
                await store.update("counter", Thing("n", entry.value.count + 1), entry.revision)
                return
            except RevisionMismatch:
                continue

    await asyncio.gather(*(add() for _ in range(15)))
    entry = await store.get("counter")
    assert entry is not None
    assert entry.value.count == 15


async def test_deleting_twice_is_no_error(store: Store[Thing]) -> None:
    await store.delete("never")
    await store.put("k", Thing("a"))
    await store.delete("k")
    await store.delete("k")
    assert await store.keys() == []


async def test_prefixes_are_whole_tokens(store: Store[Thing]) -> None:
    for key in ("t.a", "t.b", "t", "tt.c", "u.d"):
        await store.put(key, Thing(key))
    assert await store.keys("t") == ["t", "t.a", "t.b"]
    assert [entry.key for entry in await store.entries("t")] == ["t.a", "t.b", "t"]
    assert await store.keys() == ["t", "t.a", "t.b", "tt.c", "u.d"]
    assert await store.keys("x") == []
    assert await store.entries("x") == []


async def test_pages_of_the_newest(store: Store[Thing]) -> None:
    for number in range(25):
        await store.put(f"t.{number}", Thing(str(number)))
    await store.put("other.x", Thing("x"))
    await store.delete("t.24")
    await store.put("t.3", Thing("again"))
    first = await store.newest("t", limit=10)
    assert [entry.key for entry in first] == ["t.3"] + [f"t.{n}" for n in range(23, 14, -1)]
    token = page_token(first[-1].revision)
    second = await store.newest("t", limit=30, before=page_revision(token))
    assert [entry.key for entry in second] == [f"t.{n}" for n in range(14, -1, -1) if n != 3]
    assert await store.newest("t", limit=10, before=second[-1].revision) == []
    assert await store.newest("none", limit=10) == []


@pytest.mark.parametrize("key", ["", ".", "a.", ".a", "a..b", "a b", "a.*", "a.>", "ü", "a" * 2000])
async def test_keys_that_are_none(store: Store[Thing], key: str) -> None:
    with pytest.raises(ValueError, match="not a key"):
        await store.put(key, Thing("x"))


@pytest.mark.parametrize("text", ["", "_", "a.b", "*", ">", "user:Zoë Ω", "x" * 5000, "\ud800", "\x00\r\n"])
async def test_any_text_can_be_a_token_of_a_key(store: Store[Thing], text: str) -> None:
    key = f"t.{encode_token(text)}"
    await store.put(key, Thing("x"))
    assert await store.keys("t") == [key]


async def test_a_watch_sees_what_is_there_and_what_comes(store: Store[Thing]) -> None:
    await store.put("t.a", Thing("1"))
    await store.put("t.gone", Thing("1"))
    await store.delete("t.gone")
    await store.put("u.b", Thing("1"))
    watch = store.watch("t")
    first, caught_up = await anext(watch), await anext(watch)
    assert isinstance(first, Change)
    assert (first.key, first.value) == ("t.a", Thing("1"))
    assert caught_up == CAUGHT_UP
    await store.put("u.b", Thing("2"))
    await store.put("t.a", Thing("2"))
    seen = [await anext(watch)]
    await store.delete("t.a")
    seen.append(await anext(watch))
    assert [(change.key, change.value) for change in seen if not isinstance(change, CaughtUp)] == [
        ("t.a", Thing("2")),
        ("t.a", None),
    ]
    await watch.aclose()  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType]


async def test_a_watch_on_nothing_is_caught_up_at_once(store: Store[Thing]) -> None:
    watch = store.watch()
    async with asyncio.timeout(5):
        assert await anext(watch) == CAUGHT_UP
    await store.put("a", Thing("1"))
    async with asyncio.timeout(5):
        change = await anext(watch)
    assert isinstance(change, Change)
    assert change.key == "a"
    await watch.aclose()  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType]


async def test_damaged_values_are_told_apart(bus: Bus, nats_store: Store[Thing]) -> None:
    await bus.publisher.publish("$KV.things.bad", b"{", None, timeout=2)
    await nats_store.put("good", Thing("x"))
    with pytest.raises(ValueUnreadable):
        await nats_store.get("bad")
    assert [entry.key for entry in await nats_store.entries()] == ["good"]
