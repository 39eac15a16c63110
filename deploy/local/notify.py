"""Readiness as sd_notify(3) has it: a child sends `READY=1` as a datagram to $NOTIFY_SOCKET."""

from __future__ import annotations

import asyncio
import socket
from pathlib import Path

DATAGRAM_BYTES = 4096


class ReadySocket:
    """The socket of one start of one process: made anew each time, so that no word of an earlier start counts."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self.ready = asyncio.Event()
        path.unlink(missing_ok=True)
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_NONBLOCK)
        self._socket.bind(str(path))
        self._loop = asyncio.get_running_loop()
        self._loop.add_reader(self._socket, self._receive)

    def _receive(self) -> None:
        try:
            datagram = self._socket.recv(DATAGRAM_BYTES)
        except BlockingIOError:
            return
        if b"READY=1" in datagram.split(b"\n"):
            self.ready.set()

    def close(self) -> None:
        self._loop.remove_reader(self._socket)
        self._socket.close()
        self._path.unlink(missing_ok=True)
