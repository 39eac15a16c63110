"""One session's hanging names do not keep another's waiting."""

from __future__ import annotations

import asyncio
import threading

from services.browser.egress.look_ups import MOST_AT_ONCE, LookUps
from services.kit.addresses import Address


async def test_hanging_names_of_one_session_stall_no_other_and_stay_bounded() -> None:
    answer, started = threading.Event(), threading.Semaphore(0)
    running = 0

    def hanging(_name: str, _port: int) -> list[Address]:
        nonlocal running
        running += 1
        started.release()
        answer.wait(10)
        return []

    stuck, other = LookUps(hanging), LookUps(lambda _name, _port: [])
    waiting = [asyncio.create_task(stuck(f"n{number}.test", 80)) for number in range(40)]
    try:
        await asyncio.to_thread(lambda: [started.acquire(timeout=5) for _ in range(MOST_AT_ONCE)])
        assert running == MOST_AT_ONCE
        async with asyncio.timeout(1):
            assert await other("quick.test", 80) == []
            assert await asyncio.to_thread(lambda: 1) == 1
        # Giving up gives no thread back before it is done.
        waiting[0].cancel()
        await asyncio.wait({waiting[0]})
        assert running == MOST_AT_ONCE
    finally:
        answer.set()
        await asyncio.gather(*waiting, return_exceptions=True)
    assert running == 40
