"""What descriptors say about the JSON form of a message: the contract's options, read once."""

from __future__ import annotations

import re
from collections.abc import Callable
from enum import Enum
from functools import cache
from typing import cast

from google.protobuf.descriptor import Descriptor, EnumDescriptor, FieldDescriptor, OneofDescriptor
from google.protobuf.message import Message
from hyperkitty.options.v1 import options_pb2

STRUCT = "google.protobuf.Struct"
VALUE = "google.protobuf.Value"
LIST_VALUE = "google.protobuf.ListValue"

_WORD = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")


class FormError(Exception):
    """The contract asks for a JSON form that cannot be: a fault of the contract, found when its plans are made."""


class OneofForm(Enum):
    """How a oneof stands in its message's JSON object."""

    PLAIN = "the arm that is set, under its name"
    OP_ARGS = '{"op": <arm>, "args": {…}}'
    TOOL = '{"tool": <arm>, …the arm\'s own form}'
    FLATTEN_ARM = "the fields of the arm that is set"


def oneof_form(oneof: OneofDescriptor) -> OneofForm:
    """The form that the contract gives a oneof."""
    extensions = oneof.GetOptions().Extensions
    if extensions[options_pb2.op_args]:
        return OneofForm.OP_ARGS
    if extensions[options_pb2.tool]:
        return OneofForm.TOOL
    if extensions[options_pb2.flatten_arm]:
        return OneofForm.FLATTEN_ARM
    return OneofForm.PLAIN


def real_oneof(field: FieldDescriptor) -> OneofDescriptor | None:
    """The oneof a field is an arm of; None also for the one that protoc makes up for an `optional` field."""
    oneof = field.containing_oneof
    return None if oneof is None or oneof.name == f"_{field.name}" else oneof


def type_of(message: Message) -> Descriptor:
    """The type of a message."""
    # The stubs name the C implementation's class beside the one it stands for.
    return cast("Descriptor", message.DESCRIPTOR)


def is_flattened(field: FieldDescriptor) -> bool:
    """The field's own fields stand in place of it."""
    return field.GetOptions().Extensions[options_pb2.json].flatten


def is_envelope(field: FieldDescriptor) -> bool:
    """The field stands beside operation_id in an answer's envelope."""
    return field.GetOptions().Extensions[options_pb2.json].envelope


def is_secret(field: FieldDescriptor) -> bool:
    """The field's value must not be repeated in an error."""
    return field.GetOptions().debug_redact


def is_grant(message: Descriptor) -> bool:
    """The message has the form `"name"` or `{"name": {…}}`."""
    return message.GetOptions().Extensions[options_pb2.grant_form]


def is_map(field: FieldDescriptor) -> bool:
    """The field is a map."""
    entry = field.message_type
    return entry is not None and field.is_repeated and entry.GetOptions().map_entry


def is_message(field: FieldDescriptor) -> bool:
    """The field holds messages (maps included)."""
    return field.message_type is not None


def message_type(field: FieldDescriptor) -> Descriptor:
    """The type of a message field; FormError for another."""
    if field.message_type is None:
        raise FormError(f"{field.full_name} is not a message, and its JSON form needs one")
    return field.message_type


def enum_type(field: FieldDescriptor) -> EnumDescriptor:
    """The type of an enum field; FormError for another."""
    if field.enum_type is None:
        raise FormError(f"{field.full_name} is not an enum")
    return field.enum_type


@cache
def enum_names(enum: EnumDescriptor) -> dict[int, str]:
    """Number → name in JSON: lower case, without the enum's own name before it (buf's ENUM_VALUE_PREFIX rule)."""
    prefix = _WORD.sub("_", enum.name).upper() + "_"
    return {value.number: value.name.removeprefix(prefix).lower() for value in enum.values}


def walk(message: Descriptor, visit: Callable[[FieldDescriptor], bool]) -> bool:
    """Whether `visit` is true for a field of the message or of any message below it."""
    seen: set[Descriptor] = set()
    waiting = [message]
    while waiting:
        current = waiting.pop()
        if current in seen:
            continue
        seen.add(current)
        for field in current.fields:
            if visit(field):
                return True
            if field.message_type is not None:
                waiting.append(field.message_type)
    return False
