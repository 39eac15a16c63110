"""Chromium's standard error: always drained, so that it never blocks, its end kept for a crash report."""

from __future__ import annotations

import asyncio
import os

KEPT_BYTES = 16 * 1024
_READ_BYTES = 64 * 1024


class StderrTail:
    """Drains a pipe and keeps the last `KEPT_BYTES`; earlier output is dropped and counted. Owns the descriptor."""

    def __init__(self, descriptor: int) -> None:
        self._loop = asyncio.get_running_loop()
        self._descriptor: int | None = descriptor
        self._kept = bytearray()
        self.dropped_bytes = 0
        os.set_blocking(descriptor, False)
        self._loop.add_reader(descriptor, self._drain)

    def text(self) -> str:
        """What is kept; undecodable bytes are replaced. It is a browser's, so it may hold what a page wrote."""
        return self._kept.decode(errors="replace")

    def close(self) -> None:
        """Take what is there, and stop."""
        self._drain()
        descriptor, self._descriptor = self._descriptor, None
        if descriptor is not None:
            self._loop.remove_reader(descriptor)
            os.close(descriptor)

    def _drain(self) -> None:
        if self._descriptor is None:
            return
        try:
            data = os.read(self._descriptor, _READ_BYTES)
        except BlockingIOError:
            return
        self._kept += data
        excess = len(self._kept) - KEPT_BYTES
        if excess > 0:
            del self._kept[:excess]
            self.dropped_bytes += excess
        if not data:  # nobody holds the other end any more
            self._loop.remove_reader(self._descriptor)
