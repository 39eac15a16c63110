"""A streamed file as an HTTP body: Range (RFC 9110 §14), attachment, nosniff; never a page of this origin."""

from __future__ import annotations

import asyncio
import mimetypes
import re
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import cast

import grpc
from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import Message
from hyperkitty.operations.v1.artifacts_pb2 import Artifact
from hyperkitty.operations.v1.errors_pb2 import ErrorCode

from gateway.calls.backends import Backends, Stream, messages
from gateway.calls.failures import refusal_of
from gateway.contract import Rpc
from gateway.transcoding.forms import FormError
from gateway.web.answers import Header, failed, send_answer
from gateway.web.body import ClientGone
from gateway.web.exchange import Exchange, Receive, Send
from gateway.web.lines import SEND_SECONDS, STREAM_SECONDS
from gateway.web.unary import Call, cancel_when_gone
from services.kit.errors import Refusal

# The content comes from pages. A type that a header cannot hold is no type.
_MEDIA_TYPE = re.compile(
    r"[a-z0-9][a-z0-9!#$&^_.+-]{0,60}/[a-z0-9][a-z0-9!#$&^_.+-]{0,60}(; ?charset=[a-z0-9-]{1,40})?"
)
_RANGE = re.compile(r"bytes=([0-9]{0,18})-([0-9]{0,18})")
_UNKNOWN_TYPE = "application/octet-stream"


@dataclass(frozen=True, slots=True)
class Part:
    """The bytes to send: from `offset`, `length` of them."""

    offset: int
    length: int


class Unsatisfiable(Exception):
    """A range that begins after the end."""


def part_of(header: str | None, size: int) -> Part | None:
    """The part that a Range header asks of `size` bytes; None for the whole. Raises Unsatisfiable.

    A header that cannot be read, and one with several ranges, is ignored, as RFC 9110 §14.2 allows.
    """
    match = _RANGE.fullmatch(header.strip().lower()) if header is not None else None
    if match is None:
        return None
    first, last = match.groups()
    if not first:
        if not last:
            return None
        offset = max(0, size - int(last))
        length = size - offset
    else:
        offset = int(first)
        if last and int(last) < offset:
            return None
        length = min(int(last), size - 1) - offset + 1 if last else size - offset
    if length <= 0:
        raise Unsatisfiable
    return Part(offset, length)


def check_shape(rpc: Rpc) -> tuple[FieldDescriptor, FieldDescriptor]:
    """The fields that hold the description and the bytes; FormError when the rpc streams anything else."""
    request, response = rpc.method.input_type, rpc.method.output_type
    fields = {field.name: field for field in response.fields}
    described = [each for each in fields.values() if each.message_type is not None]
    chunks = [each for each in fields.values() if each.type == FieldDescriptor.TYPE_BYTES]
    if len(described) != 1 or len(chunks) != 1 or described[0].message_type is not Artifact.DESCRIPTOR:
        raise FormError(f"{rpc.name}: a download streams an Artifact and its bytes")
    if not {"offset", "limit"} <= set(request.fields_by_name):
        raise FormError(f"{rpc.name}: a download takes offset and limit")
    return described[0], chunks[0]


