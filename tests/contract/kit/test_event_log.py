"""One suite for every event log."""

from __future__ import annotations

import asyncio

import pytest
from hyperkitty.events.v1 import events_pb2
from hyperkitty.events.v1.events_pb2 import Event

from services.kit.event_log import EventFilter, EventLog, EventRefused, ReadItem, Start, subject_of
from services.kit.ids import new_id
from services.kit.memory_events import MemoryEventLog
from services.kit.nats_events import NatsEventLog
from tests.contract.kit.nats_server import Bus


@pytest.fixture
def memory_event_log() -> EventLog:
    return MemoryEventLog()


@pytest.fixture
async def nats_event_log(bus: Bus) -> EventLog:
    log = NatsEventLog(bus.connection, bus.publisher)
    await log.open()
    await log.open()
    return log


@pytest.fixture(params=["memory", "nats"])
def event_log(request: pytest.FixtureRequest) -> EventLog:
    return request.getfixturevalue(f"{request.param}_event_log")


@pytest.fixture
def small_memory_log() -> EventLog:
    return MemoryEventLog(most_events=5)


@pytest.fixture
async def small_nats_log(bus: Bus) -> EventLog:
    log = NatsEventLog(bus.connection, bus.publisher)
    await log.open(max_events=5)
    return log


def event(category: str = "agent.created", tenant: str = "default", **fields: str) -> Event:
    return Event(event_id=new_id("evt"), category=category, tenant=tenant, **fields)  # pyright: ignore[reportArgumentType]


async def read(log: EventLog, wanted: EventFilter, start: Start, count: int, **options: bool | float) -> list[ReadItem]:
    items: list[ReadItem] = []
    reading = log.read(wanted, start, **options)  # pyright: ignore[reportArgumentType]
    async with asyncio.timeout(15):
        async for item in reading:
            items.append(item)
            if len(items) == count:
                break
    await reading.aclose()  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType]
    return items


def ids(items: list[ReadItem] | list[Event]) -> list[str]:
    return [item.event_id for item in items if isinstance(item, Event)]


async def test_events_are_numbered_in_order_and_stored_once(event_log: EventLog) -> None:
    assert await event_log.last_sequence() == 0
    first, second = event(), event()
    assert await event_log.publish(first) == 1
    assert await event_log.publish(second) == 2
    assert await event_log.publish(first) == 1
    assert await event_log.last_sequence() == 2
    assert await event_log.first_sequence() == 1
    recent = await event_log.recent(EventFilter(), 10)
    assert ids(recent) == [second.event_id, first.event_id]
    assert [each.sequence for each in recent] == [2, 1]


async def test_recent_filters_and_limits(event_log: EventLog) -> None:
    made = [
        event("agent.created", subject="agent_1", agent_id="agent_1"),
        event("agent.action.started", subject="act_1", agent_id="agent_1"),
        event("browser.session.created", subject="sess_1", session_id="sess_1", agent_id="agent_1"),
        event("browser.tab.opened", subject="tab_1", session_id="sess_1"),
        event("agent.created", tenant="other", subject="agent_2", agent_id="agent_2"),
        event("agentless.thing", subject="x"),
    ]
    for each in made:
        await event_log.publish(each)

    async def recent(limit: int = 100, **parts: str) -> list[int]:
        found = await event_log.recent(EventFilter(**parts), limit)
        return [ids(made).index(each.event_id) for each in found]

    assert await recent() == [5, 4, 3, 2, 1, 0]
    assert await recent(limit=2) == [5, 4]
    assert await recent(tenant="default") == [5, 3, 2, 1, 0]
    assert await recent(category_prefix="agent") == [4, 1, 0]
    assert await recent(category_prefix="agent.") == [4, 1, 0]
    assert await recent(category_prefix="agent.act") == []
    assert await recent(category_prefix="agent.action") == [1]
    assert await recent(category_prefix="agent.created") == [4, 0]
    assert await recent(subject="agent_1") == [2, 1, 0]
    assert await recent(subject="sess_1") == [3, 2]
    assert await recent(subject="tab_1", category_prefix="browser.tab", tenant="default") == [3]
    assert await recent(subject="tab_1", tenant="other") == []
    assert await recent(limit=1, subject="agent_1") == [2]


async def test_recent_finds_rare_events_far_back(event_log: EventLog) -> None:
    rare = [event("message.sent", subject=f"msg_{n}") for n in range(3)]
    for each in rare:
        await event_log.publish(each)
    await asyncio.gather(*(event_log.publish(event("browser.page.read")) for _ in range(600)))
    assert ids(await event_log.recent(EventFilter(category_prefix="message"), 2)) == ids(rare)[:0:-1]
    assert len(await event_log.recent(EventFilter(category_prefix="browser"), 100)) == 100
    last = await event_log.recent(EventFilter(), 5)
    assert [each.sequence for each in last] == [603, 602, 601, 600, 599]


