"""google.api.http rules, typed: googleapis-common-protos ships no stubs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, cast

from google.api import annotations_pb2  # pyright: ignore[reportMissingTypeStubs]
from google.protobuf.descriptor import MethodDescriptor

_HTTP = cast("Any", annotations_pb2).http


class _Rule(Protocol):
    body: str
    response_body: str

    @property
    def additional_bindings(self) -> Sequence[_Rule]: ...
    def WhichOneof(self, oneof: str, /) -> str | None: ...


@dataclass(frozen=True, slots=True)
class HttpRule:
    """One binding of an rpc: `verb` in lower case as the rule names it, and the path template's text."""

    verb: str
    template: str
    body: str
    response_body: str


def http_rules(method: MethodDescriptor) -> Iterator[HttpRule]:
    """The bindings of an rpc, the first one first; none when it has no rule."""
    rule = cast("_Rule", method.GetOptions().Extensions[_HTTP])
    for each in (rule, *rule.additional_bindings):
        verb = each.WhichOneof("pattern")
        if verb is not None:
            yield HttpRule(verb, str(getattr(each, verb)), each.body, each.response_body)
