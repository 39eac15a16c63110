"""The index of messages, and streams of them, on a memory store."""

import asyncio
from collections.abc import AsyncIterator

import pytest
from hyperkitty.messaging.v1.messages_pb2 import Message
from hyperkitty.operations.v1.errors_pb2 import ErrorCode

from services.kit.errors import Refusal
from services.kit.ids import new_id
from services.kit.memory_store import MemoryStore
from services.kit.store import proto_codec
from services.messaging import mailbox as mailboxes
from services.messaging import streams as message_streams
from services.messaging.mailbox import DELIVERED, QUEUED, READ, Mailbox
from services.messaging.streams import Stream, Streams


def message(recipient: str = "user:a", conversation: str = "c", tenant: str = "default") -> Message:
    return Message(
        message_id=new_id("msg"), recipient=recipient, conversation_id=conversation, tenant=tenant, status=QUEUED
    )


class Post:
    """A mailbox that is kept up to date by its watch, as in the service."""

    def __init__(self, store: MemoryStore[Message]) -> None:
        self.store = store
        self.mailbox = Mailbox(store)
        self.streams = Streams(self.mailbox)
        self.following = asyncio.create_task(self.mailbox.follow())

    async def stop(self) -> None:
        self.following.cancel()
        await asyncio.wait([self.following])

    async def sent(self, *args: str) -> Message:
        made = message(*args)
        self.mailbox.check_room(made)
        await self.mailbox.add(made)
        return made


@pytest.fixture
async def post() -> AsyncIterator[Post]:
    made = Post(MemoryStore(proto_codec(Message)))
    await made.mailbox.caught_up.wait()
    yield made
    await made.stop()


async def test_messages_are_found_by_conversation_recipient_and_tenant(post: Post) -> None:
    first = await post.sent("user:a", "c1")
    second = await post.sent("user:b", "c1")
    third = await post.sent("user:a", "c2")
    elsewhere = await post.sent("user:a", "c1", "other")

    def found(tenant: str | None, conversation: str, recipient: str) -> list[str]:
        return sorted(each.message_id for each in post.mailbox.find(tenant, conversation, recipient))

    assert found("default", "c1", "") == [first.message_id, second.message_id]
    assert found("default", "", "user:a") == [first.message_id, third.message_id]
    assert found("default", "c1", "user:a") == [first.message_id]
    assert found("other", "", "") == [elsewhere.message_id]
    assert len(found(None, "", "")) == 4


async def test_a_status_only_rises(post: Post) -> None:
    sent = await post.sent()
    assert await post.mailbox.raise_status(sent.message_id, READ) is not None
    raised = await post.mailbox.raise_status(sent.message_id, DELIVERED)
    assert raised is not None
    assert (raised[0].status, raised[1]) == (READ, False)
    assert post.mailbox.waiting("default", "user:a") == []
    assert await post.mailbox.raise_status(new_id("msg"), READ) is None


async def test_another_instance_knows_the_same_after_it_caught_up(post: Post) -> None:
    sent = [await post.sent() for _ in range(3)]
    await post.mailbox.raise_status(sent[0].message_id, DELIVERED)
    other = Post(post.store)
    await other.mailbox.caught_up.wait()
    assert [each.message_id for each in other.mailbox.waiting("default", "user:a")] == [
        each.message_id for each in sent[1:]
    ]
    await other.stop()


async def test_a_full_queue_refuses(post: Post, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mailboxes, "MOST_QUEUED", 2)
    await post.sent()
    second = await post.sent()
    await post.sent("user:b")
    with pytest.raises(Refusal) as caught:
        await post.sent()
    assert caught.value.code == ErrorCode.ERROR_CODE_RESOURCE_EXHAUSTED
    await post.mailbox.raise_status(second.message_id, DELIVERED)
    await post.sent()


async def test_the_oldest_that_were_delivered_make_room(post: Post, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mailboxes, "MOST_MESSAGES", 3)
    sent = [await post.sent() for _ in range(3)]
    await post.mailbox.raise_status(sent[1].message_id, DELIVERED)
    await post.sent()
    assert await post.mailbox.get(sent[1].message_id) is None
    assert len(await post.store.keys()) == 3
    assert len(post.mailbox.waiting("default", "user:a")) == 3


async def take(reading: AsyncIterator[Message | None], count: int) -> list[str]:
    taken: list[str] = []
    async with asyncio.timeout(5):
        while len(taken) < count:
            item = await anext(reading)
            if item is not None:
                taken.append(item.message_id)
    return taken


async def test_every_stream_gets_what_is_queued_then_what_comes_in_order_once(post: Post) -> None:
    before = [(await post.sent()).message_id for _ in range(3)]
    reading = [post.streams.read(Stream(), "default", "user:a") for _ in range(2)]
    assert await take(reading[0], 1) == before[:1]
    after = [(await post.sent()).message_id for _ in range(3)]
    await post.sent("user:b")
    assert await take(reading[0], 5) == before[1:] + after
    assert await take(reading[1], 6) == before + after


async def test_a_stream_that_falls_behind_is_ended_with_a_reason(post: Post, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(message_streams, "MOST_BUFFERED", 2)
    reading = post.streams.read(Stream(), "default", "user:a")
    await post.sent()
    assert len(await take(reading, 1)) == 1
    seen = asyncio.Semaphore(0)
    post.mailbox.on_change(lambda _: seen.release())
    for _ in range(5):
        await post.sent()
        await seen.acquire()
    with pytest.raises(Refusal) as caught:
        await take(reading, 6)
    assert caught.value.code == ErrorCode.ERROR_CODE_RESOURCE_EXHAUSTED


async def test_a_quiet_stream_beats(post: Post, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(message_streams, "HEARTBEAT_SECONDS", 0.01)
    reading = post.streams.read(Stream(), "default", "user:a")
    assert await anext(reading) is None


async def test_an_acknowledgement_is_expected_only_where_somebody_may_give_it(post: Post) -> None:
    assert post.streams.expect(message()) is None
    reading = post.streams.read(Stream(), "default", "user:a")
    await post.sent()
    await take(reading, 1)
    made = message()
    acknowledged = post.streams.expect(made)
    assert acknowledged is not None
    await post.mailbox.add(made)
    await take(reading, 1)
    await post.mailbox.raise_status(made.message_id, DELIVERED)
    async with asyncio.timeout(5):
        await acknowledged