@pytest.mark.parametrize("text", ["", "_", "*", ">", "a.b", "a b", "user:Zoë", "x" * 3000, "=41", "\r\nPUB x"])
async def test_any_tenant_and_subject_is_safe(event_log: EventLog, text: str) -> None:
    mine, other = event(tenant=text or "t", subject=text), event(tenant="t2", subject="other")
    await event_log.publish(mine)
    await event_log.publish(other)
    found = await event_log.recent(EventFilter(tenant=text or "t", subject=text), 10)
    assert ids(found) == [mine.event_id]
    assert found[0].subject == text


def test_subjects_have_the_shape_of_the_spec() -> None:
    made = event("browser.tab.opened", subject="tab_1", session_id="sess_1")
    assert subject_of(made) == "hk.events.default._.sess_1.tab_1.browser.tab.opened"


async def test_reading_from_now_a_sequence_and_a_time(event_log: EventLog) -> None:
    before = [event() for _ in range(3)]
    for each in before:
        await event_log.publish(each)
    assert ids(await read(event_log, EventFilter(), Start.after(1), 2)) == ids(before)[1:]
    assert ids(await read(event_log, EventFilter(), Start.since(0), 3)) == ids(before)
    reading = asyncio.create_task(read(event_log, EventFilter(), Start.now(), 1))
    later: list[Event] = []
    while not reading.done():
        later.append(event())
        await event_log.publish(later[-1])
        await asyncio.sleep(0.05)
    got = ids(await reading)
    assert got[0] in ids(later)


async def test_reading_on_filters_and_keeps_order(event_log: EventLog) -> None:
    wanted = EventFilter(tenant="default", category_prefix="browser", subject="sess_1")
    reading = asyncio.create_task(read(event_log, wanted, Start.after(0), 500))
    made: list[Event] = []
    for number in range(500):
        made.append(event("browser.tab.opened", session_id="sess_1", subject=f"tab_{number}"))
        await event_log.publish(made[-1])
        await event_log.publish(event("agent.created", session_id="sess_1"))
    items = await reading
    assert ids(items) == ids(made)


async def test_to_the_end_and_no_further(event_log: EventLog) -> None:
    made = [event() for _ in range(5)]
    assert await read(event_log, EventFilter(), Start.after(0), 99, until_end=True) == []
    for each in made:
        await event_log.publish(each)
    assert ids(await read(event_log, EventFilter(), Start.after(0), 99, until_end=True)) == ids(made)
    assert await read(event_log, EventFilter(category_prefix="x"), Start.after(0), 99, until_end=True) == []
    assert await read(event_log, EventFilter(), Start.after(5), 99, until_end=True) == []


async def test_heartbeats_tell_how_far_it_is(event_log: EventLog) -> None:
    await event_log.publish(event("agent.created"))
    items = await read(event_log, EventFilter(category_prefix="agent"), Start.after(0), 2, heartbeat=0.1)
    assert isinstance(items[1], events_pb2.Heartbeat)
    assert items[1].last_sequence == 1


@pytest.mark.parametrize("fields", [{"event_id": ""}, {"category": ""}, {"tenant": ""}])
async def test_incomplete_events_are_refused(event_log: EventLog, fields: dict[str, str]) -> None:
    made = event()
    for name, value in fields.items():
        setattr(made, name, value)
    with pytest.raises(EventRefused):
        await event_log.publish(made)


@pytest.fixture(params=["memory", "nats"])
def small_log(request: pytest.FixtureRequest) -> EventLog:
    return request.getfixturevalue(f"small_{request.param}_log")


async def test_what_expired_is_a_gap(small_log: EventLog) -> None:
    log = small_log
    made = [event() for _ in range(12)]
    for each in made:
        await log.publish(each)
    items = await read(log, EventFilter(), Start.after(2), 6)
    gap = items[0]
    assert isinstance(gap, events_pb2.Gap)
    assert (gap.from_sequence, gap.to_sequence, gap.reason) == (3, 7, events_pb2.GAP_REASON_EXPIRED)
    assert ids(items) == ids(made)[7:]
    assert await log.first_sequence() == 8
    assert ids(await log.recent(EventFilter(), 100)) == ids(made)[:6:-1]


async def test_how_full_the_log_is(event_log: EventLog) -> None:
    empty = await event_log.facts()
    assert (empty.events, empty.last_sequence, empty.first_at_ms) == (0, 0, 0)
    first = event()
    first.emitted_at_ms = 1_700_000_000_000
    await event_log.publish(first)
    await event_log.publish(event())
    facts = await event_log.facts()
    assert (facts.events, facts.last_sequence, facts.first_at_ms) == (2, 2, 1_700_000_000_000)
    assert facts.bytes > 0
