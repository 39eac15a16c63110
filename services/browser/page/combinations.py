"""Names of keys and combinations as callers write them: `Enter`, `Control+A`, `Shift+Tab`, `Control++`."""

from __future__ import annotations

from dataclasses import dataclass

from hyperkitty.operations.v1.errors_pb2 import ErrorCode

from services.browser.page.keys import ALT, CONTROL, LAYOUT, META, MODIFIERS, NAMED, SHIFT, Key
from services.kit.errors import Refusal

_MODIFIERS = {
    "alt": ALT,
    "option": ALT,
    "control": CONTROL,
    "ctrl": CONTROL,
    "meta": META,
    "command": META,
    "cmd": META,
    "shift": SHIFT,
    # What most programs on this platform take for their commands.
    "controlormeta": CONTROL,
}
_SPELLINGS = {"esc": "Escape", "return": "Enter", "del": "Delete", "space": " ", "spacebar": " "}


@dataclass(frozen=True, slots=True)
class Combination:
    """A key, and CDP's bits of the modifiers held with it."""

    key: Key
    modifiers: int = 0


def parse(text: str) -> Combination:
    """Read a combination; letters are the same in both cases when modifiers are named. Raises Refusal."""
    # The last plus of `Control++` is the key.
    names = [*text[:-2].split("+"), "+"] if text.endswith("++") else [text] if text == "+" else text.split("+")
    modifiers = 0
    for name in names[:-1]:
        bit = _MODIFIERS.get(name.strip().lower())
        if bit is None:
            raise _unknown(text, f"{name!r} is no modifier; there are Alt, Control, Meta and Shift")
        modifiers |= bit
    last = names[-1] if names[-1].isspace() else names[-1].strip()
    alone = _MODIFIERS.get(last.lower())
    if alone is not None:
        return Combination(MODIFIERS[alone], modifiers | alone)
    key = _named(last) or LAYOUT.get(last)
    if key is None:
        raise _unknown(text, f"{last!r} is no key")
    return _held(key, modifiers)


def _named(name: str) -> Key | None:
    spelled = _SPELLINGS.get(name.lower(), name)
    if spelled == " ":
        return LAYOUT[" "]
    return next((key for known, key in NAMED.items() if known.lower() == spelled.lower()), None)


def _held(key: Key, modifiers: int) -> Combination:
    """The key as the modifiers make it: Shift where its character needs it, and its upper case where Shift is held."""
    letter = len(key.key) == 1 and key.key.isalpha()
    if letter and modifiers:
        return Combination(LAYOUT[key.key.upper() if modifiers & SHIFT else key.key.lower()], modifiers)
    if key.shift:
        return Combination(key, modifiers | SHIFT)
    if modifiers & SHIFT and len(key.key) == 1:
        shifted = next((each for each in LAYOUT.values() if each.code == key.code and each.shift), None)
        return Combination(shifted or key, modifiers)
    return Combination(key, modifiers)


def _unknown(text: str, problem: str) -> Refusal:
    return Refusal(
        ErrorCode.ERROR_CODE_INVALID_ARGUMENTS,
        f"key {text[:64]!r}: {problem}",
        details={"fields": [{"field": "key", "problem": problem}]},
    )
