"""google.protobuf.Struct, Value and ListValue: the JSON that they hold, as it is."""

from __future__ import annotations

from typing import cast

from google.protobuf import struct_pb2
from google.protobuf.message import Message

from gateway.transcoding import forms
from gateway.transcoding.mismatch import Mismatch, wrong_type
from gateway.transcoding.scalars import number_of, text_of
from services.kit.json_values import JsonValue

# protobuf reads 100 levels of messages, an object in a Struct takes three, and it stands some levels deep itself.
DEEPEST = 24
# A Struct holds doubles: beyond this, integers would change.
_EXACT = 2**53

NAMES = frozenset({forms.STRUCT, forms.VALUE, forms.LIST_VALUE})


def encode_struct(message: Message) -> dict[str, JsonValue]:
    """The JSON object in a Struct."""
    return {key: _encode(value) for key, value in cast("struct_pb2.Struct", message).fields.items()}


def encode_value(message: Message) -> JsonValue:
    """The JSON value in a Value; null when it holds nothing."""
    return _encode(cast("struct_pb2.Value", message))


def encode_list(message: Message) -> list[JsonValue]:
    """The JSON array in a ListValue."""
    return [_encode(value) for value in cast("struct_pb2.ListValue", message).values]


def _encode(value: struct_pb2.Value) -> JsonValue:
    kind = value.WhichOneof("kind")
    if kind == "string_value":
        return value.string_value
    if kind == "number_value":
        number = value.number_value
        return int(number) if number.is_integer() and abs(number) <= _EXACT else number
    if kind == "struct_value":
        return encode_struct(value.struct_value)
    if kind == "list_value":
        return encode_list(value.list_value)
    return value.bool_value if kind == "bool_value" else None


def decode_struct(message: Message, value: object, depth: int = 0) -> None:
    """Fills a Struct from a JSON object."""
    if not isinstance(value, dict):
        raise wrong_type("object", value)
    fields = cast("struct_pb2.Struct", message).fields
    for key, inner in cast("dict[str, object]", value).items():
        try:
            _decode(fields[text_of(key)], inner, depth + 1)
        except Mismatch as mismatch:
            raise mismatch.within(key) from None


def decode_value(message: Message, value: object, depth: int = 0) -> None:
    """Fills a Value from any JSON value."""
    _decode(cast("struct_pb2.Value", message), value, depth)


def decode_list(message: Message, value: object, depth: int = 0) -> None:
    """Fills a ListValue from a JSON array."""
    if not isinstance(value, list):
        raise wrong_type("array", value)
    values = cast("struct_pb2.ListValue", message).values
    for index, inner in enumerate(cast("list[object]", value)):
        try:
            _decode(values.add(), inner, depth + 1)
        except Mismatch as mismatch:
            raise mismatch.within(index) from None


def _decode(message: struct_pb2.Value, value: object, depth: int) -> None:
    if value is None:
        message.null_value = struct_pb2.NULL_VALUE
    elif isinstance(value, bool):
        message.bool_value = value
    elif isinstance(value, str):
        message.string_value = text_of(value)
    elif isinstance(value, (int, float)):
        if isinstance(value, int) and abs(value) > _EXACT:
            raise wrong_type(f"number that a double holds exactly (at most {_EXACT}); send it as a string", value)
        message.number_value = number_of(value)
    elif depth >= DEEPEST:
        raise Mismatch(f"nested deeper than {DEEPEST} levels", expected="less nesting")
    elif isinstance(value, dict):
        message.struct_value.SetInParent()
        decode_struct(message.struct_value, cast("dict[str, object]", value), depth)
    else:
        message.list_value.SetInParent()
        decode_list(message.list_value, value, depth)
