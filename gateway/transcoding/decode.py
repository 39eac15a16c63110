"""JSON values → messages, by plans made once a message type (SPEC §11): unknown fields and wrong types are refused."""

from __future__ import annotations

from collections.abc import Callable, MutableMapping
from typing import Protocol, TypeAlias, cast

from google.protobuf.descriptor import Descriptor, FieldDescriptor, OneofDescriptor
from google.protobuf.message import Message

from gateway.transcoding import forms, well_known
from gateway.transcoding.forms import FormError, OneofForm
from gateway.transcoding.mismatch import Mismatch, unknown_name, wrong_type
from gateway.transcoding.scalars import checker, from_text

Decode: TypeAlias = Callable[[Message, object], None]
Members: TypeAlias = "dict[str, object]"

_WELL_KNOWN: dict[str, Decode] = {
    forms.STRUCT: well_known.decode_struct,
    forms.VALUE: well_known.decode_value,
    forms.LIST_VALUE: well_known.decode_list,
}


class _Repeated(Protocol):
    def add(self) -> Message: ...
    def append(self, value: object, /) -> None: ...


class _Plan:
    """How one message is filled. Registered before it is filled itself, for types that hold themselves."""

    __slots__ = ("_fields", "_merged", "_names")

    def __init__(self) -> None:
        self._fields: dict[str, Decode] = {}
        # Forms that take several members of the object, each with the names it takes.
        self._merged: list[tuple[frozenset[str], Callable[[Message, Members], None]]] = []
        self._names: frozenset[str] = frozenset()

    def fill(self, message: Descriptor) -> None:
        for field in message.fields:
            if forms.is_flattened(field):
                self._merge_flattened(field)
            elif forms.real_oneof(field) is None:
                self._fields[field.name] = _field(field)
        for oneof in message.oneofs:
            self._add_oneof(oneof)
        merged = [name for names, _ in self._merged for name in names]
        self._names = frozenset([*self._fields, *merged])

    def names(self) -> frozenset[str]:
        """The names that this message takes from its object."""
        return self._names

    def decode(self, message: Message, value: object) -> None:
        if not isinstance(value, dict):
            raise wrong_type("object", value)
        members = cast("Members", value)
        fields = self._fields
        for name, member in members.items():
            field = fields.get(name)
            if field is not None:
                try:
                    field(message, member)
                except Mismatch as mismatch:
                    raise mismatch.within(name) from None
            elif name not in self._names:
                raise unknown_name("field", name, self._names).within(name)
        for _, merge in self._merged:
            merge(message, members)

    def _add_oneof(self, oneof: OneofDescriptor) -> None:
        if forms.real_oneof(oneof.fields[0]) is None:
            return
        form = forms.oneof_form(oneof)
        if form is OneofForm.OP_ARGS:
            self._merged.append((frozenset({"op", "args"}), _op_args(oneof)))
        elif form is OneofForm.TOOL:
            self._merged.append(_tool(oneof))
        elif form is OneofForm.FLATTEN_ARM:
            raise FormError(f"{oneof.full_name}: which arm is meant cannot be told from JSON")
        else:
            for arm in oneof.fields:
                if not forms.is_flattened(arm):
                    self._fields[arm.name] = _arm(oneof, arm)

    def _merge_flattened(self, field: FieldDescriptor) -> None:
        names, fill = _object_plan(forms.message_type(field))
        oneof = forms.real_oneof(field)

        def merge(message: Message, members: Members) -> None:
            mine = {name: members[name] for name in members.keys() & names}
            if mine:
                if oneof is not None:
                    _only_arm(message, oneof, field)
                fill(_submessage(message, field.name), mine)

        self._merged.append((names, merge))


_plans: dict[Descriptor, _Plan] = {}


def decoder(message: Descriptor) -> Decode:
    """The decoder of a message type: fills a message of that type from a JSON value, raising Mismatch."""
    if message.full_name in _WELL_KNOWN:
        return _WELL_KNOWN[message.full_name]
    if forms.is_grant(message):
        return _grant(message)
    return _plan(message).decode


def field_decoder(field: FieldDescriptor) -> Decode:
    """The decoder of one field: sets it in its message from a JSON value, raising Mismatch without the field's name."""
    return _field(field)


