"""Bounds of a field as JSON Schema says them, from its buf.validate rules, where JSON Schema has words for them."""

from __future__ import annotations

from typing import Any, TypeAlias, cast

from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import Message
from hyperkitty.buf.validate import validate_pb2

from services.kit.json_values import JsonValue

Schema: TypeAlias = "dict[str, JsonValue]"

# The generated stub does not say what the extension extends.
_RULES = cast("Any", validate_pb2).field
_TEXT = {"min_len": "minLength", "max_len": "maxLength", "pattern": "pattern", "max_bytes": "maxLength"}
_NUMBER = {"gte": "minimum", "lte": "maximum", "gt": "exclusiveMinimum", "lt": "exclusiveMaximum"}
_LIST = {"min_items": "minItems", "max_items": "maxItems", "unique": "uniqueItems"}


def rules_of(field: FieldDescriptor) -> validate_pb2.FieldRules:
    """A field's rules; none of them set where it has none."""
    return cast("validate_pb2.FieldRules", field.GetOptions().Extensions[_RULES])


def is_required(field: FieldDescriptor) -> bool:
    """Whether a request without the field is refused."""
    return rules_of(field).required


def value_bounds(field: FieldDescriptor) -> Schema:
    """Of a single value; of one element, where the field is a list."""
    rules = rules_of(field)
    return _bounds(rules.repeated.items if field.is_repeated else rules)


def list_bounds(field: FieldDescriptor) -> Schema:
    """Of the list itself."""
    return _named(rules_of(field).repeated, _LIST)


def _bounds(rules: validate_pb2.FieldRules) -> Schema:
    kind = rules.WhichOneof("type")
    if kind is None:
        return {}
    typed = cast("Message", getattr(rules, kind))
    if kind == "string":
        return _named(typed, _TEXT)
    if kind in ("int32", "int64", "uint32", "uint64", "double", "float"):
        return _named(typed, _NUMBER)
    return {}


def _named(rules: Message, names: dict[str, str]) -> Schema:
    return {names[field.name]: value for field, value in rules.ListFields() if field.name in names}
