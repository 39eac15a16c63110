"""The pipe's framing: JSON texts separated by NUL bytes (Chromium's --remote-debugging-pipe)."""

from __future__ import annotations

import json


class MessageTooLarge(Exception):
    """A message passed the limit; the stream cannot be followed any further."""


class Deframer:
    """Cuts a byte stream into messages. Holds at most one unfinished message of `max_message_bytes`."""

    def __init__(self, max_message_bytes: int) -> None:
        self._max = max_message_bytes
        self._parts: list[bytes] = []
        self._held = 0

    def feed(self, data: bytes) -> list[bytes]:
        """The messages that `data` completes, in order; empty ones are skipped.

        Raises MessageTooLarge when a message, finished or not, is longer than the limit.
        """
        pieces = data.split(b"\0")
        rest = pieces.pop()
        if pieces and self._parts:
            self._parts.append(pieces[0])
            pieces[0] = b"".join(self._parts)
            self._parts = []
            self._held = 0
        if rest:
            self._parts.append(rest)
            self._held += len(rest)
        if self._held > self._max or any(len(piece) > self._max for piece in pieces):
            raise MessageTooLarge(f"a CDP message is longer than {self._max} bytes")
        return [piece for piece in pieces if piece]


def without_lone_surrogates(message: bytes) -> bytes:
    """The same JSON with every unpaired surrogate escape replaced by U+FFFD.

    A page's strings are UTF-16 and may hold half a pair; strict decoders refuse such a text. This is the one
    place where they are replaced, and only for a message that was refused.
    Raises ValueError when the message is not JSON.
    """
    text = json.dumps(json.loads(message), ensure_ascii=False)
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace").encode()
