"""The shapes every CDP command, event and object is made of.

A command is a struct whose fields are its parameters and whose type argument is its result; an event is a
struct whose fields are its parameters. Field names are the protocol's, in snake case. The modules of
`domains/` are the tables; an integration test compares them with the protocol that Chromium reports.
"""

from __future__ import annotations

from typing import ClassVar, Generic, TypeVar, cast, get_args

from msgspec import Raw, Struct
from msgspec.json import Decoder

JsonValue = None | bool | int | float | str | list["JsonValue"] | dict[str, "JsonValue"]
"""Anything JSON can hold, on its way to the browser. On its way back it is `Raw`: its reader decodes it."""


class CdpObject(Struct, rename="camel", omit_defaults=True, kw_only=True, gc=False):
    """An object inside a command, a result or an event. A parameter that is None is not sent."""


class Empty(CdpObject):
    """The result of a command that answers nothing, or nothing that is read here."""


class Event(CdpObject):
    """Base of all events."""

    METHOD: ClassVar[str]


R = TypeVar("R", bound=CdpObject)


class Command(CdpObject, Generic[R]):
    """Base of all commands; `R` is the type of the result."""

    METHOD: ClassVar[str]


class Failure(CdpObject):
    """The `error` member of an answer."""

    code: int
    message: str


class Incoming(CdpObject):
    """One message from the browser: an answer (`id`) or an event (`method`). The body is decoded only when wanted."""

    id: int | None = None
    method: str | None = None
    session_id: str | None = None
    params: Raw = Raw(b"{}")
    result: Raw = Raw(b"{}")
    error: Failure | None = None


class Outgoing(CdpObject):
    """One message to the browser."""

    id: int
    method: str
    params: CdpObject
    session_id: str | None = None


D = TypeVar("D", bound=CdpObject)

_decoders: dict[type[CdpObject], Decoder[CdpObject]] = {}
_result_types: dict[type[Command[CdpObject]], type[CdpObject]] = {}


def decoder_of(kind: type[D]) -> Decoder[D]:
    """The decoder of an event or a result, built once per type (so bounded by the tables)."""
    decoder = _decoders.get(kind)
    if decoder is None:
        decoder = _decoders[kind] = cast("Decoder[CdpObject]", Decoder(kind))
    return cast("Decoder[D]", decoder)


def result_decoder(command: type[Command[R]]) -> Decoder[R]:
    """The decoder of a command's result, which is the argument of its `Command[...]` base."""
    known = cast("type[Command[CdpObject]]", command)
    kind = _result_types.get(known)
    if kind is None:
        bases = cast("tuple[object, ...]", getattr(command, "__orig_bases__", ()))
        kind = _result_types[known] = cast("type[CdpObject]", get_args(bases[0])[0])
    return decoder_of(cast("type[R]", kind))
