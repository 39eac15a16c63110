"""The fields that a service complains of, as the caller wrote them: `operation.click.target` → `args.target`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import cast

from google.protobuf.descriptor import Descriptor, FieldDescriptor
from hyperkitty.operations.v1.errors_pb2 import ErrorCode

from gateway.transcoding import forms
from gateway.transcoding.forms import OneofForm
from services.kit.errors import Refusal
from services.kit.json_values import JsonValue


class FieldNames:
    """Translates a route's field paths from the contract's messages to its JSON."""

    def __init__(self, request: Descriptor, body: str) -> None:
        self._request = request
        bound = request.fields_by_name.get(body)
        self._body = bound if bound is not None and bound.message_type is not None else None

    def translate(self, refusal: Refusal) -> Refusal:
        """The refusal with the caller's names, when it complains of fields; another one as it is."""
        fields = refusal.details.get("fields")
        if refusal.code != ErrorCode.ERROR_CODE_INVALID_ARGUMENTS or not isinstance(fields, Sequence):
            return refusal
        named: list[JsonValue] = []
        message = refusal.message
        for each in fields:
            path = each.get("field") if isinstance(each, Mapping) else None
            if not isinstance(path, str):
                named.append(each)
                continue
            written = self.as_written(path)
            named.append({**cast("Mapping[str, JsonValue]", each), "field": written})
            if written and message.startswith(f"{path}:"):
                message = written + message.removeprefix(path)
        return Refusal(refusal.code, message, hint=refusal.hint, details={**refusal.details, "fields": named})

    def as_written(self, path: str) -> str:
        """A field's path in the JSON of this route; unknown names stay as they are."""
        segments = path.split(".")
        start = self._request
        if self._body is not None:
            inside = forms.message_type(self._body)
            if segments[0] == self._body.name:
                segments, start = segments[1:], inside
            elif _name(segments[0]) not in start.fields_by_name:
                # Some services check the operation by itself, and name its fields from there.
                start = inside
        if _name(segments[0]) not in start.fields_by_name and _is_argument(start, _name(segments[0])):
            # A service that runs an operation names the fields of its arguments, as it was given them.
            return ".".join(["args", *segments])
        return ".".join(_walk(start, segments))


def _is_argument(message: Descriptor, name: str) -> bool:
    """Whether an operation that `message` can hold takes an argument of this name."""
    for oneof in message.oneofs:
        form, held = forms.oneof_form(oneof), [forms.message_type(arm) for arm in oneof.fields if forms.is_message(arm)]
        if form is OneofForm.OP_ARGS and any(name in each.fields_by_name for each in held):
            return True
        if form is OneofForm.TOOL and any(_is_argument(each, name) for each in held):
            return True
    return False


def _walk(message: Descriptor, segments: list[str]) -> list[str]:
    written: list[str] = []
    current: Descriptor | None = message
    for place, segment in enumerate(segments):
        field = None if current is None else current.fields_by_name.get(_name(segment))
        if field is None:
            return written + segments[place:]
        form = _form(field)
        if form is OneofForm.OP_ARGS:
            written.append("args")
        elif form is not OneofForm.TOOL and not forms.is_flattened(field):
            written.append(segment)
        current = field.message_type
    return written


def _form(field: FieldDescriptor) -> OneofForm:
    oneof = forms.real_oneof(field)
    return OneofForm.PLAIN if oneof is None else forms.oneof_form(oneof)


def _name(segment: str) -> str:
    """A segment's field: `files[3]` → `files`."""
    return segment.partition("[")[0]
