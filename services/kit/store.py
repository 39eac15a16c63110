"""Typed key-value state with compare-and-set: the interface, and how values become bytes."""

from __future__ import annotations

import base64
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

import msgspec
from google.protobuf.message import DecodeError, Message
from hyperkitty.operations.v1.errors_pb2 import ErrorCode

from services.kit.errors import RETRY_AFTER_MS, Refusal

T = TypeVar("T")
T_contra = TypeVar("T_contra", contravariant=True)
M = TypeVar("M", bound=Message)

# Most entries that one listing returns; a caller that needs more reads in pages (`newest`).
MOST_ENTRIES = 10_000


class KeyExists(Exception):
    """`create` found the key present."""


class RevisionMismatch(Exception):
    """`update` or `delete` expected another revision: somebody else wrote in between."""


class StoreUnavailable(Refusal):
    """The store did not answer in time; whether a write happened is not known."""

    def __init__(self, what: str) -> None:
        super().__init__(
            ErrorCode.ERROR_CODE_UNAVAILABLE,
            f"the state store did not answer: {what}",
            details={"retry_after_ms": RETRY_AFTER_MS},
        )


class ValueUnreadable(Exception):
    """Stored bytes that the codec refuses: another version wrote them, or they are damaged."""


class Codec(Protocol[T]):
    """How a value becomes bytes and back. `decode` raises ValueUnreadable."""

    def encode(self, value: T) -> bytes: ...
    def decode(self, data: bytes) -> T: ...


class ProtoCodec(Generic[M]):
    """Values that are protobuf messages."""

    def __init__(self, message_type: type[M]) -> None:
        self._type = message_type

    def encode(self, value: M) -> bytes:
        return value.SerializeToString()

    def decode(self, data: bytes) -> M:
        message = self._type()
        try:
            message.ParseFromString(data)
        except DecodeError as error:
            raise ValueUnreadable(f"not a {self._type.__name__}") from error
        return message


class StructCodec(Generic[T]):
    """Values that msgspec can encode (Structs, dataclasses), as JSON; types are checked on reading."""

    def __init__(self, value_type: type[T]) -> None:
        self._type = value_type
        self._encoder = msgspec.json.Encoder()
        self._decoder = msgspec.json.Decoder(value_type)

    def encode(self, value: T) -> bytes:
        return self._encoder.encode(value)

    def decode(self, data: bytes) -> T:
        try:
            return self._decoder.decode(data)
        except msgspec.MsgspecError as error:
            raise ValueUnreadable(f"not a {self._type.__name__}") from error


def proto_codec(message_type: type[M]) -> Codec[M]:
    """The codec of a protobuf message."""
    return ProtoCodec(message_type)


def struct_codec(value_type: type[T]) -> Codec[T]:
    """The codec of a msgspec Struct or dataclass."""
    return StructCodec(value_type)


@dataclass(frozen=True)
class Entry(Generic[T]):
    """A present value. `revision` rises with every write to the bucket."""

    key: str
    value: T
    revision: int


@dataclass(frozen=True)
class Change(Generic[T]):
    """Something a watcher sees: a value written (`value`), or a key deleted (`value` is None)."""

    key: str
    value: T | None
    revision: int


@dataclass(frozen=True)
class CaughtUp:
    """A watcher has seen all that was present when it began; once for each watch."""


CAUGHT_UP = CaughtUp()


class Store(Protocol[T]):
    """One bucket. Keys are tokens joined by dots; a `prefix` is whole tokens, "" for all.

    Every method may raise StoreUnavailable; reading one key raises ValueUnreadable for damaged bytes.
    """

    async def get(self, key: str) -> Entry[T] | None:
        """The value, or None."""
        ...

    async def create(self, key: str, value: T) -> int:
        """Writes only when the key is absent; returns the revision. Raises KeyExists."""
        ...

    async def update(self, key: str, value: T, expected: int) -> int:
        """Writes only when the key's revision is `expected`; returns the new one. Raises RevisionMismatch."""
        ...

    async def put(self, key: str, value: T) -> int:
        """Writes whatever was there; returns the revision."""
        ...

    async def delete(self, key: str, expected: int | None = None) -> None:
        """Deletes; an absent key is no error. Raises RevisionMismatch when `expected` is given and wrong."""
        ...

    async def keys(self, prefix: str = "") -> list[str]:
        """Present keys, sorted; at most MOST_ENTRIES."""
        ...

    async def entries(self, prefix: str = "") -> list[Entry[T]]:
        """Present entries, oldest write first; at most MOST_ENTRIES; unreadable ones are left out and logged."""
        ...

    async def newest(self, prefix: str = "", *, limit: int, before: int | None = None) -> list[Entry[T]]:
        """The last written entries, newest first; `before` a revision, for the next page."""
        ...

    def watch(self, prefix: str = "") -> AsyncIterator[Change[T] | CaughtUp]:
        """Present entries, then CAUGHT_UP, then changes as they happen. Ends only when its task is cancelled."""
        ...


def under(prefix: str, key: str) -> bool:
    """Whether a key is `prefix` or below it, in whole tokens."""
    return not prefix or key == prefix or key.startswith(prefix + ".")


def page_token(revision: int) -> str:
    """An opaque page token for `newest`."""
    return base64.urlsafe_b64encode(str(revision).encode()).decode().rstrip("=")


def page_revision(token: str) -> int | None:
    """The revision in a page token, None for the first page; raises Refusal invalid_arguments."""
    if not token:
        return None
    try:
        return int(base64.urlsafe_b64decode(token + "=" * (-len(token) % 4)))
    except ValueError as error:
        raise Refusal(
            ErrorCode.ERROR_CODE_INVALID_ARGUMENTS,
            "page_token is not one that a previous page gave",
            details={"field": "page_token"},
        ) from error
