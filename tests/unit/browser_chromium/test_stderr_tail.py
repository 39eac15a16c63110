"""Standard error is drained and its end kept."""

from __future__ import annotations

import os

from services.browser.chromium.stderr_tail import KEPT_BYTES, StderrTail
from tests.waiting import async_until


async def test_the_end_is_kept_and_what_was_dropped_is_counted() -> None:
    reader, writer = os.pipe()
    tail = StderrTail(reader)
    written = 0
    for number in range(20):
        written += os.write(writer, b"%d" % (number % 10) * 2000)
        await async_until(lambda written=written: tail.dropped_bytes + len(tail.text()) == written, "drained")
    assert len(tail.text()) == KEPT_BYTES
    assert tail.text().endswith("8" * 2000 + "9" * 2000)
    os.close(writer)
    tail.close()
    tail.close()


async def test_a_writer_is_never_held_up_even_by_more_than_a_pipe_holds() -> None:
    reader, writer = os.pipe()
    tail = StderrTail(reader)
    os.set_blocking(writer, False)
    left = 1_000_000
    while left:
        try:
            left -= os.write(writer, b"x" * min(left, 10_000))
        except BlockingIOError:
            before = tail.dropped_bytes
            await async_until(lambda before=before: tail.dropped_bytes > before, "room in the pipe")
    os.close(writer)
    await async_until(lambda: tail.dropped_bytes == 1_000_000 - KEPT_BYTES, "all drained")
    tail.close()


async def test_what_is_still_in_the_pipe_at_the_end_is_taken() -> None:
    reader, writer = os.pipe()
    tail = StderrTail(reader)
    os.write(writer, b"last words \xff")
    tail.close()
    os.close(writer)
    assert tail.text() == "last words \N{REPLACEMENT CHARACTER}"
