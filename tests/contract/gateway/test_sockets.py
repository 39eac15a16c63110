"""Streams as WebSockets: authentication, one JSON object a message, coalescing, bounds, closing with a reason."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

import aiohttp
import pytest
from hyperkitty.events.v1.event_service_pb2 import StreamEventsRequest, StreamEventsResponse
from hyperkitty.events.v1.events_pb2 import GAP_REASON_SLOW, Event, Gap, Heartbeat
from hyperkitty.messaging.v1.messages_pb2 import Message
from hyperkitty.messaging.v1.messaging_service_pb2 import StreamMessagesRequest, StreamMessagesResponse
from hyperkitty.operations.v1.errors_pb2 import ErrorCode

from gateway.web import sockets
from gateway.web.outbox import FRAME_BYTES, MOST_MESSAGES, Outbox
from services.kit.errors import Refusal
from tests.contract.gateway.conftest import AUTHORIZATION, TOKEN, Gateway
from tests.contract.gateway.samples import ULID
from tests.waiting import async_until

EVENTS = "/api/events/stream"
FIRST = {"authorization": f"Bearer {TOKEN}"}


def events(*numbers: int) -> StreamEventsResponse:
    return StreamEventsResponse(events=[Event(sequence=number) for number in numbers])


def stream_of(gateway: Gateway, *messages: StreamEventsResponse, then: Refusal | None = None) -> None:
    async def stream(_: StreamEventsRequest) -> AsyncIterator[StreamEventsResponse]:
        for message in messages:
            yield message
        if then is not None:
            raise then
        await asyncio.Event().wait()

    gateway["health"].streams["StreamEvents"] = stream


async def receive(socket: aiohttp.ClientWebSocketResponse) -> dict[str, Any]:
    message = await socket.receive(timeout=5)
    assert message.type == aiohttp.WSMsgType.TEXT, message
    return json.loads(message.data)


async def closed_with(socket: aiohttp.ClientWebSocketResponse) -> int | None:
    message = await socket.receive(timeout=5)
    assert message.type in (aiohttp.WSMsgType.CLOSE, aiohttp.WSMsgType.CLOSED)
    return socket.close_code


async def test_events_with_a_header(gateway: Gateway) -> None:
    gap = Gap(from_sequence=3, to_sequence=9, reason=GAP_REASON_SLOW)
    beat = StreamEventsResponse(heartbeat=Heartbeat(last_sequence=12))
    stream_of(gateway, events(1, 2), StreamEventsResponse(gap=gap), events(10), beat)
    url = f"{gateway.url}{EVENTS}?category_prefix=agent&subject=agent_1&after_sequence=0"
    async with gateway.http.ws_connect(url, headers=AUTHORIZATION) as socket:
        first = await receive(socket)
        assert list(first) == ["events"]
        assert [event["sequence"] for event in first["events"]] == [1, 2]
        assert list(first["events"][0]) == [field.name for field in Event.DESCRIPTOR.fields]
        assert await receive(socket) == {"gap": {"from_sequence": 3, "to_sequence": 9, "reason": "slow"}}
        assert [event["sequence"] for event in (await receive(socket))["events"]] == [10]
        assert await receive(socket) == {"heartbeat": {"last_sequence": 12}}
    (seen,) = gateway["health"].seen
    assert seen.request == StreamEventsRequest(category_prefix="agent", subject="agent_1", after_sequence=0)
    assert seen.identity.token_id == "root"
    await async_until(lambda: gateway["health"].cancelled == 1, "the stream to end with its reader")


async def test_events_with_a_first_message(gateway: Gateway) -> None:
    stream_of(gateway, events(1))
    async with gateway.http.ws_connect(gateway.url + EVENTS) as socket:
        await socket.send_str(json.dumps(FIRST))
        assert [event["sequence"] for event in (await receive(socket))["events"]] == [1]
    (seen,) = gateway["health"].seen
    assert isinstance(seen.request, StreamEventsRequest)
    assert not seen.request.HasField("after_sequence")


@pytest.mark.parametrize(
    ("message", "code"),
    [
        ('{"authorization":"Bearer hk_other"}', "unauthenticated"),
        ('{"authorization":5}', "invalid_arguments"),
        ('{"authorization":"Bearer x","more":1}', "invalid_arguments"),
        ("{", "invalid_arguments"),
        ("[]", "invalid_arguments"),
        (b"{}", "invalid_arguments"),
    ],
)
async def test_first_messages_that_do_not_authenticate(gateway: Gateway, message: str | bytes, code: str) -> None:
    async with gateway.http.ws_connect(gateway.url + EVENTS) as socket:
        await (socket.send_str(message) if isinstance(message, str) else socket.send_bytes(message))
        answer = await receive(socket)
        assert list(answer) == ["closing"]
        assert answer["closing"]["code"] == code
        assert answer["closing"]["reason"]
        assert await closed_with(socket) == 1008
    assert not gateway["health"].seen


async def test_no_first_message(gateway: Gateway, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sockets, "AUTHENTICATION_SECONDS", 0.2)
    async with gateway.http.ws_connect(gateway.url + EVENTS) as socket:
        assert (await receive(socket))["closing"]["code"] == "unauthenticated"
        assert await closed_with(socket) == 1008


HANDSHAKES = [
    (EVENTS, {"authorization": "Bearer hk_other"}, 401, "unauthenticated"),
    (EVENTS, {**AUTHORIZATION, "origin": "http://evil.example"}, 403, "not_authorized"),
    (EVENTS, {**AUTHORIZATION, "host": "evil.example"}, 403, "not_authorized"),
    (EVENTS + "?nothing=1", AUTHORIZATION, 400, "invalid_arguments"),
    (EVENTS + "?after_sequence=x", AUTHORIZATION, 400, "invalid_arguments"),
    ("/api/agents", AUTHORIZATION, 404, "not_found"),
    ("/nothing", AUTHORIZATION, 404, "not_found"),
]


@pytest.mark.parametrize(("path", "headers", "status", "code"), HANDSHAKES)
async def test_refused_handshakes(gateway: Gateway, path: str, headers: dict[str, str], status: int, code: str) -> None:
    sent = {**headers, "connection": "upgrade", "upgrade": "websocket", "sec-websocket-version": "13"}
    sent |= {"sec-websocket-key": "dGhlIHNhbXBsZSBub25jZQ==", "x-request-id": "ws-1"}
    async with gateway.http.get(gateway.url + path, headers=sent) as response:
        assert response.status == status
        assert response.headers["x-request-id"] == "ws-1"
        answer = await response.json()
    assert answer["request_id"] == "ws-1"
    assert answer["error"]["code"] == code


async def test_what_is_waiting_is_one_message(gateway: Gateway) -> None:
    count = 5_000
    stream_of(gateway, *(events(number) for number in range(count)))
    seen: list[int] = []
    messages = 0
    async with gateway.http.ws_connect(gateway.url + EVENTS, headers=AUTHORIZATION, max_msg_size=0) as socket:
        while len(seen) < count:
            message = await socket.receive(timeout=10)
            assert len(message.data) < 3 * FRAME_BYTES
            seen += [event["sequence"] for event in json.loads(message.data)["events"]]
            messages += 1
    assert seen == list(range(count))
    assert messages <= count


async def test_the_outbox_merges_and_is_bounded() -> None:
    outbox = Outbox()
    for number in range(3):
        await outbox.put(events(number))
    await outbox.put(StreamEventsResponse(heartbeat=Heartbeat(last_sequence=3)))
    await outbox.put(events(4))
    taken = [await outbox.take() for _ in range(3)]
    assert taken == [events(0, 1, 2), StreamEventsResponse(heartbeat=Heartbeat(last_sequence=3)), events(4)]
    large = StreamEventsResponse(events=[Event(subject="x" * (FRAME_BYTES // 2 + 1))])
    for _ in range(2):
        await outbox.put(StreamEventsResponse(events=large.events))
    assert await outbox.take() == large
    assert await outbox.take() == large
    for number in range(MOST_MESSAGES):
        await outbox.put(events(number))
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.05):
            await outbox.put(events(0))
    waiting = asyncio.create_task(outbox.put(events(MOST_MESSAGES)))
    total = 0
    outbox.close()
    while (message := await outbox.take()) is not None:
        total += len(getattr(message, "events"))  # noqa: B009
        await asyncio.sleep(0)
    assert total == MOST_MESSAGES + 1
    await waiting


async def test_a_reader_that_does_not_read_holds_its_stream_back(gateway: Gateway) -> None:
    sent = 0

    async def flood(_: StreamEventsRequest) -> AsyncIterator[StreamEventsResponse]:
        nonlocal sent
        while True:
            yield StreamEventsResponse(events=[Event(sequence=sent, subject="x" * 50_000)])
            sent += 1

    gateway["health"].streams["StreamEvents"] = flood
    reader, writer = await asyncio.open_connection("127.0.0.1", gateway.server.port)
    head = (
        f"GET {EVENTS} HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {TOKEN}\r\nconnection: upgrade\r\n"
        "upgrade: websocket\r\nsec-websocket-version: 13\r\nsec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
    )
    writer.write(head.encode())
    assert b" 101 " in await reader.readline()
    before = -1
    # What fits into sockets and buffers is sent, then nothing more.
    async with asyncio.timeout(20):
        while before != sent:
            before = sent
            await asyncio.sleep(0.5)
    assert sent * 50_000 < 64 << 20
    async with gateway.http.get(f"{gateway.url}/api/agents", headers=AUTHORIZATION) as response:
        assert response.status == 200
    writer.close()


async def test_an_end_has_a_reason(gateway: Gateway) -> None:
    stream_of(gateway, events(1), then=Refusal(ErrorCode.ERROR_CODE_NOT_FOUND, "there is no such thing"))
    async with gateway.http.ws_connect(gateway.url + EVENTS, headers=AUTHORIZATION) as socket:
        assert list(await receive(socket)) == ["events"]
        assert await receive(socket) == {"closing": {"reason": "there is no such thing", "code": "not_found"}}
        assert await closed_with(socket) == 1008


async def test_a_service_that_stops(gateway: Gateway) -> None:
    stream_of(gateway, events(1))
    async with gateway.http.ws_connect(gateway.url + EVENTS, headers=AUTHORIZATION) as socket:
        await receive(socket)
        await gateway["health"].stop()
        assert (await receive(socket))["closing"]["code"] == "unavailable"
        assert await closed_with(socket) == 1001


async def test_a_gateway_that_stops(gateway: Gateway) -> None:
    stream_of(gateway, events(1))
    async with gateway.http.ws_connect(gateway.url + EVENTS, headers=AUTHORIZATION) as socket:
        await receive(socket)
        stopping = asyncio.create_task(gateway.server.stop())
        answer = await receive(socket)
        assert answer == {"closing": {"reason": "the gateway is stopping", "code": "unavailable"}}
        assert await closed_with(socket) == 1001
    await stopping


async def test_a_stream_that_takes_no_messages(gateway: Gateway) -> None:
    stream_of(gateway, events(1))
    async with gateway.http.ws_connect(gateway.url + EVENTS, headers=AUTHORIZATION) as socket:
        await receive(socket)
        await socket.send_str("{}")
        assert (await receive(socket))["closing"]["code"] == "invalid_arguments"


async def test_messages_both_ways(gateway: Gateway) -> None:
    asked: list[StreamMessagesRequest] = []

    async def stream(requests: AsyncIterator[StreamMessagesRequest]) -> AsyncIterator[StreamMessagesResponse]:
        async for request in requests:
            asked.append(request)
            yield StreamMessagesResponse(message=Message(message_id=f"msg_{ULID}", recipient=request.recipient))

    gateway["messaging"].streams["StreamMessages"] = stream
    url = f"{gateway.url}/api/messages/stream?recipient=user:ada"
    async with gateway.http.ws_connect(url) as socket:
        await socket.send_str(json.dumps(FIRST))
        answer = await receive(socket)
        assert list(answer) == ["message"]
        assert answer["message"]["recipient"] == "user:ada"
        await socket.send_str(json.dumps({"acknowledge": f"msg_{ULID}"}))
        await receive(socket)
        await socket.send_str('{"acknowledged":"x"}')
        closing = (await receive(socket))["closing"]
        assert closing["code"] == "invalid_arguments"
        assert "did you mean acknowledge?" in closing["reason"]
    assert asked == [
        StreamMessagesRequest(recipient="user:ada"),
        StreamMessagesRequest(acknowledge=f"msg_{ULID}"),
    ]
