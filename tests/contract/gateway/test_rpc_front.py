"""The gRPC front: every rpc passed on, with a token, as bytes."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager

import grpc
import pytest
from google.rpc import error_details_pb2, status_pb2
from grpc_health.v1 import health_pb2
from grpc_reflection.v1alpha.proto_reflection_descriptor_database import ProtoReflectionDescriptorDatabase
from hyperkitty.agent.v1.agent_service_pb2 import CreateAgentRequest, CreateAgentResponse, ListAgentsRequest
from hyperkitty.agent.v1.agent_service_pb2_grpc import AgentServiceStub
from hyperkitty.events.v1.event_service_pb2 import StreamEventsRequest, StreamEventsResponse
from hyperkitty.events.v1.event_service_pb2_grpc import EventServiceStub
from hyperkitty.events.v1.events_pb2 import Event
from hyperkitty.messaging.v1.messages_pb2 import Message
from hyperkitty.messaging.v1.messaging_service_pb2 import StreamMessagesRequest, StreamMessagesResponse
from hyperkitty.messaging.v1.messaging_service_pb2_grpc import MessagingServiceStub
from hyperkitty.operations.v1 import errors_pb2
from hyperkitty.operations.v1.errors_pb2 import ErrorCode

from gateway.rpc.proxy import proxied
from services.kit.errors import DETAILS_KEY, Refusal
from services.kit.ids import is_id
from services.kit.serving import Server
from tests.contract.gateway.conftest import TOKEN, Gateway
from tests.waiting import async_until

SENT = (("authorization", f"Bearer {TOKEN}"), ("x-request-id", "grpc-1"))


@asynccontextmanager
async def front_of(gateway: Gateway) -> AsyncGenerator[str]:
    """The front on a free port; its target."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    server = Server(proxied(gateway.rpcs, gateway.door, gateway.backends), None)
    await server.start(f"127.0.0.1:{port}")
    await server.serve(announce=False)
    yield f"127.0.0.1:{port}"
    await server.drain(0.2)


@asynccontextmanager
async def channel_to(gateway: Gateway) -> AsyncGenerator[grpc.aio.Channel]:
    """A plain client's channel to the front, as any language has it."""
    async with front_of(gateway) as target, grpc.aio.insecure_channel(target) as channel:
        yield channel


async def test_a_call_and_its_metadata(gateway: Gateway) -> None:
    async def create(request: CreateAgentRequest) -> CreateAgentResponse:
        made = CreateAgentResponse()
        made.agent.capabilities.extend(request.capabilities)
        return made

    gateway["agent"].unary["CreateAgent"] = create
    request = CreateAgentRequest()
    request.capabilities.add(capability="click")
    async with channel_to(gateway) as channel:
        call = AgentServiceStub(channel).CreateAgent(request, metadata=(*SENT, ("idempotency-key", "k")), timeout=7)
        response = await call
        initial = dict(await call.initial_metadata())
    assert [grant.capability for grant in response.agent.capabilities] == ["click"]
    assert initial["x-request-id"] == "grpc-1"
    assert is_id("op", str(initial["x-operation-id"]))
    (seen,) = gateway["agent"].seen
    assert seen.identity.token_id == "root"
    assert seen.metadata["x-request-id"] == "grpc-1"
    assert seen.metadata["idempotency-key"] == "k"
    assert "authorization" not in seen.metadata
    assert seen.seconds is not None
    assert 6 < seen.seconds <= 7.2


async def test_a_call_without_a_deadline_has_the_contracts(gateway: Gateway) -> None:
    async with channel_to(gateway) as channel:
        await AgentServiceStub(channel).ListAgents(ListAgentsRequest(), metadata=SENT)
    (seen,) = gateway["agent"].seen
    assert seen.seconds is not None
    assert 29 < seen.seconds < 31


async def test_the_status_of_a_service_comes_through(gateway: Gateway) -> None:
    async def refuse(_: object) -> CreateAgentResponse:
        raise Refusal(ErrorCode.ERROR_CODE_STALE_REF, "gone", hint="read_page", details={"ref": "e1"})

    gateway["agent"].unary["CreateAgent"] = refuse
    async with channel_to(gateway) as channel:
        call = AgentServiceStub(channel).CreateAgent(CreateAgentRequest(), metadata=SENT)
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await call
    assert caught.value.code() == grpc.StatusCode.FAILED_PRECONDITION
    assert caught.value.details() == "gone"
    packed = dict(caught.value.trailing_metadata())[DETAILS_KEY]
    assert isinstance(packed, bytes)
    status = status_pb2.Status.FromString(packed)
    info, error = error_details_pb2.ErrorInfo(), errors_pb2.Error()
    assert status.details[0].Unpack(info)
    assert status.details[1].Unpack(error)
    assert (info.reason, info.domain, dict(info.metadata)) == ("stale_ref", "hyperkitty", {"ref": "e1"})
    assert error.code == ErrorCode.ERROR_CODE_STALE_REF
    assert is_id("op", str(dict(caught.value.initial_metadata())["x-operation-id"]))


