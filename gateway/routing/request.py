"""The request message of a route: from its path, its query and its body (google.api.http)."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import cast

from google.protobuf.descriptor import Descriptor, FieldDescriptor
from google.protobuf.message import Message

from gateway.contract import Rpc
from gateway.routing.agreement import Agreement
from gateway.transcoding import forms
from gateway.transcoding.decode import Decode, decoder, field_decoder, text_decoder
from gateway.transcoding.forms import FormError
from gateway.transcoding.mismatch import Mismatch, unknown_name, wrong_type

WHOLE = "*"
"""The body is the request itself."""


class RequestReader:
    """Reads the request message of one route. `strict`: a field that no part of a call can set is a fault."""

    def __init__(self, rpc: Rpc, variables: Iterable[str], body: str, *, strict: bool = True) -> None:
        self._class = rpc.request_class
        request = forms.type_of(rpc.request_class())
        names = tuple(variables)
        self._variables = [_Variable(request, name) for name in names]
        self.takes_body = bool(body)
        self._body = _body_decoder(request, body) if body else None
        self._query = _query_decoders(request, body, names, strict=strict)
        self._agreement = Agreement(request, names)

    def read(self, values: Iterable[str], query: Iterable[tuple[str, str]], body: object) -> Message:
        """The request. Raises Mismatch; paths are those of the body, of a query parameter or of a path variable."""
        message = self._class()
        self._set_query(message, query)
        if self._body is not None:
            self._body(message, body)
        for variable, value in zip(self._variables, values, strict=True):
            variable.set(message, value)
        self._agreement.check(message)
        return message

    def _set_query(self, message: Message, query: Iterable[tuple[str, str]]) -> None:
        texts: dict[str, list[str]] = {}
        for name, text in query:
            texts.setdefault(name, []).append(text)
        for name, values in texts.items():
            decode = self._query.get(name)
            if decode is None:
                raise unknown_name("query parameter", name, self._query).within(name)
            try:
                decode(message, values)
            except Mismatch as mismatch:
                raise mismatch.within(name) from None


class _Variable:
    """A path variable: sets the field that its dotted path names."""

    def __init__(self, request: Descriptor, path: str) -> None:
        self._path = path
        self._parents, self._field = _resolve(request, path)
        self._decode = text_decoder(self._field)
        if self._field.is_repeated:
            raise FormError(f"the path variable {path} is a list")

    def set(self, message: Message, value: str) -> None:
        holder = message
        for parent in self._parents:
            holder = cast("Message", getattr(holder, parent))
            holder.SetInParent()
        name = self._field.name
        before: object = getattr(holder, name)
        try:
            self._decode(holder, [value])
        except Mismatch as mismatch:
            raise mismatch.within(self._path) from None
        after: object = getattr(holder, name)
        if before not in (after, self._field.default_value):
            raise Mismatch(
                f"the body says {before!r}, the path {after!r}", expected=f"{after!r} or nothing", got=repr(before)
            ).within(name)


def _resolve(request: Descriptor, path: str) -> tuple[list[str], FieldDescriptor]:
    """The names of the messages on the way to a dotted path's field, and the field."""
    *parents, last = path.split(".")
    holder = request
    for parent in parents:
        field = _existing(holder, parent, path)
        if field.is_repeated:
            raise FormError(f"the path variable {path} goes through a list")
        holder = forms.message_type(field)
    return parents, _existing(holder, last, path)


def _existing(holder: Descriptor, name: str, path: str) -> FieldDescriptor:
    if name not in holder.fields_by_name:
        raise FormError(f"{holder.full_name} has no field {name}, which the path variable {path} names")
    return holder.fields_by_name[name]


def _body_decoder(request: Descriptor, body: str) -> Decode:
    if body == WHOLE:
        return decoder(request)
    field = _existing(request, body, f"body {body}")
    decode = field_decoder(field)
    if not forms.is_message(field) or field.is_repeated:
        return decode

    def message_body(message: Message, value: object) -> None:
        # In a field null says that there is no message; a body that says so is none.
        if value is None:
            raise wrong_type("object", value)
        decode(message, value)

    return message_body


def _query_decoders(
    request: Descriptor, body: str, variables: tuple[str, ...], *, strict: bool
) -> dict[str, Callable[[Message, list[str]], None]]:
    """A decoder for each field that neither path nor body sets."""
    if body == WHOLE:
        return {}
    taken = {variable.partition(".")[0] for variable in variables} | {body}
    rest = [field for field in request.fields if field.name not in taken]
    messages = [field.full_name for field in rest if forms.is_message(field)]
    if strict and messages:
        raise FormError(f"nothing can set {messages}: bind them to the body")
    return {field.name: text_decoder(field) for field in rest if not forms.is_message(field)}
