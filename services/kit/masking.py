"""Messages as facts for events, histories and logs: bounded, and without what the contract marks `debug_redact`.

Secrets never enter an event, a log line, a trace or an error (SPEC §9).
"""

from __future__ import annotations

import re
from functools import cache
from typing import cast

from google.protobuf import struct_pb2
from google.protobuf.descriptor import Descriptor, FieldDescriptor
from google.protobuf.json_format import MessageToDict
from google.protobuf.message import Message

from services.kit.json_values import JsonValue

MASK = "•••"
MOST_TEXT = 2_000
MOST_ITEMS = 50
_HTTP = re.compile(r"\s*https?:", re.IGNORECASE)
_IGNORED = re.compile(r"[\t\r\n]")
_CREDENTIALS = re.compile(r"^([a-z][a-z0-9+.-]*:[/\\]*)[^/\\?#]*@", re.IGNORECASE)


def masked(message: Message, *, most_text: int = MOST_TEXT) -> dict[str, JsonValue]:
    """The fields that are set, by name; secrets as `•••`, bytes as their number, long text and lists cut."""
    facts: dict[str, JsonValue] = {}
    for field, value in message.ListFields():
        if field.name in _secret_fields(message.DESCRIPTOR):
            facts[field.name] = MASK
        elif field.message_type is not None and field.message_type.GetOptions().map_entry:
            facts[field.name] = {
                str(key): _one(_value_field(field), entry, most_text)
                for key, entry in list(cast("dict[object, object]", value).items())[:MOST_ITEMS]
            }
        elif field.is_repeated:
            entries = list(cast("list[object]", value))[:MOST_ITEMS]
            facts[field.name] = [_one(field, entry, most_text) for entry in entries]
        else:
            facts[field.name] = _one(field, value, most_text)
    return facts


@cache
def _secret_fields(descriptor: Descriptor) -> frozenset[str]:
    return frozenset(field.name for field in descriptor.fields if field.GetOptions().debug_redact)


def _value_field(field: FieldDescriptor) -> FieldDescriptor:
    entry = field.message_type
    assert entry is not None, field.name
    return entry.fields_by_name["value"]


def _one(field: FieldDescriptor, value: object, most_text: int) -> JsonValue:
    if isinstance(value, struct_pb2.Struct):
        return cast("JsonValue", MessageToDict(value))
    if isinstance(value, Message):
        return masked(value, most_text=most_text)
    if isinstance(value, bytes):
        return {"bytes": len(value)}
    if isinstance(value, str):
        return _text(value, most_text)
    if field.enum_type is not None and isinstance(value, int):
        return _enum(field, value)
    return cast("JsonValue", value)


def _text(value: str, most_text: int) -> str:
    if "@" in value[:MOST_TEXT] and _HTTP.match(_IGNORED.sub("", value[:MOST_TEXT])):
        value = without_credentials(value)
    return value if len(value) <= most_text else f"{value[:most_text]}… ({len(value)} characters)"


def without_credentials(url: str) -> str:
    """A URL whose user name and password, where it has them, are masked: for messages, events and logs.

    Reads it as browsers do (WHATWG URL): slashes before the host may be missing, or lean the other way; tabs and line
    ends do not count; the last @ before the path ends the credentials.
    """
    if "@" not in url:
        return url
    return _CREDENTIALS.sub(rf"\1{MASK}@", _IGNORED.sub("", url.strip()), count=1)


def _enum(field: FieldDescriptor, value: int) -> JsonValue:
    enum = field.enum_type
    assert enum is not None, field.name
    names = enum.values_by_number
    known, zero = names.get(value), names.get(0)
    if known is None or zero is None:
        return value
    # By the contract's lint rules the zero value is `<PREFIX>UNSPECIFIED`.
    return known.name.removeprefix(zero.name.removesuffix("UNSPECIFIED")).lower()
