"""Path and body of one call must not name different things."""

from __future__ import annotations

from collections.abc import Iterable
from typing import cast

from google.protobuf.descriptor import Descriptor, FieldDescriptor, OneofDescriptor
from google.protobuf.message import Message

from gateway.transcoding import forms
from gateway.transcoding.forms import OneofForm
from gateway.transcoding.mismatch import Mismatch


class Agreement:
    """Refuses an operation whose arguments contradict the path.

    `/sessions/{session_id}/tabs/{tab_id}/actions` fills the ids of its operation where they are empty: others there
    would act on what the path does not name.
    """

    def __init__(self, request: Descriptor, variables: Iterable[str]) -> None:
        self._names = [name for name in variables if "." not in name]
        self._operations = [field for field in request.fields if _operation_oneof(field) is not None]

    def check(self, request: Message) -> None:
        """Raises Mismatch when an argument has the name of a path variable and another value."""
        for field in self._operations if self._names else ():
            oneof = cast("OneofDescriptor", _operation_oneof(field))
            held: object = getattr(request, field.name)
            for operation in cast("Iterable[Message]", held if field.is_repeated else [held]):
                self._check_one(request, operation, oneof)

    def _check_one(self, request: Message, operation: Message, oneof: OneofDescriptor) -> None:
        arm = operation.WhichOneof(oneof.name)
        if arm is None:
            return
        arguments = cast("Message", getattr(operation, arm))
        known = forms.type_of(arguments).fields_by_name
        for name in self._names:
            if name not in known:
                continue
            given: object = getattr(arguments, name)
            path: object = getattr(request, name)
            if given not in (path, known[name].default_value):
                problem = f"the body says {given!r}, the path {path!r}"
                raise Mismatch(problem, expected=f"{path!r} or nothing", got=repr(given)).within(name).within("args")


def _operation_oneof(field: FieldDescriptor) -> OneofDescriptor | None:
    """The oneof of a field that holds an operation ({"op", "args"}); None for any other field."""
    if field.message_type is None:
        return None
    oneofs: Iterable[OneofDescriptor] = field.message_type.oneofs
    return next((oneof for oneof in oneofs if forms.oneof_form(oneof) is OneofForm.OP_ARGS), None)
