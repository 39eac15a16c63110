"""Key events by CDP's Input domain, sent without waiting for one another (SPEC §4: ≥ 1,000 characters a second)."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from itertools import groupby

from services.browser.cdp.domains import input as cdp_input
from services.browser.cdp.message import Command, Empty
from services.browser.page.keys import CONTROL, LAYOUT, MODIFIERS, NAMED, SHIFT, Key
from services.browser.page.page import Page
from services.kit.deadlines import current_budget

CHUNK = 200
"""Commands under way at once."""


def down(key: Key, modifiers: int = 0, commands: list[str] | None = None) -> cdp_input.DispatchKeyEvent:
    """A key goes down; with a text that no Control, Alt or Meta holds back it also enters it."""
    text = key.text if not modifiers & ~SHIFT else ""
    return cdp_input.DispatchKeyEvent(
        type="keyDown" if text else "rawKeyDown",
        modifiers=modifiers or None,
        text=text or None,
        unmodified_text=text or None,
        key=key.key,
        code=key.code,
        windows_virtual_key_code=key.key_code,
        location=key.location or None,
        commands=commands,
    )


def up(key: Key, modifiers: int = 0) -> cdp_input.DispatchKeyEvent:
    """A key comes up."""
    return cdp_input.DispatchKeyEvent(
        type="keyUp",
        modifiers=modifiers or None,
        key=key.key,
        code=key.code,
        windows_virtual_key_code=key.key_code,
        location=key.location or None,
    )


def stroke(key: Key, modifiers: int = 0, commands: list[str] | None = None) -> list[Command[Empty]]:
    """A key down and up, with the modifier keys held around it."""
    held = [bit for bit in MODIFIERS if modifiers & bit]
    events: list[Command[Empty]] = []
    so_far = 0
    for bit in held:
        so_far |= bit
        events.append(down(MODIFIERS[bit], so_far))
    events += [down(key, modifiers, commands), up(key, modifiers)]
    for bit in reversed(held):
        so_far &= ~bit
        events.append(up(MODIFIERS[bit], so_far))
    return events


def _kind(character: str) -> str:
    key = LAYOUT.get(character)
    return "insert" if key is None else "shifted" if key.shift else "plain"


def text_events(text: str) -> Iterator[Command[Empty]]:
    """Key events for what the keyboard has, insertion for what it has not; Shift is held over each shifted run."""
    for kind, characters in groupby(text.replace("\r\n", "\n").replace("\r", "\n"), _kind):
        if kind == "insert":
            yield cdp_input.InsertText(text="".join(characters))
            continue
        modifiers = SHIFT if kind == "shifted" else 0
        if modifiers:
            yield down(MODIFIERS[SHIFT], SHIFT)
        for character in characters:
            key = LAYOUT[character]
            yield down(key, modifiers)
            yield up(key, modifiers)
        if modifiers:
            yield up(MODIFIERS[SHIFT])


SELECT_ALL = stroke(LAYOUT["a"], CONTROL, ["selectAll"])
ERASE = stroke(NAMED["Backspace"])
TO_THE_END = stroke(NAMED["End"], CONTROL, ["moveToEndOfDocument"])
ENTER = stroke(NAMED["Enter"])


async def send(page: Page, events: Sequence[Command[Empty]] | Iterator[Command[Empty]]) -> None:
    """Send events in order. Raises DialogInterrupted when one opened a dialog, CdpFault."""
    chunk: list[asyncio.Future[Empty]] = []
    for event in events:
        chunk.append(page.wire.post(page.session, event, current_budget().remaining()))
        if len(chunk) >= CHUNK:
            await asyncio.gather(*chunk)
            chunk = []
    await asyncio.gather(*chunk)
