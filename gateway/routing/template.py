"""Path templates of google.api.http, as far as the contract uses them: literals and one-segment variables."""

from __future__ import annotations

import re
from dataclasses import dataclass

from gateway.transcoding.forms import FormError

_VARIABLE = re.compile(r"\{([a-z][a-z0-9_]*(?:\.[a-z][a-z0-9_]*)*)(?:=\*)?\}")
_LITERAL = re.compile(r"[A-Za-z0-9._~-]+")


@dataclass(frozen=True, slots=True)
class Template:
    """A path in segments: a literal, or None where a variable stands; and the variables' field paths in order."""

    text: str
    segments: tuple[str | None, ...]
    variables: tuple[str, ...]


def parse_template(text: str) -> Template:
    """The template that `text` is; FormError for what is not supported, so that no rule is served differently."""
    if not text.startswith("/"):
        raise FormError(f"the path template {text!r} must begin with /")
    segments: list[str | None] = []
    variables: list[str] = []
    for segment in text[1:].split("/"):
        variable = _VARIABLE.fullmatch(segment)
        if variable is not None:
            segments.append(None)
            variables.append(variable[1])
        elif _LITERAL.fullmatch(segment):
            segments.append(segment)
        else:
            raise FormError(f"the path template {text!r} has the segment {segment!r}, which is not supported")
    if len(set(variables)) != len(variables):
        raise FormError(f"the path template {text!r} names a variable twice")
    return Template(text, tuple(segments), tuple(variables))
