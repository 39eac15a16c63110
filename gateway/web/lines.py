"""A stream as NDJSON: one JSON object a line, from the first to the last."""

from __future__ import annotations

import asyncio

import grpc

from gateway.calls.backends import Backends, messages
from gateway.calls.failures import refusal_of
from gateway.transcoding.json_text import dump
from gateway.web.answers import error_json, failed, send_answer
from gateway.web.body import ClientGone
from gateway.web.exchange import Receive, Send
from gateway.web.unary import Call, cancel_when_gone

# A whole log may take long; what must not is one step of it.
STREAM_SECONDS = 1_800.0
SEND_SECONDS = 30.0


async def stream_lines(backends: Backends, call: Call, receive: Receive, send: Send) -> None:
    """Answers with the stream. What is refused before its first message is an ordinary answer with its status.

    A stream that breaks off later ends with the line `{"error": {…}}`: its status was sent long before.
    """
    route, exchange = call.route, call.exchange
    stream = await backends.stream(route.rpc, call.caller, call.request, STREAM_SECONDS, call.metadata)
    watch = asyncio.create_task(cancel_when_gone(receive, stream.cancel))
    started = False
    try:
        async for message in messages(stream):
            if not started:
                started = True
                await _start(send, exchange.request_id)
            await _send_line(send, dump(route.result(message)))
    except grpc.aio.AioRpcError as error:
        refusal = refusal_of(error, route.rpc)
        if not started:
            answer = failed(refusal, exchange.request_id, with_status=route.has_status)
            await send_answer(send, exchange, answer)
            return
        await _send_line(send, dump({"error": error_json(refusal)}))
    except asyncio.CancelledError:
        if watch.done() and not watch.cancelled():
            raise ClientGone from None
        raise
    finally:
        watch.cancel()
        stream.cancel()
    if not started:
        await _start(send, exchange.request_id)
    await send({"type": "http.response.body", "body": b""})


async def _start(send: Send, request_id: str) -> None:
    headers = [
        (b"content-type", b"application/x-ndjson"),
        (b"cache-control", b"no-store"),
        (b"x-content-type-options", b"nosniff"),
        (b"x-request-id", request_id.encode()),
    ]
    await send({"type": "http.response.start", "status": 200, "headers": headers})


async def _send_line(send: Send, line: bytes) -> None:
    try:
        async with asyncio.timeout(SEND_SECONDS):
            await send({"type": "http.response.body", "body": line + b"\n", "more_body": True})
    except TimeoutError:
        raise ClientGone from None
