"""JSON Schemas of the contract's messages, in the form that transcoding gives them (encode.py, decode.py).

A message has one schema as it is sent (`…Input`: unknown names refused, bounds told) and one as it is answered (every
field present).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import cast

from google.protobuf.descriptor import Descriptor, FieldDescriptor, OneofDescriptor

from gateway.openapi.bounds import Schema, is_required, list_bounds, value_bounds
from gateway.transcoding import forms
from gateway.transcoding.forms import FormError, OneofForm
from services.kit.capabilities import comments
from services.kit.json_values import JsonValue

_WELL_KNOWN: dict[str, Schema] = {
    forms.STRUCT: {"type": "object"},
    forms.VALUE: {},
    forms.LIST_VALUE: {"type": "array"},
}
_SCALARS: dict[int, Schema] = {
    FieldDescriptor.CPPTYPE_INT32: {"type": "integer", "format": "int32"},
    FieldDescriptor.CPPTYPE_INT64: {"type": "integer", "format": "int64"},
    FieldDescriptor.CPPTYPE_UINT32: {"type": "integer", "minimum": 0},
    FieldDescriptor.CPPTYPE_UINT64: {"type": "integer", "minimum": 0},
    FieldDescriptor.CPPTYPE_BOOL: {"type": "boolean"},
    FieldDescriptor.CPPTYPE_DOUBLE: {"type": "number"},
    FieldDescriptor.CPPTYPE_FLOAT: {"type": "number"},
    FieldDescriptor.CPPTYPE_STRING: {"type": "string"},
}


class Schemas:
    """The schemas that a document refers to, made as they are asked for. `sent`: of requests, else of answers."""

    def __init__(self, *, sent: bool) -> None:
        self._sent = sent
        self.components: Schema = {}
        self._names: dict[str, str] = {}

    def of(self, message: Descriptor) -> Schema:
        """A message's schema: a reference to its component, or what a well-known type is."""
        if message.full_name in _WELL_KNOWN:
            return dict(_WELL_KNOWN[message.full_name])
        name = message.name + ("Input" if self._sent else "")
        if self._names.setdefault(name, message.full_name) != message.full_name:
            raise FormError(f"{self._names[name]} and {message.full_name} have the same name in OpenAPI")
        if name not in self.components:
            self.components[name] = {}  # found by messages that hold themselves
            schema = self._grant(message) if forms.is_grant(message) else self.object(message, message.fields)
            self.components[name] = {**described(message.full_name), **schema}
        return {"$ref": f"#/components/schemas/{name}"}

    def object(self, message: Descriptor, fields: Sequence[FieldDescriptor]) -> Schema:
        """The object that these fields of a message make, inline."""
        shown = [field for field in fields if self._sent or not forms.is_envelope(field)]
        oneofs = {oneof.name: oneof for field in shown if (oneof := forms.real_oneof(field)) is not None}
        merged = [part for oneof in oneofs.values() for part in self._merged_arms(oneof)]
        plain = [field for field in shown if forms.real_oneof(field) is None]
        merged += [self.of(forms.message_type(field)) for field in plain if forms.is_flattened(field)]
        arms = [arm for oneof in oneofs.values() if forms.oneof_form(oneof) is OneofForm.PLAIN for arm in oneof.fields]
        merged += [self._optional(forms.message_type(arm)) for arm in arms if forms.is_flattened(arm)]
        own = [field for field in (*plain, *arms) if not forms.is_flattened(field)]
        return self._joined(own, beside=bool(merged), merged=merged)

    def _joined(self, own: list[FieldDescriptor], *, beside: bool, merged: list[Schema]) -> Schema:
        schema: Schema = {"type": "object"}
        if own:
            schema["properties"] = {field.name: self.field(field) for field in own}
        required = [field.name for field in own if self._is_required(field, beside=beside)]
        if required:
            schema["required"] = cast("JsonValue", required)
        if merged:
            parts = [schema, *merged] if own else merged
            return parts[0] if len(parts) == 1 else {"allOf": cast("JsonValue", parts)}
        if self._sent:
            schema["additionalProperties"] = False
        return schema

    def _optional(self, message: Descriptor) -> Schema:
        """A message whose fields may stand here or not."""
        return {"anyOf": [self.of(message), {"type": "object"}]}

    def _is_required(self, field: FieldDescriptor, *, beside: bool) -> bool:
        if self._sent:
            return is_required(field)
        # See encode.py: unset arms are absent, and so are unset messages beside a flattened field.
        return forms.real_oneof(field) is None and not (beside and field.has_presence)

    def field(self, field: FieldDescriptor) -> Schema:
        """One field's value."""
        about = described(field.full_name)
        if forms.is_map(field):
            value = forms.message_type(field).fields_by_name["value"]
            return {**about, "type": "object", "additionalProperties": self._single(value)}
        if field.is_repeated:
            return {**about, **self._told(list_bounds(field)), "type": "array", "items": self._single(field)}
        single = self._single(field)
        if field.has_presence and forms.real_oneof(field) is None:
            return {**about, "anyOf": [single, {"type": "null"}]}
        return {**about, **single}

    def _told(self, bounds: Schema) -> Schema:
        return bounds if self._sent else {}

    def _single(self, field: FieldDescriptor) -> Schema:
        if field.message_type is not None:
            return self.of(field.message_type)
        return scalar(field, bounded=self._sent)

    def _merged_arms(self, oneof: OneofDescriptor) -> Iterable[Schema]:
        """What a oneof brings into its message's object by itself; a plain one brings its arms as fields."""
        form = forms.oneof_form(oneof)
        held = [(arm, forms.message_type(arm)) for arm in oneof.fields if forms.is_message(arm)]
        if form is OneofForm.OP_ARGS:
            yield {"oneOf": [self._op(arm, message) for arm, message in held]}
        elif form is OneofForm.TOOL:
            yield {"oneOf": [self._tool(arm, message) for arm, message in held]}
        elif form is OneofForm.FLATTEN_ARM:
            yield {"anyOf": [self.of(message) for _, message in held]}

    def _op(self, arm: FieldDescriptor, message: Descriptor) -> Schema:
        return {
            **described(message.full_name),
            "type": "object",
            "properties": {"op": {"const": arm.name}, "args": self.of(message)},
            "required": ["op"],
            "additionalProperties": False,
        }

    def _tool(self, arm: FieldDescriptor, message: Descriptor) -> Schema:
        """A tool's own {op, args} with the tool's name beside it."""
        (oneof,) = message.oneofs
        ways: list[Schema] = []
        for operation in oneof.fields:
            way = self._op(operation, forms.message_type(operation))
            properties = cast("Schema", way["properties"])
            ways.append({**way, "properties": {"tool": {"const": arm.name}, **properties}, "required": ["tool", "op"]})
        return {**described(arm.full_name), "oneOf": cast("JsonValue", ways)}

    def _grant(self, message: Descriptor) -> Schema:
        """`"click"`, or one capability with what narrows it."""
        (scope,) = message.oneofs
        name = scalar(message.fields_by_name["capability"], bounded=self._sent)
        ask = self.field(message.fields_by_name["ask"])
        narrowed: Schema = {}
        for arm in scope.fields:
            inner = forms.message_type(arm)
            properties: Schema = {field.name: self.field(field) for field in inner.fields}
            narrowed[arm.name] = {
                **described(inner.full_name),
                "type": "object",
                "properties": {**properties, "ask": ask},
                "additionalProperties": False,
            }
        asking: Schema = {"type": "object", "properties": {"ask": ask}, "additionalProperties": False}
        one: Schema = {
            "type": "object",
            "properties": narrowed,
            "additionalProperties": asking,
            "minProperties": 1,
            "maxProperties": 1,
        }
        return {"oneOf": [name, one]}


def scalar(field: FieldDescriptor, *, bounded: bool) -> Schema:
    """One value of a field that holds no messages."""
    if field.enum_type is not None:
        return {"type": "string", "enum": cast("JsonValue", list(forms.enum_names(field.enum_type).values()))}
    if field.type == FieldDescriptor.TYPE_BYTES:
        return {"type": "string", "contentEncoding": "base64"}
    return {**_SCALARS[field.cpp_type], **(value_bounds(field) if bounded else {})}


def described(full_name: str) -> Schema:
    """The contract's comment, as a description."""
    comment = comments().get(full_name, "")
    return {"description": comment} if comment else {}
