"""Pages of a list (SPEC §11): `page_size` ≤ 200, 50 when 0; a page token names the last entry that was given."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable, Sequence
from typing import TypeVar

from services.kit.validation import refuse_fields

T = TypeVar("T")

DEFAULT_SIZE = 50


def page_of(
    entries: Sequence[T], page_size: int, page_token: str, *, key: Callable[[T], str], newest_first: bool = True
) -> tuple[list[T], str]:
    """The entries after the token, and the next token (empty on the last page).

    `entries` are sorted by `key`, falling when `newest_first`. A token stays good when the entry it names is gone.
    Raises Refusal invalid_arguments for a token that is none.
    """
    start = 0
    if page_token:
        last = _read(page_token)
        start = sum(1 for entry in entries if (key(entry) >= last if newest_first else key(entry) <= last))
    page = list(entries[start : start + (page_size or DEFAULT_SIZE)])
    more = start + len(page) < len(entries)
    return page, _write(key(page[-1])) if more and page else ""


def _write(key: str) -> str:
    return base64.urlsafe_b64encode(key.encode()).decode().rstrip("=")


def _read(token: str) -> str:
    try:
        return base64.b64decode(token + "=" * (-len(token) % 4), altchars=b"-_", validate=True).decode()
    except (binascii.Error, UnicodeDecodeError) as error:
        raise refuse_fields([("page_token", f"{token[:60]!r} is not one that this list gave")]) from error
