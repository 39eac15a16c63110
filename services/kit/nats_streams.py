"""JetStream's own API as far as it is used: making streams, their state, one message by subject."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

import nats.errors
import nats.js.errors
from nats.js import api

from services.kit.nats_connection import NatsConnection

_NAME_IN_USE = 10058
API_TIMEOUT = 2.0


class StreamUnavailable(Exception):
    """JetStream did not answer, or not as expected."""


@dataclass(frozen=True)
class StreamState:
    """First and last sequence present (first is last + 1 when empty), messages, bytes, most bytes (-1: no limit)."""

    first: int
    last: int
    messages: int
    bytes: int
    max_bytes: int


@dataclass(frozen=True)
class StoredMessage:
    """One message of a stream."""

    subject: str
    data: bytes
    headers: dict[str, str]
    sequence: int


async def ensure_stream(connection: NatsConnection, config: api.StreamConfig) -> None:
    """Makes the stream where it is missing; one that is there is left as it is. Raises StreamUnavailable."""
    try:
        await connection.jetstream.add_stream(config)  # pyright: ignore[reportUnknownMemberType]
    except nats.js.errors.APIError as error:
        if error.err_code != _NAME_IN_USE:
            raise StreamUnavailable(f"{config.name}: {error.description}") from error
    except (nats.errors.Error, nats.js.errors.Error, OSError) as error:
        raise StreamUnavailable(f"{config.name}: {type(error).__name__}") from error


async def stream_state(connection: NatsConnection, stream: str) -> StreamState:
    """What the stream holds. Raises StreamUnavailable."""
    try:
        info = await connection.jetstream.stream_info(stream)
    except (nats.errors.Error, nats.js.errors.Error, OSError) as error:
        raise StreamUnavailable(f"{stream}: {type(error).__name__}") from error
    state = info.state
    first = state.first_seq or state.last_seq + 1
    max_bytes = info.config.max_bytes or -1
    return StreamState(
        first if state.messages else state.last_seq + 1, state.last_seq, state.messages, state.bytes, max_bytes
    )


async def message_at(connection: NatsConnection, stream: str, sequence: int) -> bytes | None:
    """The bytes at a sequence; None where nothing is any more. Raises StreamUnavailable."""
    try:
        found = await connection.jetstream.get_msg(stream, sequence, direct=True)
    except nats.js.errors.NotFoundError:
        return None
    except (nats.errors.Error, nats.js.errors.Error, OSError) as error:
        raise StreamUnavailable(f"{stream}: {type(error).__name__}") from error
    return found.data


async def last_by_subject(connection: NatsConnection, stream: str, subject: str) -> StoredMessage | None:
    """The last message on a subject, by the direct API; None when there is none. Raises StreamUnavailable."""
    try:
        async with asyncio.timeout(API_TIMEOUT):
            answer = await connection.client.request(f"$JS.API.DIRECT.GET.{stream}.{subject}", b"", timeout=API_TIMEOUT)
    except (nats.errors.Error, OSError) as error:
        raise StreamUnavailable(f"{stream}: {type(error).__name__}") from error
    headers = dict(answer.headers or {})
    if headers.get("Status") == "404":
        return None
    if "Status" in headers or "Nats-Sequence" not in headers:
        raise StreamUnavailable(f"{stream}: status {headers.get('Status')}")
    return StoredMessage(headers.get("Nats-Subject", ""), answer.data, headers, int(headers["Nats-Sequence"]))
