"""How long a call may take, from its request: the contract's defaults, and what the caller names (SPEC §4, §6).

One deadline a call, which travels as the gRPC deadline and shrinks through every hop. It is a little longer than what
the caller named, so that the service that acts answers `deadline_exceeded` itself and the record has its reason.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeAlias, cast

from google.protobuf.descriptor import Descriptor, FieldDescriptor, OneofDescriptor
from google.protobuf.message import Message
from hyperkitty.options.v1 import options_pb2

from gateway.contract import Rpc
from gateway.transcoding import forms
from gateway.transcoding.forms import OneofForm

DEFAULT_MS = 30_000
AGENT_MS = 45_000
LONGEST_MS = 120_000
SLACK_MS = 150

_TIMEOUT = "timeout_ms"
_WAIT = "wait_ms"

Milliseconds: TypeAlias = Callable[[Message], int]
"""What a message names, in milliseconds; 0 when it names nothing."""


def deadline_of(rpc: Rpc) -> Callable[[Message], float]:
    """A function that gives the deadline of one request of the rpc, in seconds from now."""
    request = rpc.method.input_type
    through_agent = _has_tool(request)
    # An action's own deadline holds for an operation that names none.
    named = _named(request, defaults=not through_agent)
    wait = request.fields_by_name.get(_WAIT)

    def seconds(message: Message) -> float:
        given = max(named(message), 0) if named is not None else 0
        if through_agent:
            limit = min(given, AGENT_MS) or AGENT_MS
        else:
            limit = min(given, LONGEST_MS) or DEFAULT_MS
        waits = cast("int", getattr(message, _WAIT)) if wait is not None else 0
        return (limit + min(max(waits, 0), LONGEST_MS) + SLACK_MS) / 1000

    return seconds


def _has_tool(request: Descriptor) -> bool:
    return forms.walk(
        request,
        lambda field: (oneof := forms.real_oneof(field)) is not None and forms.oneof_form(oneof) is OneofForm.TOOL,
    )


def _named(message: Descriptor, *, defaults: bool) -> Milliseconds | None:
    """Reads `timeout_ms` of the message, of its operation, or the sum of its operations'; None when it has none.

    `defaults`: an operation that names none counts with the contract's default.
    """
    own = message.fields_by_name.get(_TIMEOUT)
    if own is not None and not own.is_repeated and own.cpp_type == FieldDescriptor.CPPTYPE_INT32:
        return lambda each: cast("int", getattr(each, _TIMEOUT))
    oneofs: Iterable[OneofDescriptor] = message.oneofs
    for oneof in oneofs:
        if forms.oneof_form(oneof) in (OneofForm.OP_ARGS, OneofForm.TOOL):
            return _of_arm(oneof, defaults=defaults)
    fields: Iterable[FieldDescriptor] = message.fields
    for field in fields:
        if field.message_type is not None and not forms.is_map(field) and _names_one(field.message_type):
            return _of_field(field, defaults=defaults)
    return None


def _names_one(message: Descriptor) -> bool:
    """Whether a field of this type is what the call runs: it names a time itself, or is an operation."""
    oneofs: Iterable[OneofDescriptor] = message.oneofs
    return _TIMEOUT in message.fields_by_name or any(
        forms.oneof_form(oneof) in (OneofForm.OP_ARGS, OneofForm.TOOL) for oneof in oneofs
    )


def _of_arm(oneof: OneofDescriptor, *, defaults: bool) -> Milliseconds:
    readers = {arm.name: _named(forms.message_type(arm), defaults=defaults) for arm in oneof.fields}
    declared = {
        arm.name: arm.GetOptions().Extensions[options_pb2.operation].default_timeout_ms if defaults else 0
        for arm in oneof.fields
    }
    name = oneof.name

    def read(message: Message) -> int:
        arm = message.WhichOneof(name)
        if arm is None:
            return 0
        reader = readers[arm]
        given = reader(cast("Message", getattr(message, arm))) if reader is not None else 0
        return given or declared[arm]

    return read


def _of_field(field: FieldDescriptor, *, defaults: bool) -> Milliseconds | None:
    reader = _named(forms.message_type(field), defaults=defaults)
    if reader is None:
        return None
    name = field.name
    if field.is_repeated:
        return lambda message: sum(reader(each) for each in cast("Iterable[Message]", getattr(message, name)))
    return lambda message: reader(cast("Message", getattr(message, name)))
