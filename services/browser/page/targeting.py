"""Which element a target names, in which frame (SPEC §4, "Targets"); waits until it is there. Changes nothing."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

from hyperkitty.browser.v1 import targets_pb2 as pb
from hyperkitty.operations.v1.errors_pb2 import ErrorCode

from services.browser.cdp.message import JsonValue
from services.browser.page.frames import Frame
from services.browser.page.page import Page
from services.browser.page.refs import RefEntry
from services.browser.page.results import Element, Located, Problem, Queried, Replacements
from services.browser.page.world import WorldGone
from services.kit.deadlines import current_budget
from services.kit.errors import Refusal

MARGIN_SECONDS = 0.25
"""Kept of the budget, so that a target that never came is answered with why, not with a deadline."""
SLICE_SECONDS = 1.0
"""One look of a script at a page; between two the service sees whether the page still answers."""
FRAMES_SLICE_SECONDS = 0.2
SEARCH_MS = 2000
REPLACEMENT_MS = 5
CANDIDATES = 5
MINTED_BY_LOOK = 8


@dataclass(frozen=True, slots=True)
class Need:
    """What an element must be before it is acted on."""

    visible: bool = True
    enabled: bool = True
    editable: bool = False

    def to_json(self) -> dict[str, JsonValue]:
        """As the scripts take it."""
        return {"visible": self.visible, "enabled": self.enabled, "editable": self.editable}


@dataclass(frozen=True, slots=True)
class Found:
    """The element of a target. `handle` names it in its frame's world until the act is over."""

    frame: Frame
    handle: int
    quad: tuple[float, float, float, float]
    element: Element


def spec_of(target: pb.Target) -> dict[str, JsonValue]:
    """The target as the scripts take it."""
    by = target.WhichOneof("by")
    spec: dict[str, JsonValue] = {"nth": target.nth if target.HasField("nth") else None, "exact": target.exact}
    if by == "point":
        spec["point"] = {"x": target.point.x, "y": target.point.y}
    elif by is not None:
        spec[by] = str(getattr(target, by))
    if by == "role":
        spec["name"] = target.name
    return spec


def describe(target: pb.Target) -> str:
    """The target as a message names it."""
    by = target.WhichOneof("by")
    if by == "point":
        return f"({target.point.x:g}, {target.point.y:g})"
    if by == "role":
        return f"role {target.role!r}" + (f" with name {target.name[:100]!r}" if target.name else "")
    value = str(getattr(target, by or "ref"))
    return value if by == "ref" else f"{by} {value[:200]!r}"


def waiting_seconds() -> float:
    """How long may be waited for a page within the current budget."""
    return max(0.0, current_budget().remaining() - MARGIN_SECONDS)


async def locate(page: Page, target: pb.Target, need: Need) -> Found:
    """The one element of a target, visible and enabled; waited for until the deadline.

    Raises Refusal stale_ref, ambiguous_target, not_found, not_interactable, invalid_arguments, page_unresponsive;
    DialogInterrupted.
    """
    if target.WhichOneof("by") == "ref":
        return await _locate_ref(page, target.ref, need)
    spec = spec_of(target)
    while True:
        looks = await _look(page, target, spec, need)
        total = sum(located.total for _, located in looks)
        if total > 1 and not target.HasField("nth"):
            raise ambiguous(target, total, [element for _, located in looks for element in _elements(located)])
        for frame, located in looks:
            if found := _found(frame, located):
                return found
        if waiting_seconds() <= 0.0 or _is_final(looks):
            raise _unfit(target, [located for _, located in looks])


