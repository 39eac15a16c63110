"""The bounded buffer between the log and a reader (SPEC §9)."""

import asyncio
from collections.abc import AsyncIterator

import pytest
from hyperkitty.events.v1.event_service_pb2 import StreamEventsResponse
from hyperkitty.events.v1.events_pb2 import GAP_REASON_EXPIRED, GAP_REASON_SLOW, Event, Gap, Heartbeat

from services.health.buffering import Buffer
from services.kit.event_log import ReadItem


def events(first: int, last: int) -> list[ReadItem]:
    return [Event(event_id=f"evt_{number}", sequence=number) for number in range(first, last + 1)]


async def items(*given: ReadItem, end: asyncio.Event | None = None) -> AsyncIterator[ReadItem]:
    for item in given:
        yield item
    if end is not None:
        await end.wait()


async def everything(buffer: Buffer) -> list[StreamEventsResponse]:
    async with asyncio.timeout(5):
        return [response async for response in buffer.drain()]


def sequences(responses: list[StreamEventsResponse]) -> list[int]:
    return [event.sequence for response in responses for event in response.events]


async def test_everything_arrives_in_order_in_few_messages() -> None:
    buffer = Buffer()
    await buffer.fill(items(*events(1, 500)))
    responses = await everything(buffer)
    assert sequences(responses) == list(range(1, 501))
    assert len(responses) == 3


async def test_gaps_and_heartbeats_stand_where_they_came() -> None:
    buffer = Buffer()
    gap = Gap(from_sequence=1, to_sequence=4, reason=GAP_REASON_EXPIRED)
    await buffer.fill(items(gap, *events(5, 6), Heartbeat(last_sequence=6), *events(7, 7)))
    kinds = [
        "gap" if each.HasField("gap") else "heartbeat" if each.HasField("heartbeat") else len(each.events)
        for each in await everything(buffer)
    ]
    assert kinds == ["gap", 2, "heartbeat", 1]


async def test_a_reader_that_is_behind_holds_reading_back_and_misses_nothing() -> None:
    buffer = Buffer(most_events=10)
    filling = asyncio.create_task(buffer.fill(items(*events(1, 1000)), stalled=5))
    responses = await everything(buffer)
    await filling
    assert sequences(responses) == list(range(1, 1001))
    assert buffer.dropped == 0


async def test_a_reader_that_takes_nothing_gets_a_gap_in_place_of_what_it_missed() -> None:
    buffer = Buffer(most_events=10)
    end = asyncio.Event()
    filling = asyncio.create_task(buffer.fill(items(*events(1, 30), end=end), stalled=0.01))
    draining = buffer.drain()
    await asyncio.wait([filling], timeout=0.2)
    first, gap = await anext(draining), await anext(draining)
    assert [event.sequence for event in first.events] == list(range(1, 11))
    assert (gap.gap.from_sequence, gap.gap.to_sequence, gap.gap.reason) == (11, 30, GAP_REASON_SLOW)
    assert buffer.dropped == 20
    end.set()
    await filling


async def test_after_a_gap_events_go_on() -> None:
    buffer = Buffer(most_events=2)
    resume = asyncio.Event()

    async def source() -> AsyncIterator[ReadItem]:
        for event in events(1, 5):
            yield event
        await resume.wait()
        for event in events(6, 7):
            yield event

    filling = asyncio.create_task(buffer.fill(source(), stalled=0.01))
    draining = buffer.drain()
    await asyncio.wait([filling], timeout=0.2)
    taken = [await anext(draining), await anext(draining)]
    resume.set()
    taken += [response async for response in draining]
    assert sequences(taken) == [1, 2, 6, 7]
    assert [(each.gap.from_sequence, each.gap.to_sequence) for each in taken if each.HasField("gap")] == [(3, 5)]
    await filling


async def test_large_events_are_bounded_in_bytes() -> None:
    buffer = Buffer(most_events=1000, most_bytes=1_000)
    large: list[ReadItem] = [Event(event_id="x" * 400, sequence=number) for number in range(1, 6)]
    end = asyncio.Event()
    filling = asyncio.create_task(buffer.fill(items(*large, end=end), stalled=0.01))
    await asyncio.wait([filling], timeout=0.2)
    assert buffer.dropped == 2
    end.set()
    await filling


async def test_what_reading_meets_reaches_the_reader_after_what_came_before() -> None:
    async def broken() -> AsyncIterator[ReadItem]:
        yield Event(sequence=1)
        raise OSError("away")

    buffer = Buffer()
    with pytest.raises(OSError, match="away"):
        await buffer.fill(broken())
    draining = buffer.drain()
    assert sequences([await anext(draining)]) == [1]
    with pytest.raises(OSError, match="away"):
        await anext(draining)
