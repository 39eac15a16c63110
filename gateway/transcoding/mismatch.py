"""What is wrong with a JSON value, and where: raised by the codec, a refusal at the door."""

from __future__ import annotations

import difflib
import json
from collections.abc import Iterable

from hyperkitty.operations.v1.errors_pb2 import ErrorCode

from services.kit.errors import Refusal
from services.kit.json_values import JsonValue, clean_text

_SHOWN = 80
_NEAR = 3


class Mismatch(Exception):
    """A value that does not fit its field. Each container that it passes through puts its own name before the path."""

    def __init__(self, problem: str, *, expected: str = "", got: str = "", near: Iterable[str] = ()) -> None:
        super().__init__(problem)
        self.problem = problem
        self.expected = expected
        self.got = got
        self.near = list(near)
        self._path: list[str | int] = []

    def within(self, name: str | int) -> Mismatch:
        """The same mismatch, seen from the container in which it stands under `name`."""
        self._path.append(name)
        return self

    def without_value(self) -> Mismatch:
        """The same mismatch without the value, for fields that hold secrets."""
        if self.got:
            self.got = self.got.partition(" ")[0]
            self.problem = f"expected {self.expected}, got {self.got}"
        return self

    @property
    def path(self) -> str:
        """`args.files[0].name`; empty for the whole."""
        text = ""
        for part in reversed(self._path):
            text += f"[{part}]" if isinstance(part, int) else f".{part}" if text else part
        return clean_text(text)

    def refusal(self) -> Refusal:
        """As the caller is told."""
        path = self.path
        facts: dict[str, JsonValue] = {"field": path, "problem": self.problem}
        facts.update({key: value for key, value in (("expected", self.expected), ("got", self.got)) if value})
        if self.near:
            facts["near"] = self.near
        message = f"{path}: {self.problem}" if path else self.problem
        return Refusal(ErrorCode.ERROR_CODE_INVALID_ARGUMENTS, message, details={"fields": [facts]})


def wrong_type(expected: str, value: object) -> Mismatch:
    """A value of another type or outside its bounds."""
    got = describe(value)
    return Mismatch(f"expected {expected}, got {got}", expected=expected, got=got)


def unknown_name(kind: str, name: str, known: Iterable[str]) -> Mismatch:
    """A field, operation or enum value that does not exist; names those that look like it."""
    names = list(known)
    near = difflib.get_close_matches(name, names, n=_NEAR, cutoff=0.7)
    if near:
        suffix = f"; did you mean {' or '.join(near)}?"
    elif not names:
        suffix = "; there are none here"
    elif len(names) <= 12:
        suffix = f"; there are {', '.join(sorted(names))}"
    else:
        suffix = ""
    return Mismatch(f"unknown {kind} {_quoted(name)}{suffix}", got=_quoted(name), near=near)


def describe(value: object) -> str:
    """A JSON value as an error shows it: its type first, then as much of it as fits."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return f"boolean {str(value).lower()}"
    if isinstance(value, int):
        digits = str(value) if abs(value) < 10**40 else "of more than 40 digits"
        return f"integer {digits}"
    if isinstance(value, float):
        return f"number {value!r}"
    if isinstance(value, str):
        return f"string {_quoted(value)}"
    return "array" if isinstance(value, list) else "object"


def _quoted(text: str) -> str:
    cut = text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"
    return json.dumps(clean_text(cut), ensure_ascii=False)
