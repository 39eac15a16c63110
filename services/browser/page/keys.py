"""The US keyboard: which key, with or without Shift, gives which character, and the keys that give none."""

from __future__ import annotations

from dataclasses import dataclass

ALT, CONTROL, META, SHIFT = 1, 2, 4, 8
"""Bits of `modifiers` in CDP's Input domain."""


@dataclass(frozen=True, slots=True)
class Key:
    """A key as KeyboardEvent shows it: `key`, `code`, the legacy key code, and the text it gives."""

    key: str
    code: str
    key_code: int
    text: str = ""
    shift: bool = False
    location: int = 0


def _layout() -> dict[str, Key]:
    keys: dict[str, Key] = {" ": Key(" ", "Space", 32, " "), "\n": Key("Enter", "Enter", 13, "\r")}
    for letter in "abcdefghijklmnopqrstuvwxyz":
        upper = letter.upper()
        keys[letter] = Key(letter, f"Key{upper}", ord(upper), letter)
        keys[upper] = Key(upper, f"Key{upper}", ord(upper), upper, shift=True)
    for digit, symbol in zip("1234567890", "!@#$%^&*()", strict=True):
        keys[digit] = Key(digit, f"Digit{digit}", ord(digit), digit)
        keys[symbol] = Key(symbol, f"Digit{digit}", ord(digit), symbol, shift=True)
    for plain, shifted, code, number in (
        ("`", "~", "Backquote", 192),
        ("-", "_", "Minus", 189),
        ("=", "+", "Equal", 187),
        ("[", "{", "BracketLeft", 219),
        ("]", "}", "BracketRight", 221),
        ("\\", "|", "Backslash", 220),
        (";", ":", "Semicolon", 186),
        ("'", '"', "Quote", 222),
        (",", "<", "Comma", 188),
        (".", ">", "Period", 190),
        ("/", "?", "Slash", 191),
    ):
        keys[plain] = Key(plain, code, number, plain)
        keys[shifted] = Key(shifted, code, number, shifted, shift=True)
    return keys


LAYOUT = _layout()
"""By the character it gives."""

NAMED = {
    key.key: key
    for key in (
        Key("Enter", "Enter", 13, "\r"),
        Key("Tab", "Tab", 9),
        Key("Backspace", "Backspace", 8),
        Key("Delete", "Delete", 46),
        Key("Escape", "Escape", 27),
        Key("End", "End", 35),
        Key("Home", "Home", 36),
        Key("PageUp", "PageUp", 33),
        Key("PageDown", "PageDown", 34),
        Key("ArrowLeft", "ArrowLeft", 37),
        Key("ArrowUp", "ArrowUp", 38),
        Key("ArrowRight", "ArrowRight", 39),
        Key("ArrowDown", "ArrowDown", 40),
        Key("Insert", "Insert", 45),
        Key("ContextMenu", "ContextMenu", 93),
        *(Key(f"F{number}", f"F{number}", 111 + number) for number in range(1, 13)),
    )
}

MODIFIERS = {
    ALT: Key("Alt", "AltLeft", 18, location=1),
    CONTROL: Key("Control", "ControlLeft", 17, location=1),
    META: Key("Meta", "MetaLeft", 91, location=1),
    SHIFT: Key("Shift", "ShiftLeft", 16, location=1),
}