async def _look(
    page: Page, target: pb.Target, spec: dict[str, JsonValue], need: Need
) -> Sequence[tuple[Frame, Located]]:
    """One look at every frame, as long as a slice; ends as soon as something is found."""
    frames = page.frames.all()
    at_point = target.WhichOneof("by") == "point"
    if len(frames) == 1 or at_point:
        seconds = 0.0 if at_point else min(SLICE_SECONDS, waiting_seconds())
        located = await _locate_in(page, page.frames.main, spec, need, seconds)
        return [(page.frames.main, located)] if located else []
    if target.HasField("nth"):
        return await _look_for_nth(page, frames, spec, need, target.nth)
    looks = await _locate_all(page, frames, spec, need)
    if not any(located.total for _, located in looks):
        await _until_one_has(page, frames, spec, need)
        looks = await _locate_all(page, page.frames.all(), spec, need)
    elif sum(located.total for _, located in looks) == 1 and not any(located.handle for _, located in looks):
        # There, but not fit to be acted on yet: its own frame is watched.
        frame = next(frame for frame, located in looks if located.total)
        located = await _locate_in(page, frame, spec, need, min(SLICE_SECONDS, waiting_seconds()))
        return [(frame, located)] if located else []
    return looks


async def _locate_in(
    page: Page, frame: Frame, spec: dict[str, JsonValue], need: Need, seconds: float
) -> Located | None:
    """One look at one frame; None when its document went away."""
    args: dict[str, JsonValue] = {
        "spec": spec, "need": need.to_json(), "milliseconds": max(1.0, seconds * 1000), "wait": seconds > 0,
    }  # fmt: skip
    try:
        return await page.minting(frame, "locate", args, Located, MINTED_BY_LOOK, seconds)
    except WorldGone:
        return None


async def _locate_all(
    page: Page, frames: Sequence[Frame], spec: dict[str, JsonValue], need: Need
) -> list[tuple[Frame, Located]]:
    looks = await asyncio.gather(*(_locate_in(page, frame, spec, need, 0.0) for frame in frames))
    return [(frame, located) for frame, located in zip(frames, looks, strict=True) if located is not None]


async def _until_one_has(page: Page, frames: Sequence[Frame], spec: dict[str, JsonValue], need: Need) -> None:
    """Wait for a short slice until a frame has a match."""
    seconds = min(FRAMES_SLICE_SECONDS, waiting_seconds())
    if seconds <= 0.0:
        return
    looks = [asyncio.ensure_future(_locate_in(page, frame, spec, need, seconds)) for frame in frames]
    try:
        await asyncio.wait(looks, return_when=asyncio.FIRST_COMPLETED)
        for look in looks:
            if look.done():
                look.result()
    finally:
        for look in looks:
            look.cancel()


async def _look_for_nth(
    page: Page, frames: Sequence[Frame], spec: dict[str, JsonValue], need: Need, nth: int
) -> list[tuple[Frame, Located]]:
    """The nth over all frames in their order."""
    looks: list[tuple[Frame, Located]] = []
    for frame in frames:
        queried = await _count(page, frame, spec)
        if nth < queried:
            located = await _locate_in(page, frame, {**spec, "nth": nth}, need, min(SLICE_SECONDS, waiting_seconds()))
            return [(frame, located)] if located else []
        nth -= queried
    return looks


async def _count(page: Page, frame: Frame, spec: dict[str, JsonValue]) -> int:
    args: dict[str, JsonValue] = {"spec": {**spec, "nth": None}, "limit": 0, "milliseconds": SEARCH_MS, "scope": ""}
    try:
        return (await page.minting(frame, "query", args, Queried, 1, SEARCH_MS / 1000)).total
    except WorldGone:
        return 0


def _found(frame: Frame, located: Located) -> Found | None:
    if located.handle and located.quad is not None and located.element is not None:
        return Found(frame, located.handle, located.quad, located.element)
    return None


def _is_final(looks: Sequence[tuple[Frame, Located]]) -> bool:
    return any(located.problem is not None and located.problem.final for _, located in looks)


def _elements(located: Located) -> list[Element]:
    return located.elements or ([located.element] if located.element else [])


# refs


