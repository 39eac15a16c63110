"""The codec of structs that hold protobuf messages beside plain values."""

from __future__ import annotations

from typing import Generic, TypeVar

import msgspec
from google.protobuf.message import DecodeError, Message

from services.kit.store import ValueUnreadable

S = TypeVar("S", bound=msgspec.Struct)


def _to_bytes(value: object) -> bytes:
    if isinstance(value, Message):
        return value.SerializeToString()
    raise TypeError(f"cannot be stored: {type(value).__name__}")


def _from_bytes(wanted: type[object], value: object) -> object:
    if issubclass(wanted, Message) and isinstance(value, bytes):
        message = wanted()
        message.ParseFromString(value)
        return message
    raise TypeError(f"not stored as {wanted.__name__}")


class RecordCodec(Generic[S]):
    """msgpack of a struct; its messages as their bytes. `decode` raises ValueUnreadable."""

    def __init__(self, struct: type[S]) -> None:
        self._name = struct.__name__
        self._encoder = msgspec.msgpack.Encoder(enc_hook=_to_bytes)
        self._decoder = msgspec.msgpack.Decoder(struct, dec_hook=_from_bytes)

    def encode(self, value: S) -> bytes:
        return self._encoder.encode(value)

    def decode(self, data: bytes) -> S:
        try:
            return self._decoder.decode(data)
        except (msgspec.MsgspecError, DecodeError) as error:
            raise ValueUnreadable(f"not a {self._name}") from error
