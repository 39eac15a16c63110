"""Numbers of refs: unique in a session, never used again; and what each was given to (SPEC §4)."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass

MOST_KEPT = 100_000


@dataclass(frozen=True, slots=True)
class RefEntry:
    """What a ref names: an element of one document of one frame."""

    ref: str
    cdp_session_id: str
    frame_id: str
    loader_id: str
    role: str
    name: str


class RefNumbers:
    """The numbers of one browser session and the table of what they were given to.

    The scripts in a page mint refs out of numbers lent for one call; of those left over only the newest come back,
    so that no number is ever given twice. The oldest entries are dropped beyond MOST_KEPT (counted).
    """

    def __init__(self, first: int = 1) -> None:
        self._next = first
        self._entries: OrderedDict[str, RefEntry] = OrderedDict()
        self.dropped = 0

    @property
    def next(self) -> int:
        """The smallest number that was never given."""
        return self._next

    def lend(self, count: int) -> int:
        """The first of `count` numbers for one call into a page."""
        first = self._next
        self._next += count
        return first

    def settle(self, first: int, count: int, used: int) -> None:
        """Numbers from `used` on were not needed by the call that was lent `count` from `first`."""
        if self._next == first + count and first <= used <= self._next:
            self._next = used

    def record(self, entry: RefEntry) -> None:
        """Remember what a ref was given to."""
        self._entries[entry.ref] = entry
        if len(self._entries) > MOST_KEPT:
            self._entries.popitem(last=False)
            self.dropped += 1

    def get(self, ref: str) -> RefEntry | None:
        """What a ref was given to; None when it never was, or so long ago that it is forgotten."""
        return self._entries.get(ref)
