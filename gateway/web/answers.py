"""The envelope of every answer (SPEC §10, §11), and its way out."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from google.protobuf.message import Message
from hyperkitty.operations.v1 import errors_pb2
from hyperkitty.operations.v1.errors_pb2 import ErrorCode

from gateway.routing.routes import Route
from gateway.transcoding.encode import object_encoder
from gateway.transcoding.json_text import dump
from gateway.web.exchange import Exchange, Send
from services.kit import errors
from services.kit.errors import Refusal

Header = tuple[bytes, bytes]

# An answer holds data of a caller: no cache may keep it, and no page may take it for a document.
_JSON_HEADERS: list[Header] = [
    (b"content-type", b"application/json"),
    (b"cache-control", b"no-store"),
    (b"x-content-type-options", b"nosniff"),
]
_encode_error = object_encoder(errors_pb2.Error.DESCRIPTOR)


@dataclass(slots=True)
class Answer:
    """A whole HTTP answer."""

    status: int
    body: bytes
    headers: list[Header] = field(default_factory=list[Header])


def succeeded(route: Route, response: Message, operation_id: str, request_id: str) -> Answer:
    """The answer to a call that went well."""
    result = route.result(response)
    if not route.is_operation:
        return Answer(200, dump(result))
    envelope: dict[str, object] = {"operation_id": operation_id}
    if route.envelope is not None:
        envelope.update(route.envelope(response))
    envelope["request_id"] = request_id
    envelope["status"] = "succeeded"
    envelope["result"] = result
    return Answer(200, dump(envelope))


def failed(refusal: Refusal, request_id: str, *, with_status: bool, operation_id: str = "") -> Answer:
    """The answer to a call that did not. `with_status`: to all but GET."""
    envelope: dict[str, object] = {"operation_id": operation_id} if operation_id else {}
    envelope["request_id"] = request_id
    if with_status:
        envelope["status"] = "failed"
    envelope["error"] = error_json(refusal)
    headers: list[Header] = []
    if refusal.code == ErrorCode.ERROR_CODE_UNAUTHENTICATED:
        headers.append((b"www-authenticate", b"Bearer"))
    retry_after_ms = refusal.details.get("retry_after_ms")
    if isinstance(retry_after_ms, (int, float)):
        headers.append((b"retry-after", str(max(1, math.ceil(retry_after_ms / 1000))).encode()))
    return Answer(errors.http_status(refusal.code), dump(envelope), headers)


def error_json(refusal: Refusal) -> dict[str, object]:
    """`{code, message, hint, details}`."""
    return dict(_encode_error(refusal.to_proto()))


def method_not_allowed(verb: str, allowed: list[str], request_id: str) -> Answer:
    """405 with what is allowed (RFC 9110 §15.5.6). There is no code of its own: the method is a wrong argument."""
    refusal = Refusal(
        ErrorCode.ERROR_CODE_INVALID_ARGUMENTS,
        f"{verb[:20]} is not a method of this route; it takes {', '.join(allowed)}",
        details={"allow": allowed},
    )
    answer = failed(refusal, request_id, with_status=verb not in ("GET", "HEAD"))
    answer.status = 405
    answer.headers.append((b"allow", ", ".join(allowed).encode()))
    return answer


async def send_answer(send: Send, exchange: Exchange, answer: Answer) -> None:
    """Writes an answer with the headers that all of them have."""
    headers = [
        *_JSON_HEADERS,
        (b"x-request-id", exchange.request_id.encode()),
        (b"content-length", str(len(answer.body)).encode()),
        *answer.headers,
    ]
    await send({"type": "http.response.start", "status": answer.status, "headers": headers})
    await send({"type": "http.response.body", "body": answer.body})
