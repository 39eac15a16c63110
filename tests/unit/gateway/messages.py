"""Hypothesis strategies for messages of any type, driven by descriptors."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from operator import attrgetter
from typing import cast

from google.protobuf import message_factory, struct_pb2
from google.protobuf.descriptor import Descriptor, FieldDescriptor
from google.protobuf.message import Message
from hypothesis import strategies as st

from gateway.transcoding import forms
from gateway.transcoding.forms import OneofForm

TEXT = st.text(st.characters(exclude_categories=("Cs",)), max_size=12)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.floats(allow_nan=False, allow_infinity=False) | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=8,
)
SCALARS: dict[int, st.SearchStrategy[object]] = {
    FieldDescriptor.CPPTYPE_INT32: st.integers(-(2**31), 2**31 - 1),
    FieldDescriptor.CPPTYPE_INT64: st.integers(-(2**63), 2**63 - 1),
    FieldDescriptor.CPPTYPE_UINT32: st.integers(0, 2**32 - 1),
    FieldDescriptor.CPPTYPE_UINT64: st.integers(0, 2**64 - 1),
    FieldDescriptor.CPPTYPE_BOOL: st.booleans(),
    FieldDescriptor.CPPTYPE_DOUBLE: st.floats(allow_nan=False, allow_infinity=False),
    FieldDescriptor.CPPTYPE_FLOAT: st.floats(allow_nan=False, allow_infinity=False, width=32),
}


def messages(descriptor: Descriptor, depth: int = 3) -> st.SearchStrategy[Message]:
    """Any message of the type; below `depth` levels no further messages are set where none must be."""
    if descriptor.full_name == forms.STRUCT:
        return st.dictionaries(TEXT, JSON, max_size=3).map(_struct)
    return st.composite(_fill)(descriptor, depth)


def _struct(value: Mapping[str, object]) -> Message:
    struct = struct_pb2.Struct()
    struct.update(cast("dict[str, str]", value))
    return struct


def _fill(draw: Callable[..., object], descriptor: Descriptor, depth: int) -> Message:
    message = message_factory.GetMessageClass(descriptor)()
    for field in descriptor.fields:
        if forms.real_oneof(field) is None and not forms.is_envelope(field):
            _set(draw, message, field, depth)
    for oneof in descriptor.oneofs:
        if forms.real_oneof(oneof.fields[0]) is None:
            continue
        must = forms.oneof_form(oneof) in (OneofForm.OP_ARGS, OneofForm.TOOL)
        arms = list(oneof.fields) if must or depth > 0 else [arm for arm in oneof.fields if not forms.is_message(arm)]
        if forms.is_grant(descriptor):
            # A scope goes with the capability of its name alone.
            arms = [arm for arm in arms if arm.name == attrgetter("capability")(message)]
        if arms and (must or draw(st.booleans())):
            arm = cast("FieldDescriptor", draw(st.sampled_from(arms)))
            _set(draw, message, arm, depth, always=True)
            if forms.is_grant(descriptor) and not getattr(message, arm.name).ListFields():
                # {"navigate": {"ask": true}} has no scope: an empty one says the same.
                message.ClearField(arm.name)
    return message


def _set(
    draw: Callable[..., object], message: Message, field: FieldDescriptor, depth: int, *, always: bool = False
) -> None:
    if not always and not draw(st.booleans()):
        return
    if forms.is_map(field):
        entries = getattr(message, field.name)
        value = forms.message_type(field).fields_by_name["value"]
        for key in cast("list[str]", draw(st.lists(TEXT, max_size=2, unique=True))):
            if value.message_type is not None:
                entries[key].CopyFrom(draw(messages(value.message_type, depth - 1)))
            else:
                entries[key] = draw(_scalar(value))
    elif field.message_type is not None:
        if field.is_repeated:
            if depth > 0:
                getattr(message, field.name).extend(draw(st.lists(messages(field.message_type, depth - 1), max_size=2)))
        elif depth > 0 or always:
            inner = getattr(message, field.name)
            inner.SetInParent()
            inner.CopyFrom(draw(messages(field.message_type, depth - 1)))
    elif field.is_repeated:
        getattr(message, field.name).extend(draw(st.lists(_scalar(field), max_size=3)))
    else:
        setattr(message, field.name, draw(_scalar(field)))


def _scalar(field: FieldDescriptor) -> st.SearchStrategy[object]:
    if field.type == FieldDescriptor.TYPE_BYTES:
        return st.binary(max_size=12)
    if field.enum_type is not None:
        return st.sampled_from([value.number for value in field.enum_type.values])
    if field.name == "capability":
        return st.sampled_from(["click", "navigate", "get_cookies"])
    return SCALARS.get(field.cpp_type, TEXT)
