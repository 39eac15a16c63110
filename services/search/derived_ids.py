"""Ids that follow from what they name: a stage that is run again gives the same ones."""

from __future__ import annotations

import hashlib

from services.kit.ids import PREFIXES

_CROCKFORD = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
_BITS = 128
_LETTERS = 26


def derived_id(prefix: str, *parts: str) -> str:
    """An id of the usual form; equal parts give equal ids. Raises ValueError for an unknown prefix."""
    if prefix not in PREFIXES:
        raise ValueError(f"no such id prefix: {prefix!r}")
    digest = hashlib.sha256("\0".join(parts).encode()).digest()
    value = int.from_bytes(digest[: _BITS // 8])
    letters = [_CROCKFORD[(value >> (5 * place)) & 31] for place in reversed(range(_LETTERS))]
    return f"{prefix}_{''.join(letters)}"
