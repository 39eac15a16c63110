"""What a snapshot changed against the one before it: lines that came, lines that went."""

from __future__ import annotations

from collections import Counter, OrderedDict
from collections.abc import Sequence

MOST_KEPT = 8
MOST_CHARACTERS = 400_000
"""A snapshot that is larger is not remembered."""

Key = tuple[str, str, bool]
"""Loader id of the document, ref of the scope, whether only what can be acted on."""


class Outlines:
    """The last whole snapshots of a page. Bounded: the oldest are forgotten."""

    def __init__(self) -> None:
        self._kept: OrderedDict[Key, list[str]] = OrderedDict()

    def replace(self, key: Key, text: str) -> list[str] | None:
        """Remember a snapshot; returns the one before it of the same document and kind, if there is one."""
        before = self._kept.pop(key, None)
        if len(text) <= MOST_CHARACTERS:
            self._kept[key] = text.splitlines()
            if len(self._kept) > MOST_KEPT:
                self._kept.popitem(last=False)
        return before


def difference(before: Sequence[str], now: Sequence[str]) -> str:
    """Lines that went, with `-`, then lines that came, with `+`, each in the order of the page."""
    gone, came = Counter(before), Counter(now)
    gone, came = gone - came, came - gone
    return "".join(f"{line}\n" for line in [*_marked("-", before, gone), *_marked("+", now, came)])


def _marked(mark: str, lines: Sequence[str], wanted: Counter[str]) -> list[str]:
    left = Counter(wanted)
    marked: list[str] = []
    for line in lines:
        if left[line] > 0:
            left[line] -= 1
            marked.append(f"{mark} {line}")
    return marked
