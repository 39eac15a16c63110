"""Filling the controls of a form: text by insertion, lists and boxes as a person would, all looked at in the end."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from hyperkitty.browser.v1 import targets_pb2 as pb
from hyperkitty.operations.v1.errors_pb2 import ErrorCode

from services.browser.cdp.message import JsonValue
from services.browser.page import choosing, keyboard, pointer
from services.browser.page.acting import Cleared, aim, press
from services.browser.page.choosing import Wanted
from services.browser.page.page import Page
from services.browser.page.results import Choices, Element, Problem, Queried, ValueSet
from services.browser.page.targeting import Found, Need, describe, locate, ref_entry, stale, unfit
from services.browser.page.typing import Typing, type_into
from services.browser.page.wire import DialogInterrupted
from services.browser.page.world import WorldGone
from services.kit.errors import Refusal

_PICKED = frozenset({"date", "time", "datetime-local", "month", "week", "color", "range"})
BOXES = frozenset({"checkbox", "radio", "switch", "menuitemcheckbox", "menuitemradio"})
_YES = {"true": True, "false": False}


@dataclass(frozen=True, slots=True)
class Entry:
    """One control and what it shall hold."""

    target: pb.Target
    value: str


async def fill(page: Page, entries: Sequence[Entry], cleared: Cleared, *, submit: bool) -> list[tuple[Found, Element]]:
    """Fill them in order, then look at all again; a submit comes after that. Raises Refusal, DialogInterrupted."""
    filled = [(entry, await _fill_one(page, entry, cleared)) for entry in entries]
    held = [(found, await _held(page, entry, found)) for entry, found in filled]
    if submit:
        await _submit(page, held[-1][0])
    return held


async def _fill_one(page: Page, entry: Entry, cleared: Cleared) -> Found:
    found = await locate(page, entry.target, Need(visible=False))
    element = found.element
    if element.role in BOXES:
        if entry.value.lower() not in _YES:
            raise _not_taken(entry, "a box takes true or false")
        return (await choosing.check(page, entry.target, _YES[entry.value.lower()], cleared))[0]
    if element.tag == "select":
        await cleared()
        return await _select(page, found, entry)
    if element.tag == "input" and element.attributes.get("type") in _PICKED:
        await cleared()
        return await _set(page, await locate(page, entry.target, Need()), entry)
    await type_into(page, entry.target, Typing(entry.value, clear=True, insert=True), cleared)
    return found


async def _select(page: Page, found: Found, entry: Entry) -> Found:
    """By label, else by value."""
    try:
        await choosing.pick(page, found, Wanted(labels=[entry.value]))
    except Refusal as refusal:
        if refusal.code != ErrorCode.ERROR_CODE_NOT_FOUND:
            raise
        await choosing.pick(page, found, Wanted(values=[entry.value]))
    return found


async def _set(page: Page, found: Found, entry: Entry) -> Found:
    """Controls with a picker of the browser's own: by script, marked so."""
    args: dict[str, JsonValue] = {"handle": found.handle, "value": entry.value}
    taken = await page.call(found.frame, "setValue", args, ValueSet)
    if taken.gone:
        raise await stale(page, ref_entry(page, found.element.ref))
    if taken.refused:
        raise _not_taken(entry, f"an input of type {taken.type} does not take it")
    page.synthetic_acts += 1
    return found


def _not_taken(entry: Entry, why: str) -> Refusal:
    return Refusal(
        ErrorCode.ERROR_CODE_INVALID_ARGUMENTS,
        f"the value for {describe(entry.target)}: {why}",
        details={"fields": [{"field": "fields.value", "problem": why}], "target": describe(entry.target)},
    )


async def _held(page: Page, entry: Entry, found: Found) -> Element:
    """The control as it is now. Raises Refusal not_interactable when it holds nothing of what it was given."""
    try:
        answer = await page.minting(found.frame, "describeAgain", {"ref": found.element.ref}, Queried, 1)
    except WorldGone:
        return found.element
    if answer.gone:
        # Some pages make a control anew with what was filled in.
        found = await locate(page, entry.target, Need(visible=False, enabled=False))
        answer = Queried(elements=[found.element], total=1)
    element = answer.elements[0]
    if entry.value and not element.value and element.role not in BOXES:
        raise unfit(
            describe(entry.target), Problem("not_filled", "it is empty: the page did not keep the value"), element.ref
        )
    return element


async def _submit(page: Page, last: Found) -> None:
    """By a click on the form's own button; by Enter where it has none."""
    try:
        answer = await page.minting(last.frame, "submitter", {"ref": last.element.ref}, Choices, 1)
        if not answer.option:
            await keyboard.send(page, keyboard.ENTER)
            return
        aimed = await aim(page, pb.Target(ref=answer.option), Need(), _nothing)
        await press(page, aimed, pointer.clicks(aimed.x, aimed.y))
    except (DialogInterrupted, WorldGone):
        return


async def _nothing() -> None:
    """The gate is open already."""
