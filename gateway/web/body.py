"""Reading a request's body: bounded in bytes and in time."""

from __future__ import annotations

import asyncio

from hyperkitty.operations.v1.errors_pb2 import ErrorCode

from gateway.web.exchange import Exchange, Receive, invalid
from services.kit.errors import Refusal

_SECONDS = 30.0


class ClientGone(Exception):
    """The client closed the connection: nobody reads an answer."""


async def read_body(exchange: Exchange, receive: Receive, limit: int) -> bytes:
    """The whole body, at most `limit` bytes.

    Raises Refusal payload_too_large before it reads what is announced as longer, and ClientGone. What a client goes on
    sending after its answer is parsed and dropped by the server: a closed connection would cost it the answer.
    """
    encoding = exchange.header(b"content-encoding")
    if encoding is not None and encoding.lower() != "identity":
        raise invalid(f"the body's content-encoding {encoding[:40]!r} is not taken: send it as it is")
    announced = exchange.header(b"content-length")
    if (
        announced is not None
        and announced.isascii()
        and announced.isdigit()
        and (len(announced) > 20 or int(announced) > limit)
    ):
        raise _too_large(limit)
    body, more = await _next(receive)
    if len(body) > limit:
        raise _too_large(limit)
    if not more:
        return body
    chunks = [body]
    size = len(body)
    try:
        async with asyncio.timeout(_SECONDS):
            while more:
                chunk, more = await _next(receive)
                size += len(chunk)
                if size > limit:
                    raise _too_large(limit)
                chunks.append(chunk)
    except TimeoutError:
        raise Refusal(
            ErrorCode.ERROR_CODE_DEADLINE_EXCEEDED,
            f"the body did not arrive within {_SECONDS:.0f} s",
            hint="Nothing was done: send the operation again, or use upload_file with an artifact.",
        ) from None
    return b"".join(chunks)


async def _next(receive: Receive) -> tuple[bytes, bool]:
    message = await receive()
    if message["type"] != "http.request":
        raise ClientGone
    return bytes(message.get("body", b"")), bool(message.get("more_body", False))


def _too_large(limit: int) -> Refusal:
    return Refusal(
        ErrorCode.ERROR_CODE_PAYLOAD_TOO_LARGE,
        f"the body is larger than the {limit} bytes that this operation takes",
        details={"limit_bytes": limit},
    )