def text_decoder(field: FieldDescriptor) -> Callable[[Message, list[str]], None]:
    """Sets a scalar field from the texts of a query parameter or path variable; FormError for a message field."""
    if forms.is_message(field):
        raise FormError(f"{field.full_name} is a message and cannot be a parameter")
    convert = from_text(field)
    decode = _field(field)

    def from_texts(message: Message, texts: list[str]) -> None:
        if field.is_repeated:
            decode(message, [convert(text) for text in texts])
        elif len(texts) > 1:
            raise Mismatch(f"given {len(texts)} times, and takes one value", expected="one value")
        else:
            decode(message, convert(texts[0]))

    return from_texts


def _plan(message: Descriptor) -> _Plan:
    plan = _plans.get(message)
    if plan is None:
        plan = _plans[message] = _Plan()
        try:
            plan.fill(message)
        except FormError:
            del _plans[message]
            raise
    return plan


def _object_plan(message: Descriptor) -> tuple[frozenset[str], Decode]:
    """Names and decoder of a message whose form is an object of its fields."""
    if message.full_name in well_known.NAMES or forms.is_grant(message):
        raise FormError(f"{message.full_name} has a form of its own and cannot be flattened")
    plan = _plan(message)
    return plan.names(), plan.decode


def _submessage(message: Message, name: str) -> Message:
    """A message field, present from now on even when nothing is set in it."""
    inner = cast("Message", getattr(message, name))
    inner.SetInParent()
    return inner


def _field(field: FieldDescriptor) -> Decode:
    decode = _value(field)
    if not forms.is_secret(field):
        return decode

    def secret(message: Message, value: object) -> None:
        try:
            decode(message, value)
        except Mismatch as mismatch:
            raise mismatch.without_value() from None

    return secret


def _value(field: FieldDescriptor) -> Decode:
    if forms.is_map(field):
        return _map(field)
    if field.is_repeated:
        return _list(field)
    name = field.name
    if field.message_type is not None:
        inner = decoder(field.message_type)
        # To a Value null is a value; to any other message it says that there is none, as in our own answers.
        takes_null = field.message_type.full_name == forms.VALUE

        def message_value(message: Message, value: object) -> None:
            if value is None and not takes_null:
                message.ClearField(name)
            else:
                inner(_submessage(message, name), value)

        return message_value
    check = checker(field)
    if field.has_presence and forms.real_oneof(field) is None:

        def optional(message: Message, value: object) -> None:
            if value is None:
                message.ClearField(name)
            else:
                setattr(message, name, check(value))

        return optional

    def scalar(message: Message, value: object) -> None:
        setattr(message, name, check(value))

    return scalar


def _list(field: FieldDescriptor) -> Decode:
    name = field.name
    element = decoder(field.message_type) if field.message_type is not None else None
    check = checker(field) if element is None else None

    def decode(message: Message, value: object) -> None:
        if not isinstance(value, list):
            raise wrong_type("array", value)
        elements: _Repeated = getattr(message, name)
        for index, item in enumerate(cast("list[object]", value)):
            try:
                if element is not None:
                    element(elements.add(), item)
                elif check is not None:
                    elements.append(check(item))
            except Mismatch as mismatch:
                raise mismatch.within(index) from None

    return decode


def _map(field: FieldDescriptor) -> Decode:
    name = field.name
    entry = forms.message_type(field)
    key_field, value_field = entry.fields_by_name["key"], entry.fields_by_name["value"]
    to_key, check_key = from_text(key_field), checker(key_field)
    inner = decoder(value_field.message_type) if value_field.message_type is not None else None
    check = checker(value_field) if inner is None else None

    def decode(message: Message, value: object) -> None:
        if not isinstance(value, dict):
            raise wrong_type("object", value)
        entries = cast("MutableMapping[object, object]", getattr(message, name))
        for text, item in cast("Members", value).items():
            try:
                key = check_key(to_key(text))
                if inner is not None:
                    inner(cast("Message", entries[key]), item)
                elif check is not None:
                    entries[key] = check(item)
            except Mismatch as mismatch:
                raise mismatch.within(text) from None

    return decode


