"""What happens to clients when NATS is killed, frozen and started again."""

from __future__ import annotations

import asyncio
import signal
import time
from collections.abc import AsyncIterator, Callable

import pytest
from hyperkitty.events.v1.events_pb2 import Event

from services.kit.event_log import EventFilter, LogUnavailable, ReadItem, Start
from services.kit.ids import new_id
from services.kit.nats_acks import NotAcknowledged
from services.kit.nats_events import NatsEventLog
from services.kit.nats_store import NatsStore
from services.kit.store import Change, StoreUnavailable, struct_codec
from tests.contract.kit.nats_server import Bus, Nats, connect


def event() -> Event:
    return Event(event_id=new_id("evt"), category="agent.created", tenant="default")


@pytest.fixture
async def event_log(bus: Bus) -> NatsEventLog:
    log = NatsEventLog(bus.connection, bus.publisher)
    await log.open()
    return log


async def until(condition: Callable[[], bool], seconds: float) -> None:
    async with asyncio.timeout(seconds):
        while not condition():
            await asyncio.sleep(0.01)


async def collect(items: AsyncIterator[ReadItem], into: list[str]) -> None:
    async for item in items:
        into += [item.event_id] if isinstance(item, Event) else []


async def test_readers_resume_after_nats_was_killed(nats: Nats, event_log: NatsEventLog) -> None:
    seen: list[str] = []
    published: list[str] = []
    reading = asyncio.create_task(collect(event_log.read(EventFilter(), Start.after(0)), seen))
    for _ in range(3):
        for _ in range(20):
            made = event()
            await event_log.publish(made)
            published.append(made.event_id)
        await until(lambda: len(seen) == len(published), 5)
        await nats.kill()
        await nats.start()
        began = time.monotonic()
        made = event()
        async with asyncio.timeout(5):
            while True:
                try:
                    await event_log.publish(made)
                    break
                except LogUnavailable:
                    continue
        published.append(made.event_id)
        await until(lambda: len(seen) == len(published), 5)
        assert time.monotonic() - began < 5
    reading.cancel()
    assert seen == published


async def test_a_short_absence_is_bridged_by_the_publisher(nats: Nats, event_log: NatsEventLog) -> None:
    await nats.kill()
    publishing = asyncio.create_task(event_log.publish(event(), timeout=5.0))
    await nats.start()
    assert await publishing == 1


async def test_a_frozen_log_does_not_acknowledge_and_takes_an_event_once(nats: Nats, event_log: NatsEventLog) -> None:
    made = event()
    nats.signal(signal.SIGSTOP)
    began = time.monotonic()
    with pytest.raises(LogUnavailable):
        await event_log.publish(made, timeout=0.5)
    assert time.monotonic() - began < 1.0
    nats.signal(signal.SIGCONT)
    assert await event_log.publish(made) == 1
    assert await event_log.last_sequence() == 1


async def test_while_away_nothing_is_buffered(nats: Nats, bus: Bus, event_log: NatsEventLog) -> None:
    await nats.kill()
    await until(lambda: not bus.connection.is_connected, 5)
    with pytest.raises(NotAcknowledged):
        await bus.publisher.publish("hk.events.a.b.c.d.agent.created", b"", timeout=0.5)
    with pytest.raises(StoreUnavailable):
        await NatsStore(bus.connection, bus.publisher, "x", struct_codec(str)).put("k", "v")
    await nats.start()
    await until(lambda: bus.connection.is_connected, 5)
    assert await event_log.last_sequence() == 0
    assert bus.publisher.pending == 0


async def test_watches_resume(nats: Nats, bus: Bus) -> None:
    store = NatsStore(bus.connection, bus.publisher, "things", struct_codec(str))
    await store.open()
    seen: list[str | None] = []

    async def watch() -> None:
        async for change in store.watch():
            seen.extend([change.value] if isinstance(change, Change) else [])

    watching = asyncio.create_task(watch())
    await store.put("a", "1")
    await until(lambda: seen == ["1"], 5)
    await nats.kill()
    await nats.start()
    await until(lambda: bus.connection.is_connected, 5)
    await store.put("a", "2")
    await until(lambda: seen == ["1", "2"], 5)
    watching.cancel()


async def test_a_connection_waits_for_nats_to_come_up(nats: Nats) -> None:
    await nats.kill()
    connecting = asyncio.create_task(connect(nats.url))
    await asyncio.sleep(0.3)
    await nats.start()
    made = await connecting
    assert made.connection.is_connected
    await made.connection.close()
    await made.connection.close()


async def test_nothing_is_lost_or_doubled_while_nats_dies_again_and_again(nats: Nats, event_log: NatsEventLog) -> None:
    seen: list[str] = []
    acknowledged: list[str] = []
    reading = asyncio.create_task(collect(event_log.read(EventFilter(), Start.after(0)), seen))

    async def publish_on() -> None:
        while True:
            made = event()
            while True:
                try:
                    await event_log.publish(made)
                    break
                except LogUnavailable:
                    continue
            acknowledged.append(made.event_id)
            await asyncio.sleep(0)

    publishing = asyncio.create_task(publish_on())
    for _ in range(3):
        before = len(acknowledged)
        await until(lambda: len(acknowledged) > before + 50, 10)  # noqa: B023
        await nats.kill()
        await nats.start()
    publishing.cancel()
    await asyncio.gather(publishing, return_exceptions=True)
    await until(lambda: set(acknowledged) <= set(seen), 10)
    reading.cancel()
    assert len(seen) == len(set(seen))
    assert [each for each in seen if each in set(acknowledged)] == acknowledged