@pytest.mark.parametrize(
    "metadata", [(), (("authorization", "Bearer hk_other"),), (("authorization", TOKEN),), (("x-token", TOKEN),)]
)
async def test_without_a_token(gateway: Gateway, metadata: tuple[tuple[str, str], ...]) -> None:
    async with channel_to(gateway) as channel:
        stub = AgentServiceStub(channel)
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await stub.ListAgents(ListAgentsRequest(), metadata=metadata)
        assert caught.value.code() == grpc.StatusCode.UNAUTHENTICATED
        assert dict(caught.value.initial_metadata())["x-request-id"]
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            async for _ in EventServiceStub(channel).StreamEvents(StreamEventsRequest(), metadata=metadata):
                pass
        assert caught.value.code() == grpc.StatusCode.UNAUTHENTICATED
    assert not any(process.seen for process in gateway.processes.values())


async def test_a_forged_identity_is_not_passed_on(gateway: Gateway) -> None:
    forged = (*SENT, ("hk-identity-bin", b"forged"), ("x-operation-id", "op_01ARZ3NDEKTSV4RRFFQ69G5FAV"))
    async with channel_to(gateway) as channel:
        await AgentServiceStub(channel).ListAgents(ListAgentsRequest(), metadata=forged)
    (seen,) = gateway["agent"].seen
    assert seen.identity.token_id == "root"
    assert "x-operation-id" not in seen.metadata


async def test_a_stream_of_responses(gateway: Gateway) -> None:
    async def stream(_: StreamEventsRequest) -> AsyncIterator[StreamEventsResponse]:
        for number in range(3):
            yield StreamEventsResponse(events=[Event(sequence=number)])
        await asyncio.Event().wait()

    gateway["health"].streams["StreamEvents"] = stream
    async with channel_to(gateway) as channel:
        call = EventServiceStub(channel).StreamEvents(StreamEventsRequest(), metadata=SENT)
        numbers: list[int] = []
        async for response in call:
            numbers += [event.sequence for event in response.events]
            if len(numbers) == 3:
                break
        assert dict(await call.initial_metadata())["x-request-id"] == "grpc-1"
        call.cancel()
        await async_until(lambda: gateway["health"].cancelled == 1, "the service's stream to end")
    assert numbers == [0, 1, 2]
    (seen,) = gateway["health"].seen
    assert seen.seconds is None


async def test_streams_both_ways(gateway: Gateway) -> None:
    async def echo(requests: AsyncIterator[StreamMessagesRequest]) -> AsyncIterator[StreamMessagesResponse]:
        async for request in requests:
            yield StreamMessagesResponse(message=Message(recipient=request.recipient))

    gateway["messaging"].streams["StreamMessages"] = echo

    async def requests() -> AsyncIterator[StreamMessagesRequest]:
        for number in range(3):
            yield StreamMessagesRequest(recipient=f"user:{number}")

    async with channel_to(gateway) as channel:
        call = MessagingServiceStub(channel).StreamMessages(requests(), metadata=SENT)
        recipients = [response.message.recipient async for response in call]
    assert recipients == ["user:0", "user:1", "user:2"]


async def test_a_caller_that_goes_cancels_its_call(gateway: Gateway) -> None:
    arrived = asyncio.Event()

    async def slow(_: object) -> CreateAgentResponse:
        arrived.set()
        await asyncio.Event().wait()
        raise AssertionError

    gateway["agent"].unary["CreateAgent"] = slow
    async with channel_to(gateway) as channel:
        call = AgentServiceStub(channel).CreateAgent(CreateAgentRequest(), metadata=SENT)
        waiting = asyncio.ensure_future(call)
        async with asyncio.timeout(5):
            await arrived.wait()
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        await async_until(lambda: gateway["agent"].cancelled == 1, "the service's call to be cancelled")


async def test_a_service_that_is_away_tells_no_address(gateway: Gateway) -> None:
    await gateway["agent"].stop()
    async with channel_to(gateway) as channel:
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await AgentServiceStub(channel).ListAgents(ListAgentsRequest(), metadata=SENT, timeout=1)
    assert caught.value.code() in (grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.DEADLINE_EXCEEDED)
    assert "sock" not in str(caught.value.details())


async def test_health_and_reflection_are_open(gateway: Gateway) -> None:
    async with front_of(gateway) as target:
        healthy, names = await asyncio.to_thread(_looked_at, target)
    assert healthy
    assert "hyperkitty.browser.v1.BrowserService" in names


def _looked_at(target: str) -> tuple[bool, set[str]]:
    """Whether it says that it serves, and the services it names: the reflection client has no asynchronous form."""
    with grpc.insecure_channel(target) as plain:
        check = plain.unary_unary(
            "/grpc.health.v1.Health/Check",
            request_serializer=health_pb2.HealthCheckRequest.SerializeToString,
            response_deserializer=health_pb2.HealthCheckResponse.FromString,
        )
        answer = check(health_pb2.HealthCheckRequest(), timeout=5)
        names = set(ProtoReflectionDescriptorDatabase(plain).get_services())
    return answer.status == health_pb2.HealthCheckResponse.SERVING, names


async def test_a_method_that_is_not_there(gateway: Gateway) -> None:
    async with channel_to(gateway) as channel:
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await channel.unary_unary("/hyperkitty.agent.v1.AgentService/Nothing")(b"", metadata=SENT)
    assert caught.value.code() == grpc.StatusCode.UNIMPLEMENTED


async def test_a_request_that_is_no_message(gateway: Gateway) -> None:
    async with channel_to(gateway) as channel:
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await channel.unary_unary("/hyperkitty.agent.v1.AgentService/CreateAgent")(b"\xff\xff", metadata=SENT)
    assert caught.value.code() == grpc.StatusCode.INVALID_ARGUMENT
