"""Typing into an element, or into what has focus: key events under a guard; what the control holds is read back."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice

from hyperkitty.browser.v1 import targets_pb2 as pb
from hyperkitty.operations.v1.errors_pb2 import ErrorCode

from services.browser.cdp.domains import input as cdp_input
from services.browser.cdp.message import JsonValue
from services.browser.page import keyboard, pointer
from services.browser.page.acting import Aim, Cleared, aim, disarm, reached_other
from services.browser.page.frames import Frame
from services.browser.page.page import Page
from services.browser.page.results import Focused, KeysArmed, Problem, Typed
from services.browser.page.targeting import Found, Need, unfit
from services.browser.page.wire import DialogInterrupted
from services.browser.page.world import WorldGone
from services.kit.deadlines import current_budget
from services.kit.errors import Refusal

ATTEMPTS = 3
LOOK_EVERY = 1000
"""Key events between two looks at the guard."""
MOST_FRAMES_DEEP = 20


@dataclass(frozen=True, slots=True)
class Typing:
    """What to type. `insert`: in one piece, without keys."""

    text: str
    clear: bool = False
    submit: bool = False
    insert: bool = False


@dataclass(frozen=True, slots=True)
class TypedInto:
    """What was typed into, and what it holds now (a password as dots); None where its document is gone."""

    found: Found
    value: str | None


async def type_into(page: Page, target: pb.Target | None, typing: Typing, cleared: Cleared) -> TypedInto:
    """Focus the element by a click, type, read back. Raises Refusal, DialogInterrupted before anything was typed."""
    for _ in range(ATTEMPTS):
        found = await _focus(page, target, cleared) if target is not None else await _focused(page, cleared)
        try:
            armed = await _arm(page, found)
            if armed is None:
                continue  # focus made the page put another element in its place
            return TypedInto(found, await _type(page, found, typing, armed))
        except (WorldGone, DialogInterrupted):
            # The page went on to another document, or asks something: what was typed so far was typed.
            return TypedInto(found, None)
    raise unfit("the element", Problem("detached", "the page replaces it whenever it gets focus"))


async def _focus(page: Page, target: pb.Target, cleared: Cleared) -> Found:
    aimed: Aim = await aim(page, target, Need(editable=True), cleared)
    await pointer.send(page, pointer.clicks(aimed.x, aimed.y))
    return aimed.found


async def _focused(page: Page, cleared: Cleared) -> Found:
    """The element that has focus and takes text. Raises Refusal not_interactable."""
    found = await having_focus(page, editable=True)
    if found is None:
        raise Refusal(
            ErrorCode.ERROR_CODE_NOT_INTERACTABLE,
            "nothing has focus",
            hint="Name a target, so that type clicks it first.",
            details={"reason": "not_focused"},
        )
    await cleared()
    return found


async def having_focus(page: Page, *, editable: bool) -> Found | None:
    """The element that has focus, through frames; None when nothing has. Raises Refusal when it must take text."""
    frame = page.frames.main
    if len(page.frames.all()) > 1:
        await page.frames.place(current_budget().remaining())
    for _ in range(MOST_FRAMES_DEEP):
        try:
            focused = await page.minting(frame, "focused", {"editable": editable}, Focused, 1)
        except WorldGone:
            break
        if focused.element is not None and focused.handle:
            if focused.problem is not None:
                raise unfit(f"the focused {focused.element.role}", focused.problem, focused.element.ref)
            return Found(frame, focused.handle, (0, 0, 0, 0), focused.element)
        inner = page.frames.get(focused.frame)
        if inner is None:
            break
        frame = inner
    return None


async def _arm(page: Page, found: Found) -> KeysArmed | None:
    """Put the guard on the keys; None when the element is gone. Raises Refusal when they would reach something else."""
    args: dict[str, JsonValue] = {"handle": found.handle, "milliseconds": current_budget().remaining() * 1000}
    armed = await page.call(found.frame, "armKeys", args, KeysArmed)
    for frame in _parents(found):
        await page.call(frame, "finish", {"handle": 0}, Typed)
    if armed.gone:
        return None
    if armed.stopped is not None:
        raise reached_other(found, armed.stopped, armed.delivered)
    if armed.elsewhere:
        raise Refusal(
            ErrorCode.ERROR_CODE_NOT_INTERACTABLE,
            f"{found.element.role} {found.element.name[:100]!r} does not take focus: {armed.elsewhere} has it",
            details={"reason": "not_focusable", "focused": armed.elsewhere, "ref": found.element.ref},
        )
    return armed


def _parents(found: Found) -> list[Frame]:
    frames: list[Frame] = []
    frame = found.frame.parent
    while frame is not None:
        frames.append(frame)
        frame = frame.parent
    return frames


async def _type(page: Page, found: Found, typing: Typing, armed: KeysArmed) -> str | None:
    if typing.clear and not armed.empty:
        await keyboard.send(page, [*keyboard.SELECT_ALL, *keyboard.ERASE])
    elif not armed.empty:
        await keyboard.send(page, keyboard.TO_THE_END)
    events = iter([cdp_input.InsertText(text=typing.text)]) if typing.insert else keyboard.text_events(typing.text)
    value = await _read_back(page, found, end=False) if typing.clear and not typing.text else None
    while chunk := list(islice(events, LOOK_EVERY)):
        await keyboard.send(page, chunk)
        value = await _read_back(page, found, end=False)
    if typing.submit:
        await keyboard.send(page, keyboard.ENTER)
        await _end(page, found)
        return value
    return await _read_back(page, found, end=True)


async def _read_back(page: Page, found: Found, *, end: bool) -> str:
    typed = await page.call(found.frame, "typed", {"handle": found.handle, "end": end}, Typed)
    if typed.stopped is not None:
        await disarm(page, found)
        raise reached_other(found, typed.stopped, typed.delivered)
    if found.frame.parent is None:
        page.learn(typed)
    return typed.value


async def _end(page: Page, found: Found) -> None:
    """The page may be on its way to another document: then there is nothing to end."""
    finished = await disarm(page, found)
    if finished is not None and finished.stopped is not None:
        raise reached_other(found, finished.stopped, finished.delivered)
