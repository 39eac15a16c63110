"""Choosing: boxes and switches by a click, options of lists by a click where one can be made, else by script."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from hyperkitty.browser.v1 import targets_pb2 as pb
from hyperkitty.operations.v1.errors_pb2 import ErrorCode

from services.browser.cdp.message import JsonValue
from services.browser.page import pointer
from services.browser.page.acting import Cleared, aim, disarm, press
from services.browser.page.page import Page
from services.browser.page.results import Choices, Picked, Problem, Toggle
from services.browser.page.targeting import (
    Found,
    Need,
    locate,
    ref_entry,
    stale,
    unfit,
    waiting_seconds,
)
from services.kit.errors import Refusal

REST_SECONDS = 1.0
"""How long a page may take to show a state after the click that asked for it."""
APPEAR_SECONDS = 2.0
"""How long the options of a list may take to be there."""

By = Literal["value", "label", "index"]


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which options of a list."""

    values: Sequence[str] = ()
    labels: Sequence[str] = ()
    indexes: Sequence[int] = ()

    def each(self) -> list[tuple[By, str | int]]:
        """One after another, with how it is named."""
        return [
            *(("value", value) for value in self.values),
            *(("label", label) for label in self.labels),
            *(("index", index) for index in self.indexes),
        ]


# boxes


async def check(page: Page, target: pb.Target, wanted: bool, cleared: Cleared) -> tuple[Found, bool]:
    """Click a box, switch or radio button unless it is as wanted; what it was and what it is then. Raises Refusal."""
    aimed = await aim(page, target, Need(), cleared)
    found = aimed.found
    state = await page.call(found.frame, "checkable", {"handle": found.handle, "ref": ""}, Toggle)
    if not state.kind or (state.checked == wanted and not state.mixed):
        await disarm(page, found)
    if not state.kind:
        raise unfit(_named(found), Problem("not_checkable", "it cannot be checked"), found.element.ref)
    if state.checked == wanted and not state.mixed:
        return found, wanted
    if state.kind == "radio" and not wanted:
        await disarm(page, found)
        raise unfit(_named(found), Problem("not_checkable", "a radio button is unchecked by checking another"))
    await press(page, aimed, pointer.clicks(aimed.x, aimed.y))
    now = await _rest(page, found, wanted)
    if now.mixed or now.checked != wanted:
        raise unfit(
            _named(found),
            Problem("not_changed", f"the page left it {'checked' if now.checked else 'unchecked'} after a click"),
            found.element.ref,
        )
    return found, wanted


async def _rest(page: Page, found: Found, wanted: bool) -> Toggle:
    seconds = min(REST_SECONDS, waiting_seconds())
    args: dict[str, JsonValue] = {"ref": found.element.ref, "wanted": wanted, "milliseconds": seconds * 1000}
    now = await page.call(found.frame, "checkRest", args, Toggle, seconds)
    if now.gone:
        raise await stale(page, ref_entry(page, found.element.ref))
    return now


def _named(found: Found) -> str:
    return f"{found.element.role} {found.element.name[:100]!r}"


# lists


async def choose(page: Page, target: pb.Target, wanted: Wanted, cleared: Cleared) -> tuple[Found, list[str]]:
    """Choose options of a native select, or of an ARIA list; returns the values chosen then. Raises Refusal."""
    found = await locate(page, target, Need(visible=False))
    if found.element.tag == "select":
        await cleared()
        return found, await pick(page, found, wanted)
    found = await locate(page, target, Need())
    listed = await _choices(page, found, "", "", 0.0)
    if not listed.kind:
        raise Refusal(
            ErrorCode.ERROR_CODE_NOT_INTERACTABLE,
            f"{_named(found)} is no list of options",
            hint="Use click on the option itself.",
            details={"reason": "not_a_list", "ref": found.element.ref},
        )
    for by, value in wanted.each():
        await _choose_one(page, found, by, value, cleared)
    listed = await _choices(page, found, "", "", 0.0)
    return found, listed.chosen or [listed.value]


async def pick(page: Page, found: Found, wanted: Wanted) -> list[str]:
    """Choose options of a native select, whose popup no input reaches: by script, marked so. Raises Refusal."""
    if not wanted.each() and "multiple" not in found.element.states and found.element.role != "listbox":
        raise Refusal(
            ErrorCode.ERROR_CODE_INVALID_ARGUMENTS,
            "values, labels or indexes must name an option",
            details={"fields": [{"field": "values", "problem": "is empty, and so are labels and indexes"}]},
        )
    seconds = min(APPEAR_SECONDS, waiting_seconds())
    args: dict[str, JsonValue] = {
        "handle": found.handle,
        "values": list(wanted.values),
        "labels": list(wanted.labels),
        "indexes": list(wanted.indexes),
        "milliseconds": seconds * 1000,
    }
    picked = await page.call(found.frame, "pickOptions", args, Picked, seconds)
    if picked.gone:
        raise await stale(page, ref_entry(page, found.element.ref))
    if picked.missing is not None:
        raise _no_option(found, picked.missing, picked.labels)
    if picked.disabled is not None:
        raise unfit(
            _named(found), Problem("disabled", f"its option {picked.disabled[:100]!r} is disabled"), found.element.ref
        )
    if picked.many:
        raise Refusal(
            ErrorCode.ERROR_CODE_INVALID_ARGUMENTS,
            f"{_named(found)} takes one option only",
            details={"fields": [{"field": "values", "problem": "names several options"}]},
        )
    page.synthetic_acts += 1
    return picked.selected


def _no_option(found: Found, wanted: str | int, labels: list[str]) -> Refusal:
    listed: list[JsonValue] = list(labels)
    return Refusal(
        ErrorCode.ERROR_CODE_NOT_FOUND,
        f"{_named(found)} has no option {str(wanted)[:100]!r}",
        details={"reason": "option", "options": listed, "ref": found.element.ref},
    )


async def _choose_one(page: Page, found: Found, by: By, value: str | int, cleared: Cleared) -> None:
    listed = await _choices(page, found, by, value, 0.0)
    if not listed.option and listed.kind == "combobox" and not listed.expanded:
        # Its options are there once it is open.
        aimed = await aim(page, pb.Target(ref=found.element.ref), Need(), cleared)
        await press(page, aimed, pointer.clicks(aimed.x, aimed.y))
    if not listed.option:
        listed = await _choices(page, found, by, value, min(APPEAR_SECONDS, waiting_seconds()))
    if not listed.option:
        raise _no_option(found, value, listed.options)
    if listed.is_chosen:
        return
    aimed = await aim(page, pb.Target(ref=listed.option), Need(), cleared)
    await press(page, aimed, pointer.clicks(aimed.x, aimed.y))


async def _choices(page: Page, found: Found, by: By | Literal[""], value: str | int, seconds: float) -> Choices:
    args: dict[str, JsonValue] = {
        "ref": found.element.ref, "by": by, "wanted": value, "milliseconds": seconds * 1000,
    }  # fmt: skip
    listed = await page.minting(found.frame, "choices", args, Choices, 1, seconds)
    if listed.gone:
        raise await stale(page, ref_entry(page, found.element.ref))
    return listed