def _only_arm(message: Message, oneof: OneofDescriptor, arm: FieldDescriptor) -> None:
    present = message.WhichOneof(oneof.name)
    if present is not None and present != arm.name:
        raise Mismatch(f"{present} and {arm.name} exclude each other: give one of them", expected="one of them")


def _arm(oneof: OneofDescriptor, arm: FieldDescriptor) -> Decode:
    """An arm of a plain oneof: the second one given is refused, where protobuf would let it win."""
    decode = _field(arm)
    takes_null = arm.message_type is not None and arm.message_type.full_name != forms.VALUE

    def exclusive(message: Message, value: object) -> None:
        if value is None and takes_null:
            return
        _only_arm(message, oneof, arm)
        decode(message, value)

    return exclusive


def _op_args(oneof: OneofDescriptor) -> Callable[[Message, Members], None]:
    arms: dict[str, Decode] = {arm.name: decoder(forms.message_type(arm)) for arm in oneof.fields}

    def merge(message: Message, members: Members) -> None:
        name = _arm_name("op", "operation", members, arms)
        try:
            arms[name](_submessage(message, name), members.get("args", {}))
        except Mismatch as mismatch:
            raise mismatch.within("args") from None

    return merge


def _tool(oneof: OneofDescriptor) -> tuple[frozenset[str], Callable[[Message, Members], None]]:
    plans = {arm.name: _object_plan(forms.message_type(arm)) for arm in oneof.fields}
    arms: dict[str, Decode] = {name: decode for name, (_, decode) in plans.items()}
    names = frozenset({"tool"}).union(*(names for names, _ in plans.values()))

    def merge(message: Message, members: Members) -> None:
        name = _arm_name("tool", "tool", members, arms)
        inner = {key: value for key, value in members.items() if key in names and key != "tool"}
        arms[name](_submessage(message, name), inner)

    return names, merge


def _arm_name(key: str, kind: str, members: Members, arms: dict[str, Decode]) -> str:
    """The arm that `members[key]` names."""
    if key not in members:
        known = f": one of {', '.join(arms)}" if len(arms) <= 12 else ""
        raise Mismatch(f"missing{known}", expected="string").within(key)
    name = members[key]
    if not isinstance(name, str):
        raise wrong_type("string", name).within(key)
    if name not in arms:
        raise unknown_name(kind, name, arms).within(key)
    return name


def _grant(message: Descriptor) -> Decode:
    """`"click"`, `{"click": {"ask": true}}`, `{"navigate": {"allowed_domains": […]}}`."""
    set_capability = _field(message.fields_by_name["capability"])
    narrow = _grant_scope(message)

    def decode(grant: Message, value: object) -> None:
        if isinstance(value, str):
            set_capability(grant, value)
            return
        if not isinstance(value, dict):
            raise wrong_type('string, or object such as {"navigate": {"allowed_domains": […]}}', value)
        if len(members := cast("Members", value)) != 1:
            raise Mismatch(f"expected one capability an entry, got an object with {len(members)} members")
        ((capability, facts),) = members.items()
        set_capability(grant, capability)
        try:
            narrow(grant, capability, facts)
        except Mismatch as mismatch:
            raise mismatch.within(capability) from None

    return decode


def _grant_scope(message: Descriptor) -> Callable[[Message, str, object], None]:
    """What stands beside a capability: `ask`, and the fields of the scope that has the capability's name."""
    (scope,) = message.oneofs
    scopes = {arm.name: _object_plan(forms.message_type(arm)) for arm in scope.fields}
    set_ask = _field(message.fields_by_name["ask"])

    def narrow(grant: Message, capability: str, facts: object) -> None:
        if not isinstance(facts, dict):
            # null is not taken for "without a scope": that would be wider than what somebody meant to say.
            raise wrong_type("object", facts)
        members = dict(cast("Members", facts))
        names, fill = scopes.get(capability, (frozenset[str](), None))
        for name in members.keys() - names - {"ask"}:
            raise unknown_name("field", name, {*names, "ask"}).within(name)
        if "ask" in members:
            try:
                set_ask(grant, members.pop("ask"))
            except Mismatch as mismatch:
                raise mismatch.within("ask") from None
        if fill is not None and (members or not facts):
            fill(_submessage(grant, capability), members)

    return narrow
