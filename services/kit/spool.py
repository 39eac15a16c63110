"""What could not be written to the event log: kept on disk, fsynced, until the log takes it (SPEC §9).

A file of framed items, oldest first. Appending returns when the bytes are on the disk; items appended together share
one fsync. A torn tail, as kill -9 or a full disk leaves it, is cut off when the file is opened. The file is emptied
when its last item was taken; items taken before that are sent again after a crash and dropped as repeats.
"""

from __future__ import annotations

import asyncio
import os
import struct
import zlib
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Literal

import msgspec

from services.kit import logs

log = logs.get(__name__)

MOST_BYTES = 64 * 1024**2
_FRAME = struct.Struct(">II")


class SpoolFull(Exception):
    """No room for more; what was not taken is lost to the log and is counted."""


class SpoolItem(msgspec.Struct, frozen=True):
    """Something that must reach the log or the records, once. `item_id` tells repeats."""

    kind: Literal["event", "operation"]
    item_id: str
    payload: bytes


Send = Callable[[SpoolItem], Awaitable[bool]]

_decoder = msgspec.msgpack.Decoder(SpoolItem)


def _frame(item: SpoolItem) -> bytes:
    body = msgspec.msgpack.encode(item)
    return _FRAME.pack(len(body), zlib.crc32(body)) + body


def _read_frames(data: bytes) -> tuple[list[SpoolItem], int]:
    """Whole items from the beginning, and where they end."""
    items: list[SpoolItem] = []
    position = 0
    while position + _FRAME.size <= len(data):
        length, checksum = _FRAME.unpack_from(data, position)
        body = data[position + _FRAME.size : position + _FRAME.size + length]
        if len(body) != length or zlib.crc32(body) != checksum:
            break
        try:
            items.append(_decoder.decode(body))
        except msgspec.MsgspecError:
            break
        position += _FRAME.size + length
    return items, position


class Spool:
    """One service's spool. `nonempty` is set while something waits, `emptied` while nothing does."""

    def __init__(self, path: Path, most_bytes: int = MOST_BYTES) -> None:
        self._path = path
        self._most_bytes = most_bytes
        self._items: deque[SpoolItem] = deque()
        self._bytes = 0
        self._lock = asyncio.Lock()
        self.nonempty = asyncio.Event()
        self.emptied = asyncio.Event()
        self.emptied.set()
        self.dropped = 0

    def __len__(self) -> int:
        return len(self._items)

    @property
    def is_empty(self) -> bool:
        return not self._items

    def open(self) -> None:
        """Reads what an earlier process left behind. Raises OSError."""
        self._path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        descriptor = os.open(self._path, os.O_RDWR | os.O_CREAT, 0o600)
        try:
            data = b""
            while part := os.read(descriptor, 1 << 20):
                data += part
            items, end = _read_frames(data)
            if end != len(data):
                log.warning("spool_tail_cut", bytes=len(data) - end)
                os.ftruncate(descriptor, end)
                os.fsync(descriptor)
        finally:
            os.close(descriptor)
        self._items, self._bytes = deque(items), end
        if items:
            self._mark_waiting()

    def _mark_waiting(self) -> None:
        self.nonempty.set()
        self.emptied.clear()

    async def append(self, items: Sequence[SpoolItem]) -> None:
        """Returns when the items are on the disk. Raises SpoolFull, OSError."""
        data = b"".join(_frame(item) for item in items)
        async with self._lock:
            if self._bytes + len(data) > self._most_bytes:
                self.dropped += len(items)
                raise SpoolFull(f"{self._bytes} bytes wait already")
            # The disk may be slow: this happens only while the log is away, so a thread costs nothing that matters.
            await asyncio.to_thread(self._write, data)
            self._bytes += len(data)
            self._items.extend(items)
            self._mark_waiting()

    def _write(self, data: bytes) -> None:
        descriptor = os.open(self._path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        try:
            view = memoryview(data)
            while view:
                view = view[os.write(descriptor, view) :]
            os.fsync(descriptor)
        finally:
            os.close(descriptor)

    async def drain(self, send: Send) -> bool:
        """Hands items over in order until none is left (True) or one is not taken (False)."""
        while self._items:
            if not await send(self._items[0]):
                return False
            self._items.popleft()
            async with self._lock:
                if not self._items:
                    await asyncio.to_thread(self._clear)
                    self._bytes = 0
                    self.nonempty.clear()
                    self.emptied.set()
        return True

    def _clear(self) -> None:
        descriptor = os.open(self._path, os.O_WRONLY | os.O_CREAT, 0o600)
        try:
            os.ftruncate(descriptor, 0)
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
