"""The rights of each process's NATS user, as the real server enforces them."""

# nats-py is typed in part only.
# pyright: reportUnknownMemberType=false

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import nats
import pytest
from nats.aio.client import Client
from nats.aio.msg import Msg
from nats.errors import Error as NatsError
from nats.js.api import KeyValueConfig, StreamConfig
from nats.js.errors import NotFoundError
from nats.js.kv import KeyValue

from tests.running_system import RunningSystem
from tests.system.supervisor.conftest import Start
from tests.waiting import async_until

SECONDS = 5
REFUSED_SECONDS = 0.5
LOG = StreamConfig(name="HK_EVENTS", subjects=["hk.events.>"])

Connect = Callable[[str], Awaitable[Client]]


@pytest.fixture
async def connect(start: Start) -> AsyncIterator[Connect]:
    """`await connect("browser")`: a client with that process's credentials."""
    system = start().wait_ready()
    clients: list[Client] = []

    async def connect(name: str) -> Client:
        client = await connect_as(system, name)
        clients.append(client)
        return client

    yield connect
    for client in clients:
        await client.close()


async def connect_as(system: RunningSystem, name: str) -> Client:
    user, _, password = Path(system.home, "nats", f"{name}.credentials").read_text().strip().partition(":")
    environment = Path("/proc", str(system.pid_of(name)), "environ").read_text()
    url = next(entry for entry in environment.split("\0") if entry.startswith("HYPERKITTY_NATS_URL="))

    async def violation(_error: Exception) -> None:
        """A refusal is an asynchronous error; the tests look at what did not happen."""

    return await nats.connect(
        url.partition("=")[2],
        user=user,
        password=password,
        inbox_prefix=f"_INBOX_{name}".encode(),
        connect_timeout=SECONDS,
        error_cb=violation,
    )


def event(category: str) -> str:
    return f"hk.events.default._.sess_1.sess_1.{category}"


async def test_a_service_publishes_its_own_events_and_no_others(connect: Connect) -> None:
    browser, health = await connect("browser"), await connect("health")
    await browser.jetstream().add_stream(LOG)
    assert (await browser.jetstream().publish(event("browser.session.created"), b"1", timeout=SECONDS)).seq == 1
    assert (await browser.jetstream().publish(event("service.started"), b"2", timeout=SECONDS)).seq == 2
    for category in ("agent.created", "auth.denied", "message.sent"):
        with pytest.raises(NatsError):
            await browser.jetstream().publish(event(category), b"x", timeout=REFUSED_SECONDS)
    with pytest.raises(NatsError):
        await health.jetstream().publish(event("browser.session.created"), b"x", timeout=REFUSED_SECONDS)
    assert (await health.jetstream().stream_info("HK_EVENTS")).state.last_seq == 2


async def test_the_log_is_made_by_anyone_and_changed_by_nobody(connect: Connect) -> None:
    agent, browser = await connect("agent"), await connect("browser")
    await agent.jetstream().add_stream(LOG)
    await browser.jetstream().add_stream(LOG)
    await agent.jetstream().publish(event("agent.created"), b"1", timeout=SECONDS)
    js = browser.jetstream(timeout=REFUSED_SECONDS)
    attempts: list[Callable[[], Awaitable[Any]]] = [
        lambda: js.purge_stream("HK_EVENTS"),
        lambda: js.delete_stream("HK_EVENTS"),
        lambda: js.delete_msg("HK_EVENTS", 1),
        lambda: js.update_stream(StreamConfig(name="HK_EVENTS", subjects=["hk.events.>"], max_msgs=1)),
        lambda: js.add_stream(StreamConfig(name="HK_EVENTS", subjects=["hk.events.>"], max_msgs=1)),
        lambda: js.add_stream(StreamConfig(name="MINE", subjects=["mine.>"])),
    ]
    for attempt in attempts:
        with pytest.raises(NatsError):
            await attempt()
    assert (await js.stream_info("HK_EVENTS")).state.messages == 1


async def test_everybody_reads_the_log_from_any_point(connect: Connect) -> None:
    agent, health = await connect("agent"), await connect("health")
    await agent.jetstream().add_stream(LOG)
    for number in range(3):
        await agent.jetstream().publish(event("agent.created"), str(number).encode(), timeout=SECONDS)
    js = health.jetstream()
    assert (await js.get_msg("HK_EVENTS", 2)).data == b"1"
    ordered = await js.subscribe("hk.events.>", ordered_consumer=True)
    assert [(await ordered.next_msg(SECONDS)).data for _ in range(3)] == [b"0", b"1", b"2"]
    pulled = await js.pull_subscribe("hk.events.*.*.*.*.agent.>", stream="HK_EVENTS")
    for message in await pulled.fetch(3, timeout=SECONDS):
        await message.ack_sync(SECONDS)
    await ordered.unsubscribe()
    await pulled.unsubscribe()


async def test_a_bucket_is_its_owners(connect: Connect) -> None:
    agent, browser = await connect("agent"), await connect("browser")
    bucket = await agent.jetstream().create_key_value(KeyValueConfig(bucket="agents", history=2))
    revision = await bucket.create("agent_1", b"a")
    await bucket.update("agent_1", b"b", last=revision)
    assert (await bucket.get("agent_1")).value == b"b"
    assert await bucket.keys() == ["agent_1"]
    watcher = await bucket.watchall()
    first = await watcher.updates(SECONDS)
    assert isinstance(first, KeyValue.Entry)
    assert first.value == b"b"
    await watcher.stop()
    await bucket.delete("agent_1")
    await bucket.purge("agent_1")
    with pytest.raises(NatsError):
        await (await browser.jetstream(timeout=REFUSED_SECONDS).key_value("agents")).get("agent_1")


async def test_operation_records_are_written_by_their_service_and_read_by_all(connect: Connect) -> None:
    agent, browser = await connect("agent"), await connect("browser")
    config = KeyValueConfig(bucket="operations")
    mine = await agent.jetstream().create_key_value(config)
    theirs = await browser.jetstream(timeout=REFUSED_SECONDS).create_key_value(config)
    await mine.put("agent.op_1", b"done")
    assert (await theirs.get("agent.op_1")).value == b"done"
    with pytest.raises(NatsError):
        await theirs.put("agent.op_1", b"undone")
    await theirs.put("browser.op_2", b"done")
    assert sorted(await mine.keys()) == ["agent.op_1", "browser.op_2"]


async def test_artifacts_are_written_by_the_browser_and_read_by_all(connect: Connect) -> None:
    browser, agent = await connect("browser"), await connect("agent")
    store = await browser.jetstream().create_object_store("artifacts")
    await store.put("art_1", b"x" * 300_000)
    reading = await agent.jetstream(timeout=REFUSED_SECONDS).object_store("artifacts")
    assert (await reading.get("art_1")).data == b"x" * 300_000
    with pytest.raises(NatsError):
        await reading.put("art_2", b"y")
    await store.delete("art_1")
    with pytest.raises(NotFoundError):
        await reading.get("art_1")


async def test_nobody_hears_anothers_replies(connect: Connect) -> None:
    agent, browser = await connect("agent"), await connect("browser")
    heard: list[bytes] = []

    async def hear(message: Msg) -> None:
        heard.append(message.data)

    await browser.subscribe("_INBOX_agent.>", cb=hear)
    await browser.subscribe("_INBOX_browser.probe", cb=hear)
    await browser.flush(SECONDS)
    await agent.jetstream().account_info()
    await browser.jetstream().account_info()
    await async_until(lambda: not browser.is_closed, "the connection stays")
    assert heard == []
