"""The provider `fan-out`: asks several at once and fuses their lists (reciprocal rank fusion, Cormack et al. 2009)."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace

from hyperkitty.operations.v1.errors_pb2 import ErrorCode

from services.kit.errors import Refusal
from services.search.addresses import NotAnAddress, normalize_url
from services.search.extraction import extract
from services.search.providers.provider import Fetched, Found, Hit, Provider, failed
from services.search.queries import plan_queries

NAME = "fan-out"
# The paper's constant: how much less a second place counts than a first.
_K = 60


class FanOutProvider:
    """See Provider. One member that fails is named as unresponsive; when all do, so does this."""

    name = NAME

    def __init__(self, members: Sequence[Provider]) -> None:
        self._members = tuple(members)

    def plan(self, query: str, asked: Sequence[str]) -> list[str]:
        return plan_queries(query, asked)

    async def search(self, query: str) -> Found:
        answers = await asyncio.gather(*(self._ask(member, query) for member in self._members))
        lists = [(member.name, each) for member, each in zip(self._members, answers, strict=True)]
        failures = {name: each for name, each in lists if isinstance(each, Refusal)}
        found = [(name, each) for name, each in lists if isinstance(each, Found)]
        if not found:
            reasons = {name: str(each.details.get("reason", "")) for name, each in failures.items()}
            told = ", ".join(f"{name}: {reason}" for name, reason in reasons.items())
            first = next(iter(reasons.values()), "down")
            raise failed(NAME, first, f"none of its providers answered ({told})", providers=reasons)
        unresponsive = [f"{name}: {each.details.get('reason', 'failed')}" for name, each in failures.items()]
        for _, each in found:
            unresponsive += each.unresponsive
        return Found(fuse([(name, each.hits) for name, each in found]), tuple(unresponsive))

    async def _ask(self, member: Provider, query: str) -> Found | Refusal:
        try:
            return await member.search(query)
        except Refusal as refusal:
            if refusal.code != ErrorCode.ERROR_CODE_PROVIDER_FAILED:
                raise
            return refusal

    def _owner(self, url: str) -> Provider:
        # A provider of its own addresses (the corpus) comes before the one that takes any page of the web.
        owners = [member for member in self._members if member.owns(url)]
        if not owners:
            raise failed(NAME, "not_found", f"none of its providers has {url[:200]}")
        return owners[0]

    def owns(self, url: str) -> bool:
        return any(member.owns(url) for member in self._members)

    async def fetch(self, url: str) -> Fetched:
        return await self._owner(url).fetch(url)

    def extract(self, fetched: Fetched) -> str:
        return extract(fetched)


def fuse(lists: Sequence[tuple[str, Sequence[Hit]]]) -> list[Hit]:
    """One list of several: the sum of 1 / (60 + place) over the lists decides, the first seen at equals."""
    scores: dict[str, float] = {}
    best: dict[str, Hit] = {}
    for name, hits in lists:
        seen: set[str] = set()
        for place, hit in enumerate(hits, 1):
            try:
                key = normalize_url(hit.url)
            except NotAnAddress:
                continue
            if key not in seen:
                # A list that repeats a page does not count it twice.
                scores[key] = scores.get(key, 0.0) + 1 / (_K + place)
                seen.add(key)
            known = best.setdefault(key, replace(hit, found_by=()))
            by = tuple(dict.fromkeys([*known.found_by, *(hit.found_by or (name,))]))
            best[key] = replace(known, found_by=by)
    return [best[key] for key in sorted(scores, key=lambda key: -scores[key])]