class Download:
    """Sends one artifact."""

    def __init__(self, backends: Backends, call: Call, receive: Receive, send: Send) -> None:
        self._backends = backends
        self._call = call
        self._receive = receive
        self._send = send
        self._described, self._chunk = check_shape(call.route.rpc)

    async def run(self) -> None:
        """Answers. Raises ClientGone; what breaks off after the headers ends the connection, so that it is noticed."""
        exchange = self._call.exchange
        try:
            stream, artifact = await self._open(self._call.request)
            await self._answer(stream, artifact)
        except grpc.aio.AioRpcError as error:
            await self._refuse(refusal_of(error, self._call.route.rpc))
        except Unsatisfiable as error:
            refusal = Refusal(
                ErrorCode.ERROR_CODE_INVALID_ARGUMENTS,
                f"the range {exchange.header(b'range')!r} is outside of the artifact",
                hint="get_download and the artifact's description say how long it is.",
            )
            await self._refuse(refusal, 416, [(b"content-range", f"bytes */{error.args[0]}".encode())])

    async def _refuse(self, refusal: Refusal, status: int | None = None, headers: list[Header] | None = None) -> None:
        answer = failed(refusal, self._call.exchange.request_id, with_status=False)
        answer.status = status or answer.status
        answer.headers.extend(headers or [])
        await send_answer(self._send, self._call.exchange, answer)

    async def _open(self, request: Message) -> tuple[Stream, Artifact]:
        """Starts reading; returns when the description is there."""
        call = self._call
        stream = await self._backends.stream(call.route.rpc, call.caller, request, STREAM_SECONDS, call.metadata)
        first = await stream.read()
        if not isinstance(first, Message) or not first.HasField(self._described.name):
            stream.cancel()
            raise Refusal(ErrorCode.ERROR_CODE_UNAVAILABLE, "the artifact ended before its description")
        return stream, cast("Artifact", getattr(first, self._described.name))

    async def _answer(self, stream: Stream, artifact: Artifact) -> None:
        exchange = self._call.exchange
        etag = f'"{artifact.sha256}"' if artifact.sha256 else ""
        if etag and exchange.header(b"if-none-match") == etag:
            stream.cancel()
            await self._start(exchange, 304, [(b"etag", etag.encode())])
            await self._send({"type": "http.response.body", "body": b""})
            return
        asked = exchange.header(b"range")
        condition = exchange.header(b"if-range")
        asks_itself = getattr(self._call.request, "offset") or getattr(self._call.request, "limit")  # noqa: B009
        part = None
        if asked is not None and not asks_itself and condition in (None, etag):
            try:
                part = part_of(asked, artifact.bytes)
            except Unsatisfiable:
                stream.cancel()
                raise Unsatisfiable(artifact.bytes) from None
        headers = self._headers(artifact, etag)
        if part is None:
            if not asks_itself:
                headers.append((b"content-length", str(artifact.bytes).encode()))
            await self._start(exchange, 200, headers)
        else:
            stream.cancel()
            stream, artifact = await self._open(self._ranged(part))
            last = part.offset + part.length - 1
            headers.append((b"content-length", str(part.length).encode()))
            headers.append((b"content-range", f"bytes {part.offset}-{last}/{artifact.bytes}".encode()))
            await self._start(exchange, 206, headers)
        await self._pump(stream)

    def _ranged(self, part: Part) -> Message:
        request = self._call.route.rpc.request_class()
        request.CopyFrom(self._call.request)
        setattr(request, "offset", part.offset)  # noqa: B010
        setattr(request, "limit", part.length)  # noqa: B010
        return request

    async def _start(self, exchange: Exchange, status: int, headers: list[Header]) -> None:
        request_id: Header = (b"x-request-id", exchange.request_id.encode())
        await self._send({"type": "http.response.start", "status": status, "headers": [*headers, request_id]})

    def _headers(self, artifact: Artifact, etag: str) -> list[Header]:
        media_type = artifact.content_type.lower()
        if not _MEDIA_TYPE.fullmatch(media_type):
            media_type = _UNKNOWN_TYPE
        extension = mimetypes.guess_extension(media_type.partition(";")[0]) or ""
        headers: list[Header] = [
            (b"content-type", media_type.encode()),
            (b"content-disposition", f'attachment; filename="{artifact.artifact_id}{extension}"'.encode()),
            (b"x-content-type-options", b"nosniff"),
            (b"content-security-policy", b"default-src 'none'; sandbox"),
            (b"cross-origin-resource-policy", b"same-origin"),
            (b"cache-control", b"private, no-cache"),
            (b"accept-ranges", b"bytes"),
        ]
        return [*headers, (b"etag", etag.encode())] if etag else headers

    async def _pump(self, stream: Stream) -> None:
        watch = asyncio.create_task(cancel_when_gone(self._receive, stream.cancel))
        try:
            async for chunk in self._chunks(stream):
                async with asyncio.timeout(SEND_SECONDS):
                    await self._send({"type": "http.response.body", "body": chunk, "more_body": True})
        except (grpc.aio.AioRpcError, TimeoutError):
            # The headers promised more: only an aborted connection says that it is not coming.
            raise ClientGone from None
        except asyncio.CancelledError:
            if watch.done() and not watch.cancelled():
                raise ClientGone from None
            raise
        finally:
            watch.cancel()
            stream.cancel()
        await self._send({"type": "http.response.body", "body": b""})

    async def _chunks(self, stream: Stream) -> AsyncIterator[bytes]:
        async for message in messages(stream):
            yield cast("bytes", getattr(message, self._chunk.name))
