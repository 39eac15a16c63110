"""Queries: brought into one form, and varied from iteration to iteration."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence

# Asked one after another; each iteration asks the next that was not asked yet.
_VARIANTS = ("{query}", "{query} overview", "{query} explained", "{query} guide", "about {query}", "{query} facts")


def normalize_query(text: str) -> str:
    """NFKC, one space between words, no control characters; case stays: a provider may care."""
    folded = unicodedata.normalize("NFKC", text)
    printable = "".join(" " if unicodedata.category(each)[0] in "CZ" else each for each in folded)
    return " ".join(printable.split())


def plan_queries(query: str, asked: Sequence[str], most: int = 1) -> list[str]:
    """The next queries for a provider: none that was asked before, compared without case."""
    before = {each.casefold() for each in asked}
    planned: list[str] = []
    for variant in _VARIANTS:
        candidate = variant.format(query=query)
        if candidate.casefold() not in before and len(planned) < most:
            planned.append(candidate)
    number = len(asked) + 1
    while len(planned) < most:
        # Ten iterations at most, so that this stays readable.
        planned.append(f"{query} {number}")
        number += 1
    return planned
