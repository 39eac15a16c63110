"""JSON values as they enter events and errors: typed, bounded, always encodable."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from typing import TypeAlias, cast

from google.protobuf import struct_pb2

JsonValue: TypeAlias = "bool | int | float | str | Sequence[JsonValue] | Mapping[str, JsonValue] | None"

_DEEPEST = 32
_CUT = "…[cut]"


def clean_text(text: str) -> str:
    """Text that UTF-8 can carry: lone surrogates, as pages produce them, become U+FFFD."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def _plain(value: JsonValue, depth: int) -> object:
    if isinstance(value, str):
        return clean_text(value)
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, (int, float)):
        # JSON has no NaN or infinity, and a Struct holds doubles.
        return float(value) if math.isfinite(value) else str(value)
    if depth >= _DEEPEST:
        return _CUT
    if isinstance(value, Mapping):
        return {clean_text(str(key)): _plain(inner, depth + 1) for key, inner in value.items()}
    return [_plain(inner, depth + 1) for inner in value]


def _size(value: object) -> int:
    return len(json.dumps(value, ensure_ascii=False).encode())


def _bounded(fields: dict[str, object], limit: int) -> dict[str, object]:
    """Cuts the largest values until the whole fits: what is cut says so and how large it was."""
    sizes = {key: _size({key: value}) for key, value in fields.items()}
    total = sum(sizes.values()) + 2
    for key in sorted(sizes, key=lambda each: sizes[each], reverse=True):
        if total <= limit:
            break
        mark: dict[str, object] = {"cut": True, "bytes": sizes[key]}
        total -= sizes[key] - _size({key: mark})
        fields[key] = mark
    return fields if total <= limit else {"cut": True, "bytes": total}


def to_struct(value: Mapping[str, JsonValue] | None, limit: int) -> struct_pb2.Struct:
    """A Struct of at most `limit` bytes as JSON."""
    struct = struct_pb2.Struct()
    if not value:
        return struct
    fields = cast("dict[str, object]", _plain(value, 0))
    _fill(struct, fields)
    # JSON escapes a byte with up to six; the exact measure is taken only where that could matter.
    if struct.ByteSize() * 6 > limit and _size(fields) > limit:
        struct.Clear()
        _fill(struct, _bounded(fields, limit))
    return struct


def _fill(struct: struct_pb2.Struct, fields: dict[str, object]) -> None:
    # `_plain` made it of nothing but JSON's own types.
    struct.update(cast("dict[str, str | float | bool | None]", fields))


def _from_value(value: struct_pb2.Value) -> JsonValue:
    kind = value.WhichOneof("kind")
    if kind == "struct_value":
        return from_struct(value.struct_value)
    if kind == "list_value":
        return [_from_value(inner) for inner in value.list_value.values]
    if kind == "string_value":
        return value.string_value
    if kind == "bool_value":
        return value.bool_value
    if kind == "number_value":
        number = value.number_value
        return int(number) if number.is_integer() and abs(number) < 2**53 else number
    return None


def from_struct(struct: struct_pb2.Struct) -> dict[str, JsonValue]:
    """The JSON object in a Struct; whole numbers come back as int."""
    return {key: _from_value(value) for key, value in struct.fields.items()}
