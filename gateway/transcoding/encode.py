"""Messages → JSON values, by plans made once a message type (SPEC §11).

Every field is present: defaults and empty lists as they are, unset messages and optional scalars as null. Absent are
the unset arms of a oneof, and unset messages beside a flattened field: there the object is another message's.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from operator import attrgetter
from typing import TypeAlias, cast

from google.protobuf.descriptor import Descriptor, FieldDescriptor, OneofDescriptor
from google.protobuf.message import Message

from gateway.transcoding import forms, well_known
from gateway.transcoding.forms import FormError, OneofForm
from gateway.transcoding.scalars import Scalar, writer
from services.kit.json_values import JsonValue

Members: TypeAlias = "dict[str, JsonValue]"
Encode: TypeAlias = Callable[[Message], JsonValue]
EncodeObject: TypeAlias = Callable[[Message], Members]
Step: TypeAlias = Callable[[Message, Members], None]

_WELL_KNOWN: dict[str, Encode] = {
    forms.STRUCT: well_known.encode_struct,
    forms.VALUE: well_known.encode_value,
    forms.LIST_VALUE: well_known.encode_list,
}


class _Plan:
    """The steps that fill one message's JSON object. Registered before it is filled, for types that hold themselves."""

    __slots__ = ("steps",)

    def __init__(self) -> None:
        self.steps: list[Step] = []

    def encode(self, message: Message) -> Members:
        members: Members = {}
        for step in self.steps:
            step(message, members)
        return members


_plans: dict[Descriptor, _Plan] = {}


def encoder(message: Descriptor) -> Encode:
    """The encoder of a message type."""
    if message.full_name in _WELL_KNOWN:
        return _WELL_KNOWN[message.full_name]
    return _grant_encoder(message) if forms.is_grant(message) else object_encoder(message)


def object_encoder(message: Descriptor) -> EncodeObject:
    """The encoder of a message type whose form is an object of its fields; FormError for another."""
    if message.full_name in well_known.NAMES or forms.is_grant(message):
        raise FormError(f"{message.full_name} has a form of its own and cannot be flattened")
    plan = _plans.get(message)
    if plan is None:
        plan = _plans[message] = _Plan()
        plan.steps.extend(_steps(message, [field for field in message.fields if not forms.is_envelope(field)]))
        _check_names(message)
    return plan.encode


def envelope_encoder(message: Descriptor) -> EncodeObject | None:
    """The encoder of the fields that stand in an answer's envelope; None when there are none."""
    fields = [field for field in message.fields if forms.is_envelope(field)]
    if not fields:
        return None
    plan = _Plan()
    plan.steps.extend(_steps(message, fields))
    return plan.encode


def encode_present(message: Message) -> Members:
    """Only the fields that are set, at the top level; for streams whose messages have parts (SPEC §11, WebSocket)."""
    whole = object_encoder(forms.type_of(message))(message)
    present = {field.name for field, _ in message.ListFields()}
    return {name: value for name, value in whole.items() if name in present}


def field_encoder(field: FieldDescriptor) -> Encode:
    """The encoder of one field of a message, unset messages as their defaults: for `response_body`."""
    name = field.name
    if forms.is_message(field) and not field.is_repeated:
        encode = encoder(forms.message_type(field))
        return lambda message: encode(cast("Message", getattr(message, name)))
    step = _field_step(field, beside_flattened=False)

    def encode_field(message: Message) -> JsonValue:
        members: Members = {}
        step(message, members)
        return members[name]

    return encode_field


def _steps(message: Descriptor, fields: Sequence[FieldDescriptor]) -> list[Step]:
    oneofs = {field.name: oneof for field in fields if (oneof := forms.real_oneof(field)) is not None}
    flattens = any(forms.is_flattened(field) for field in fields) or any(
        forms.oneof_form(oneof) is OneofForm.FLATTEN_ARM for oneof in oneofs.values()
    )
    steps: list[Step] = []
    done: set[str] = set()
    for field in fields:
        oneof = oneofs.get(field.name)
        if oneof is None:
            steps.append(_field_step(field, beside_flattened=flattens))
        elif oneof.name not in done:
            done.add(oneof.name)
            steps.append(_oneof_step(oneof))
    return steps


def _field_step(field: FieldDescriptor, *, beside_flattened: bool) -> Step:
    if forms.is_flattened(field):
        return _flattened_step(field)
    if forms.is_map(field):
        return _map_step(field)
    if field.is_repeated:
        return _list_step(field)
    if field.has_presence:
        return _presence_step(field, leave_out=beside_flattened)
    name = field.name
    write = writer(field)
    if write is None:

        def plain(message: Message, members: Members) -> None:
            members[name] = getattr(message, name)

        return plain

    def written(message: Message, members: Members) -> None:
        members[name] = cast("JsonValue", write(getattr(message, name)))

    return written


def _single(field: FieldDescriptor) -> Encode:
    """The encoder of one value (of one element, when repeated), message or scalar."""
    if field.message_type is not None:
        return encoder(field.message_type)
    write = writer(field)
    return cast("Encode", write if write is not None else _as_it_is)


def _as_it_is(value: Scalar) -> Scalar:
    return value


