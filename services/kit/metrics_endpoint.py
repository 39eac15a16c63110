"""Serves the process's metrics to Prometheus: one small HTTP answer, on a Unix socket or a port."""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from services.kit import telemetry

_REQUEST_SECONDS = 5.0
_MOST_CONNECTIONS = 16


class _Endpoint:
    def __init__(self) -> None:
        self._open = 0

    async def answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._open += 1
        try:
            if self._open <= _MOST_CONNECTIONS:
                async with asyncio.timeout(_REQUEST_SECONDS):
                    head = await reader.readuntil(b"\r\n\r\n")
                    writer.write(_response(head))
                    await writer.drain()
        except (TimeoutError, OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            pass
        finally:
            self._open -= 1
            writer.close()
            with contextlib.suppress(OSError):
                await writer.wait_closed()


def _response(head: bytes) -> bytes:
    if not head.startswith(b"GET /metrics "):
        return b"HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"
    body = telemetry.exposition()
    kind = b"content-type: text/plain; version=0.0.4; charset=utf-8\r\n"
    return b"HTTP/1.1 200 OK\r\n%scontent-length: %d\r\nconnection: close\r\n\r\n%s" % (kind, len(body), body)


@asynccontextmanager
async def serve_metrics(listen: str) -> AsyncGenerator[None]:
    """Serves `GET /metrics` on `unix:<path>` or `host:port` while inside. Raises OSError."""
    endpoint = _Endpoint()
    if listen.startswith("unix:"):
        path = listen.removeprefix("unix:")
        with contextlib.suppress(FileNotFoundError):
            os.unlink(path)
        server = await asyncio.start_unix_server(endpoint.answer, path)
    else:
        host, _, port = listen.rpartition(":")
        server = await asyncio.start_server(endpoint.answer, host.strip("[]") or None, int(port))
    try:
        yield
    finally:
        server.close()
