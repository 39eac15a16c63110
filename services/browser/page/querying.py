"""Looking things up over all frames of a page, as they are now."""

from __future__ import annotations

from hyperkitty.browser.v1 import targets_pb2 as pb

from services.browser.cdp.message import JsonValue
from services.browser.page.page import Page
from services.browser.page.placing import placed
from services.browser.page.results import Element, LinkFound, LinksFound, Queried
from services.browser.page.targeting import SEARCH_MS, Found, ref_entry, ref_frame, spec_of, stale
from services.browser.page.world import WorldGone

MOST_CHARACTERS = 25_000
_LENT = 1100


def _size(element: Element) -> int:
    """About how many characters an element's description takes in a result."""
    attributes = sum(len(key) + len(value) + 6 for key, value in element.attributes.items())
    return 220 + len(element.name) + len(element.text) + len(element.value) + attributes


async def query(page: Page, target: pb.Target, limit: int) -> tuple[list[Element], int]:
    """Up to `limit` elements of a target, and how many there are. Raises Refusal stale_ref, invalid_arguments."""
    spec = spec_of(target)
    frames = page.frames.all() if target.WhichOneof("by") != "point" else [page.frames.main]
    entry = None
    if target.WhichOneof("by") == "ref":
        entry = ref_entry(page, target.ref)
        frame = ref_frame(page, entry)
        if frame is None:
            raise await stale(page, entry)
        frames, spec["nth"] = [frame], None
    found: list[Element] = []
    total, nth = 0, int(target.nth)
    for frame in frames:
        if target.HasField("nth"):
            spec["nth"] = nth - total if nth >= total else None
        left = limit - len(found) if not target.HasField("nth") else int(not found and nth >= total)
        args: dict[str, JsonValue] = {"spec": spec, "limit": left, "milliseconds": SEARCH_MS, "scope": ""}
        try:
            answer = await page.minting(frame, "query", args, Queried, min(_LENT, left + 1), SEARCH_MS / 1000)
        except WorldGone:
            continue
        found += await placed(page, frame, answer.elements[:left])
        total += answer.total
    if entry is not None and not total:
        raise await stale(page, entry)
    return _bounded(found), total


def _bounded(elements: list[Element]) -> list[Element]:
    """At least one, and no more than a result may hold."""
    size = 0
    kept: list[Element] = []
    for element in elements:
        size += _size(element)
        if kept and size > MOST_CHARACTERS:
            break
        kept.append(element)
    return kept


async def links(page: Page, scope: Found | None, limit: int) -> tuple[list[LinkFound], int]:
    """Up to `limit` links, each address once, and how many addresses there are."""
    frames = [scope.frame] if scope is not None else page.frames.all()
    found: dict[str, LinkFound] = {}
    total, size = 0, 0
    for frame in frames:
        args: dict[str, JsonValue] = {"scope": scope.element.ref if scope else "", "limit": max(0, limit - len(found))}
        try:
            answer = await page.minting(frame, "links", args, LinksFound, 1, SEARCH_MS / 1000)
        except WorldGone:
            continue
        total += answer.total
        for link in answer.links:
            size += len(link.url) + len(link.text) + 30
            if link.url in found:
                total -= 1
            elif not found or size <= MOST_CHARACTERS:
                found[link.url] = link
    return list(found.values()), total
