"""Any text as one token of a NATS subject or of a store's key.

A token may hold letters, digits, `-`, `_` and `=`. Ids pass unchanged; every other byte becomes `=XX`; the empty
text is `_`; what would be longer than 128 characters is `==` and its SHA-256, so that no value breaks a subject
(dots, wildcards, spaces) or its length. Values are never read back from tokens: the payload carries them.
"""

from __future__ import annotations

import hashlib
import re
from functools import lru_cache

EMPTY = "_"
_LONGEST = 128
_PLAIN = re.compile(r"[A-Za-z0-9_-]{1,128}")
_TOKEN = re.compile(r"[A-Za-z0-9_=-]+")
_SAFE = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_")


@lru_cache(maxsize=8192)
def encode_token(text: str) -> str:
    """The token that stands for `text`; different texts have different tokens."""
    if not text:
        return EMPTY
    if text != EMPTY and _PLAIN.fullmatch(text):
        return text
    if text == EMPTY:
        return "=5F"
    raw = text.encode("utf-8", "surrogatepass")
    encoded = "".join(chr(byte) if byte in _SAFE else f"={byte:02X}" for byte in raw)
    return encoded if len(encoded) <= _LONGEST else f"=={hashlib.sha256(raw).hexdigest()}"


def check_key(key: str) -> str:
    """`key` when it is tokens joined by dots; raises ValueError."""
    if not all(_TOKEN.fullmatch(token) for token in key.split(".")) or len(key) > 1024:
        raise ValueError(f"not a key of tokens joined by dots: {key[:100]!r}")
    return key
