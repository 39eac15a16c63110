"""A child's output, kept in a file of bounded size with one older generation beside it."""

from __future__ import annotations

import os
from pathlib import Path

MAX_BYTES = 8 * 1024 * 1024
TAIL_BYTES = 4096


class LogFile:
    """Appends to `<name>.log`; at MAX_BYTES that file becomes `<name>.log.1`, and the older one goes."""

    def __init__(self, path: Path, max_bytes: int = MAX_BYTES) -> None:
        self._path = path
        self._max_bytes = max_bytes
        self.dropped_bytes = 0
        self._open()

    def _open(self) -> None:
        self._descriptor = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
        self._bytes = os.fstat(self._descriptor).st_size

    def write(self, data: bytes) -> None:
        """Append; what the disk refuses is dropped and counted, never kept: a full disk must not stop the system."""
        try:
            if self._bytes + len(data) > self._max_bytes:
                self._rotate()
            self._bytes += os.write(self._descriptor, data)
        except OSError:
            self.dropped_bytes += len(data)

    def _rotate(self) -> None:
        full = self._descriptor
        self._path.replace(self._path.with_name(self._path.name + ".1"))
        self._open()
        os.close(full)

    def tail(self, lines: int) -> list[str]:
        """The newest lines that say something, at most `lines`, for telling why a process ended."""
        try:
            with self._path.open("rb") as file:
                file.seek(max(0, os.fstat(file.fileno()).st_size - TAIL_BYTES))
                text = file.read().decode(errors="replace")
        except OSError:
            return []
        return [line for line in text.splitlines() if line.strip()][-lines:]

    def close(self) -> None:
        os.close(self._descriptor)
