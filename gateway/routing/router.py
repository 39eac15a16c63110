"""Finding the route of a path: a tree of segments, literals before variables."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic, TypeVar
from urllib.parse import unquote_to_bytes

from gateway.routing.template import Template
from gateway.transcoding.forms import FormError

R = TypeVar("R")

LONGEST_PATH = 2_048
"""Bytes of a path as sent; a longer one is no route."""


class _Node(Generic[R]):
    __slots__ = ("by_method", "literals", "variable")

    def __init__(self) -> None:
        self.literals: dict[str, _Node[R]] = {}
        self.variable: _Node[R] | None = None
        self.by_method: dict[str, R] = {}


@dataclass(frozen=True, slots=True)
class Match(Generic[R]):
    """The routes of a path by HTTP method, and the texts that its variables stand for, in the template's order."""

    by_method: dict[str, R]
    values: tuple[str, ...]


class Router(Generic[R]):
    """Routes by path and method."""

    def __init__(self) -> None:
        self._root: _Node[R] = _Node()

    def add(self, method: str, template: Template, route: R) -> None:
        """Adds a route; FormError when its place is taken."""
        node = self._root
        for segment in template.segments:
            if segment is None:
                if node.variable is None:
                    node.variable = _Node()
                node = node.variable
            else:
                node = node.literals.setdefault(segment, _Node())
        if method in node.by_method:
            raise FormError(f"{method} {template.text} is bound twice")
        node.by_method[method] = route

    def find(self, raw_path: bytes) -> Match[R] | None:
        """The routes of a path as it was sent, percent-encoded; None when there are none.

        A segment is decoded after the path is cut: an encoded slash is part of a value (RFC 3986 §2.2).
        """
        if not raw_path.startswith(b"/") or len(raw_path) > LONGEST_PATH:
            return None
        try:
            segments = [unquote_to_bytes(segment).decode() for segment in raw_path[1:].split(b"/")]
        except UnicodeDecodeError:
            return None
        return self._walk(self._root, segments, 0, ())

    def _walk(self, node: _Node[R], segments: list[str], index: int, values: tuple[str, ...]) -> Match[R] | None:
        if index == len(segments):
            return Match(node.by_method, values) if node.by_method else None
        segment = segments[index]
        literal = node.literals.get(segment)
        if literal is not None:
            found = self._walk(literal, segments, index + 1, values)
            if found is not None:
                return found
        if node.variable is not None and segment:
            return self._walk(node.variable, segments, index + 1, (*values, segment))
        return None