def _presence_step(field: FieldDescriptor, *, leave_out: bool) -> Step:
    name = field.name
    encode = _single(field)

    def step(message: Message, members: Members) -> None:
        if message.HasField(name):
            members[name] = encode(getattr(message, name))
        elif not leave_out:
            members[name] = None

    return step


def _flattened_step(field: FieldDescriptor) -> Step:
    name = field.name
    encode = object_encoder(forms.message_type(field))

    def step(message: Message, members: Members) -> None:
        members.update(encode(getattr(message, name)))

    return step


def _list_step(field: FieldDescriptor) -> Step:
    name = field.name
    if field.message_type is None and writer(field) is None:

        def plain(message: Message, members: Members) -> None:
            members[name] = list(getattr(message, name))

        return plain
    encode = _single(field)

    def step(message: Message, members: Members) -> None:
        members[name] = [encode(element) for element in getattr(message, name)]

    return step


def _map_step(field: FieldDescriptor) -> Step:
    name = field.name
    entry = forms.message_type(field)
    encode = _single(entry.fields_by_name["value"])

    def step(message: Message, members: Members) -> None:
        items = cast("Mapping[object, Message]", getattr(message, name)).items()
        members[name] = {_key(key): encode(value) for key, value in items}

    return step


def _key(key: object) -> str:
    return str(key).lower() if isinstance(key, bool) else str(key)


def _oneof_step(oneof: OneofDescriptor) -> Step:
    name = oneof.name
    form = forms.oneof_form(oneof)
    if form is OneofForm.PLAIN:
        return _plain_oneof_step(oneof)
    if form is OneofForm.OP_ARGS:
        arguments = {arm.name: encoder(forms.message_type(arm)) for arm in oneof.fields}

        def op_args(message: Message, members: Members) -> None:
            arm = message.WhichOneof(name)
            if arm is not None:
                members["op"] = arm
                members["args"] = arguments[arm](getattr(message, arm))

        return op_args
    contents = {arm.name: object_encoder(forms.message_type(arm)) for arm in oneof.fields}

    def content(message: Message, members: Members) -> None:
        arm = message.WhichOneof(name)
        if arm is not None:
            if form is OneofForm.TOOL:
                members["tool"] = arm
            members.update(contents[arm](getattr(message, arm)))

    return content


def _plain_oneof_step(oneof: OneofDescriptor) -> Step:
    name = oneof.name
    arms = {arm.name: _single(arm) for arm in oneof.fields if not forms.is_flattened(arm)}
    flattened = {arm.name: object_encoder(forms.message_type(arm)) for arm in oneof.fields if forms.is_flattened(arm)}

    def step(message: Message, members: Members) -> None:
        arm = message.WhichOneof(name)
        if arm in arms:
            members[arm] = arms[arm](getattr(message, arm))
        elif arm is not None:
            members.update(flattened[arm](getattr(message, arm)))

    return step


def _grant_encoder(message: Descriptor) -> Encode:
    """`"click"`, or `{"click": {…what is set of the scope, "ask": true}}`."""
    (scope,) = message.oneofs
    scopes = {arm.name: object_encoder(forms.message_type(arm)) for arm in scope.fields}
    get_capability, get_ask = attrgetter("capability"), attrgetter("ask")

    def encode(grant: Message) -> JsonValue:
        capability = cast("str", get_capability(grant))
        arm = grant.WhichOneof(scope.name)
        facts: Members = {}
        if arm is not None and arm == capability:
            narrowed = cast("Message", getattr(grant, arm))
            present = {field.name for field, _ in narrowed.ListFields()}
            facts.update({name: value for name, value in scopes[arm](narrowed).items() if name in present})
        if get_ask(grant):
            facts["ask"] = True
        return {capability: facts} if facts or arm is not None else capability

    return encode


def _check_names(message: Descriptor) -> None:
    """Two parts of a message must not claim the same name; FormError when they do."""
    names = [name for part in _parts(message) for name in part]
    twice = {name for name in names if names.count(name) > 1}
    if twice:
        raise FormError(f"{message.full_name}: two of its parts are both called {sorted(twice)} in JSON")


def _parts(message: Descriptor) -> list[set[str]]:
    """The names that each part of a message brings into its JSON object; arms of a oneof count as one part."""
    parts: list[set[str]] = []
    for oneof in message.oneofs:
        arms = [arm for arm in oneof.fields if forms.real_oneof(arm) is not None]
        form = forms.oneof_form(oneof)
        if form is OneofForm.OP_ARGS:
            parts.append({"op", "args"})
        elif form is OneofForm.PLAIN:
            parts.append({name for arm in arms for name in _names(arm)})
        else:
            inner = {name for arm in arms for part in _parts(forms.message_type(arm)) for name in part}
            parts.append(inner | ({"tool"} if form is OneofForm.TOOL else set()))
    parts.extend(_names(field) for field in message.fields if forms.real_oneof(field) is None)
    return parts


def _names(field: FieldDescriptor) -> set[str]:
    if forms.is_envelope(field):
        return set()
    if forms.is_flattened(field):
        return {name for part in _parts(forms.message_type(field)) for name in part}
    return {field.name}
