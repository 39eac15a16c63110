"""The messaging service as a process of its own, on real NATS (SPEC §8)."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import TypeAlias

import grpc
import pytest
from hyperkitty.auth.v1.identity_pb2 import CallerIdentity, TokenScopes
from hyperkitty.messaging.v1 import messaging_service_pb2 as pb
from hyperkitty.messaging.v1.messages_pb2 import Message, MessageStatus, MessageType, OutgoingMessage
from hyperkitty.messaging.v1.messaging_service_pb2_grpc import MessagingServiceStub
from hyperkitty.operations.v1.errors_pb2 import ErrorCode

from services.kit.errors import Refusal
from services.kit.identity import calling_as
from services.kit.ids import new_id
from tests.integration.agent.small_system import ROOT, SmallSystem, small_system

QUEUED = MessageStatus.MESSAGE_STATUS_QUEUED
DELIVERED = MessageStatus.MESSAGE_STATUS_DELIVERED
READ = MessageStatus.MESSAGE_STATUS_READ
AGENT = new_id("agent")
BOUND = CallerIdentity(tenant="default", token_id="tok_b", agent_id=AGENT, scopes=TokenScopes(services=["messaging"]))
STRANGER = CallerIdentity(tenant="other", token_id="tok_s", scopes=TokenScopes(services=["messaging"]))


MessageStream: TypeAlias = "grpc.aio.StreamStreamCall[pb.StreamMessagesRequest, pb.StreamMessagesResponse]"


class Post:
    """The service, as the gateway sees it."""

    def __init__(self, system: SmallSystem) -> None:
        self.system = system

    @property
    def stub(self) -> MessagingServiceStub:
        return MessagingServiceStub(self.system.channel("messaging"))

    async def send(self, number: int = 0, identity: CallerIdentity = ROOT, **fields: str) -> Message:
        message = OutgoingMessage(
            recipient=fields.get("recipient", AGENT),
            conversation_id=fields.get("conversation_id", "talk"),
            sender=fields.get("sender", ""),
        )
        message.payload.update({"number": number})
        with calling_as(identity):
            return (await self.stub.SendMessage(pb.SendMessageRequest(message=message))).message

    async def list(self, identity: CallerIdentity = ROOT, **fields: str | int) -> list[Message]:
        with calling_as(identity):
            answer = await self.stub.ListMessages(pb.ListMessagesRequest(**fields))  # type: ignore[arg-type]
        return list(answer.messages)

    async def subscribe(self, identity: CallerIdentity = BOUND) -> Reader:
        with calling_as(identity):
            reader = Reader(self.stub.StreamMessages())
        await reader.stream.write(pb.StreamMessagesRequest(recipient=AGENT))
        return reader


class Reader:
    """One stream of the agent's messages."""

    def __init__(self, stream: MessageStream) -> None:
        self.stream = stream

    async def take(self, count: int) -> list[Message]:
        """The next messages; heartbeats passed over."""
        taken: list[Message] = []
        async with asyncio.timeout(10):
            while len(taken) < count:
                response = await self.stream.read()
                assert isinstance(response, pb.StreamMessagesResponse)
                if response.HasField("message"):
                    taken.append(response.message)
        return taken

    async def acknowledge(self, message: Message) -> None:
        await self.stream.write(pb.StreamMessagesRequest(acknowledge=message.message_id))

    def close(self) -> None:
        self.stream.cancel()


def numbers(messages: list[Message]) -> list[int]:
    return [int(message.payload.fields["number"].number_value) for message in messages]


@pytest.fixture
async def post(tmp_path: Path) -> AsyncIterator[Post]:
    async with small_system(tmp_path / "home") as system:
        await system.start("messaging")
        yield Post(system)