def ref_entry(page: Page, ref: str) -> RefEntry:
    """What a ref was given to. Raises Refusal not_found."""
    entry = page.refs.get(ref)
    if entry is None:
        raise Refusal(ErrorCode.ERROR_CODE_NOT_FOUND, f"{ref} is no ref of this session", details={"ref": ref})
    return entry


def ref_frame(page: Page, entry: RefEntry) -> Frame | None:
    """The frame of a ref while it holds the ref's document."""
    frame = page.frames.get(entry.frame_id)
    return frame if frame is not None and frame.loader_id == entry.loader_id else None


async def _locate_ref(page: Page, ref: str, need: Need) -> Found:
    entry = ref_entry(page, ref)
    spec: dict[str, JsonValue] = {"ref": ref, "nth": None}
    while True:
        frame = ref_frame(page, entry)
        if frame is None:
            raise await stale(page, entry)
        located = await _locate_in(page, frame, spec, need, min(SLICE_SECONDS, waiting_seconds()))
        if located is None or located.gone:
            raise await stale(page, entry)
        if found := _found(frame, located):
            return found
        if waiting_seconds() <= 0.0 or _is_final([(frame, located)]):
            raise _unfit(pb.Target(ref=ref), [located])


async def stale(page: Page, entry: RefEntry) -> Refusal:
    """The refusal for a ref whose element is gone: what it was, and what is like it in the same frame now."""
    like: list[JsonValue] = []
    frame = page.frames.get(entry.frame_id)
    if frame is not None:
        args: dict[str, JsonValue] = {"role": entry.role, "name": entry.name, "milliseconds": REPLACEMENT_MS}
        try:
            answer = await page.minting(frame, "replacements", args, Replacements, 3)
            like = [{"ref": found.ref, "role": found.role, "name": found.name} for found in answer.elements]
        except WorldGone:
            like = []
    name = f" {entry.name[:100]!r}" if entry.name else ""
    return Refusal(
        ErrorCode.ERROR_CODE_STALE_REF,
        f"{entry.ref} was {entry.role}{name}, which is gone",
        details={"ref": entry.ref, "role": entry.role, "name": entry.name, "replacements": like},
    )


# refusals


def ambiguous(target: pb.Target, total: int, elements: Sequence[Element]) -> Refusal:
    """The refusal for a target that names several elements."""
    candidates: list[JsonValue] = [
        {"ref": element.ref, "role": element.role, "name": element.name[:100], "tag": element.tag}
        for element in elements[:CANDIDATES]
    ]
    return Refusal(
        ErrorCode.ERROR_CODE_AMBIGUOUS_TARGET,
        f"{describe(target)} matches {total} elements",
        details={"total": total, "candidates": candidates},
    )


def not_found(target: pb.Target) -> Refusal:
    """The refusal for a target that names nothing."""
    return Refusal(
        ErrorCode.ERROR_CODE_NOT_FOUND,
        f"nothing on the page matches {describe(target)}",
        details={"target": describe(target)},
    )


def unfit(target: str, problem: Problem, ref: str = "") -> Refusal:
    """The refusal for an element that cannot be acted on, with why and, when something is in the way, by what."""
    obscured = problem.reason == "obscured"
    details: dict[str, JsonValue] = {"reason": problem.reason, "ref": ref}
    if problem.by:
        details["by"] = problem.by
    return Refusal(
        ErrorCode.ERROR_CODE_OBSCURED if obscured else ErrorCode.ERROR_CODE_NOT_INTERACTABLE,
        f"{target}: {problem.message}",
        hint="Use select_option on its list." if problem.reason == "option_of_select" else "",
        details=details,
    )


def _unfit(target: pb.Target, looks: Sequence[Located]) -> Refusal:
    for located in looks:
        if located.problem is not None:
            return unfit(describe(target), located.problem, located.element.ref if located.element else "")
    if target.WhichOneof("by") == "point":
        return unfit(
            describe(target), Problem("out_of_viewport", "there is nothing: the point is outside the viewport")
        )
    return not_found(target)
