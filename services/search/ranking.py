"""Order of sources within a job: BM25 over title and text, with the provider's own order as a tie-breaker."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from services.search.text import telling_terms, terms

# The usual constants (Robertson and Zaragoza 2009).
_K1 = 1.2
_B = 0.75
_TITLE_WEIGHT = 2
# Added for the provider's first place, less for each further one: decides only between equals.
_PLACE = 0.01


@dataclass(frozen=True)
class Source:
    """What is ranked: `place` is the provider's, from 1."""

    name: str
    title: str
    text: str
    place: int


def rank(query: str, sources: Sequence[Source]) -> list[tuple[Source, float]]:
    """Sources that have anything to do with the query, best first, with their scores."""
    wanted = telling_terms(query)
    bags = [Counter(terms(source.text) + terms(source.title) * _TITLE_WEIGHT) for source in sources]
    lengths = [sum(bag.values()) for bag in bags]
    average = sum(lengths) / len(lengths) if lengths else 1.0
    scored: list[tuple[Source, float]] = []
    for source, bag, length in zip(sources, bags, lengths, strict=True):
        score = 0.0
        for term in wanted:
            with_term = sum(1 for each in bags if term in each)
            rarity = math.log(1 + (len(bags) - with_term + 0.5) / (with_term + 0.5))
            count = bag[term]
            score += rarity * count * (_K1 + 1) / (count + _K1 * (1 - _B + _B * length / (average or 1.0)))
        if score > 0:
            scored.append((source, score + _PLACE / source.place))
    return sorted(scored, key=lambda each: (-each[1], each[0].place))