async def test_a_message_is_queued_listed_and_read(post: Post) -> None:
    sent = await post.send(1)
    assert (sent.sender, sent.recipient, sent.status) == ("user:root", AGENT, QUEUED)
    assert sent.message_type == MessageType.MESSAGE_TYPE_USER_TO_AGENT
    assert await post.list(conversation_id="talk") == [sent]
    assert await post.list(STRANGER, conversation_id="talk") == []
    with calling_as(BOUND):
        read = await post.stub.MarkMessageRead(pb.MarkMessageReadRequest(message_id=sent.message_id))
    assert read.message.status == READ
    assert await post.list(recipient=AGENT, status=QUEUED) == []
    assert await post.system.categories(sent.message_id) == ["message.sent"]


async def test_conversations_are_in_order_and_paged(post: Post) -> None:
    for number in range(5):
        await post.send(number)
    await post.send(9, conversation_id="other")
    with calling_as(ROOT):
        first = await post.stub.ListMessages(pb.ListMessagesRequest(conversation_id="talk", page_size=3))
        token = first.next_page_token
        rest = await post.stub.ListMessages(
            pb.ListMessagesRequest(conversation_id="talk", page_size=3, page_token=token)
        )
    assert numbers([*first.messages, *rest.messages]) == [0, 1, 2, 3, 4]
    assert rest.next_page_token == ""


async def test_what_is_queued_comes_in_order_when_somebody_subscribes_and_after_kill_9(post: Post) -> None:
    for number in range(3):
        await post.send(number)
    await post.system.kill("messaging")
    await post.system.start("messaging")
    reader = await post.subscribe()
    messages = await reader.take(3)
    assert numbers(messages) == [0, 1, 2]
    await reader.acknowledge(messages[0])
    await _until_listed(post, 1)
    reader.close()
    again = await post.subscribe()
    assert numbers(await again.take(2)) == [1, 2]
    again.close()


async def _until_listed(post: Post, delivered: int) -> None:
    async with asyncio.timeout(10):
        while len(await post.list(recipient=AGENT, status=DELIVERED)) != delivered:
            await asyncio.sleep(0.02)


async def test_every_stream_gets_every_message_and_an_acknowledged_one_is_delivered(post: Post) -> None:
    readers = [await post.subscribe(), await post.subscribe(ROOT)]
    await post.send(0)
    firsts = [(await reader.take(1))[0] for reader in readers]
    assert numbers(firsts) == [0, 0]
    sending = asyncio.create_task(post.send(1))
    [message] = await readers[0].take(1)
    await readers[0].acknowledge(message)
    assert (await sending).status == DELIVERED
    assert await post.system.categories(message.message_id) == ["message.sent", "message.received"]
    assert numbers(await readers[1].take(1)) == [1]
    for reader in readers:
        reader.close()


@pytest.mark.parametrize(
    ("fields", "identity", "code"),
    [
        ({"recipient": "somebody"}, ROOT, ErrorCode.ERROR_CODE_INVALID_ARGUMENTS),
        ({"conversation_id": "a b"}, ROOT, ErrorCode.ERROR_CODE_INVALID_ARGUMENTS),
        ({"sender": "user:boss"}, STRANGER, ErrorCode.ERROR_CODE_NOT_AUTHORIZED),
        ({"sender": "user:boss"}, BOUND, ErrorCode.ERROR_CODE_NOT_AUTHORIZED),
    ],
    ids=["recipient", "conversation", "tenant's token", "agent's token"],
)
async def test_what_is_refused(
    post: Post, fields: dict[str, str], identity: CallerIdentity, code: ErrorCode.ValueType
) -> None:
    with pytest.raises(Refusal) as caught:
        await post.send(0, identity, **fields)
    assert caught.value.code == code
    assert await post.list() == []


async def test_an_agents_token_reads_its_own_messages_only(post: Post) -> None:
    await post.send(1, recipient="user:ann")
    mine = await post.send(2)
    from_me = await post.send(3, BOUND, recipient="user:ann")
    assert await post.list(BOUND) == [mine, from_me]
    with calling_as(BOUND):
        stream = post.stub.StreamMessages()
    await stream.write(pb.StreamMessagesRequest(recipient="user:ann"))
    with pytest.raises(Refusal) as caught:
        await stream.read()
    assert caught.value.code == ErrorCode.ERROR_CODE_NOT_AUTHORIZED
