"""Ids: a prefix and a ULID (SPEC §3): 26 Crockford characters, upper case, ordered by time."""

from __future__ import annotations

import re
import secrets
import time

PREFIXES = frozenset(
    {"agent", "obj", "act", "sess", "tab", "job", "res", "doc", "msg", "conv", "op", "evt", "art", "tok"}
)

_ALPHABET = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
_RANDOM_BITS = 80
_RANDOM_MASK = (1 << _RANDOM_BITS) - 1
# 26 characters hold 130 bits and a ULID 128: a first character above 7 is out of range.
_ULID = re.compile(r"[0-7][0-9A-HJKMNP-TV-Z]{25}")


class _Monotonic:
    """Ids of one process rise also within a millisecond, so that they sort as they were made."""

    def __init__(self) -> None:
        self._last = 0

    def next(self, now_ms: int) -> int:
        value = (now_ms << _RANDOM_BITS) | secrets.randbits(_RANDOM_BITS)
        if value >> _RANDOM_BITS <= self._last >> _RANDOM_BITS:
            value = self._last + 1
        self._last = value
        return value


_monotonic = _Monotonic()


def ulid(now_ms: int | None = None) -> str:
    """A new ULID; rises within the process."""
    value = _monotonic.next(time.time_ns() // 1_000_000 if now_ms is None else now_ms)
    characters: list[str] = []
    for _ in range(26):
        characters.append(_ALPHABET[value & 31])
        value >>= 5
    return "".join(reversed(characters))


def new_id(prefix: str) -> str:
    """A new id, such as `sess_01J…`. Raises ValueError for a prefix that SPEC §3 does not list."""
    if prefix not in PREFIXES:
        raise ValueError(f"no such id prefix: {prefix!r}")
    return f"{prefix}_{ulid()}"


def is_id(prefix: str, text: str) -> bool:
    """Whether `text` is a well-formed id with this prefix."""
    head, separator, tail = text.partition("_")
    return head == prefix and separator == "_" and _ULID.fullmatch(tail) is not None


def check_id(prefix: str, text: str) -> str:
    """`text` itself when it is a well-formed id; raises ValueError saying what was expected."""
    if not is_id(prefix, text):
        raise ValueError(f"{text[:80]!r} is not an id of the form {prefix}_ and 26 Crockford characters")
    return text
