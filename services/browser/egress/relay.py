"""Moving bytes between two connections, with backpressure and a count."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable

from services.browser.egress.request_head import BadRequest

CHUNK_BYTES = 64 * 1024
_CHUNK_LINE_BYTES = 256
_CHUNK_SIZE = re.compile(rb"[0-9A-Fa-f]{1,15}")


async def pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, count: Callable[[int], None]) -> None:
    """Copy until `reader` ends. Raises OSError of either side. The owner watches for silence."""
    while data := await reader.read(CHUNK_BYTES):
        count(len(data))
        writer.write(data)
        await writer.drain()


async def copy_body(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, size: int, count: Callable[[int], None]
) -> None:
    """Copy a request's body: `size` bytes, or chunks up to the last when it is -1.

    Raises BadRequest, asyncio.IncompleteReadError, OSError.
    """
    if size >= 0:
        await _copy_exactly(reader, writer, size, count)
        return
    while True:
        line = await _line(reader)
        writer.write(line)
        size_text = line.partition(b";")[0].strip()
        if not _CHUNK_SIZE.fullmatch(size_text):
            raise BadRequest("not a chunk")
        length = int(size_text, 16)
        if length == 0:
            break
        await _copy_exactly(reader, writer, length + 2, count)
    while True:  # trailers
        line = await _line(reader)
        writer.write(line)
        if line == b"\r\n":
            await writer.drain()
            return


async def _copy_exactly(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, size: int, count: Callable[[int], None]
) -> None:
    while size:
        data = await reader.read(min(size, CHUNK_BYTES))
        if not data:
            raise asyncio.IncompleteReadError(b"", size)
        size -= len(data)
        count(len(data))
        writer.write(data)
        await writer.drain()


async def _line(reader: asyncio.StreamReader) -> bytes:
    line = await reader.readuntil(b"\r\n")
    if len(line) > _CHUNK_LINE_BYTES:
        raise BadRequest("a chunk line is too long")
    return line
