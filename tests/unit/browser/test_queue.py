"""The queue for sessions: bounded, fair between tenants and agents, safe against those who give up."""

from __future__ import annotations

import asyncio
from contextlib import suppress

import pytest
from hyperkitty.operations.v1.errors_pb2 import ErrorCode

from services.browser.queue import Admission
from services.kit import deadlines
from services.kit.errors import Refusal


class Line:
    """Callers of one admission; `order` is who got a place."""

    def __init__(self, limit: int, most_waiting: int = 64) -> None:
        self.admission = Admission(limit, lambda: 0, most_waiting)
        self.order: list[str] = []
        self.leave: dict[str, asyncio.Event] = {}

    def call(self, name: str, tenant: str = "t", agent_id: str = "", seconds: float = 5.0) -> asyncio.Task[None]:
        self.leave[name] = asyncio.Event()

        async def work() -> None:
            with deadlines.within(seconds):
                async with self.admission.place(tenant, agent_id):
                    self.order.append(name)
                    await self.leave[name].wait()

        return asyncio.create_task(work())


async def settle() -> None:
    for _ in range(10):
        await asyncio.sleep(0)


async def test_tenants_and_then_agents_take_turns() -> None:
    line = Line(1)
    tasks = [line.call("first")]
    await settle()
    for name, tenant, agent in (
        ("a1", "a", "x"),
        ("a2", "a", "x"),
        ("a3", "a", "y"),
        ("b1", "b", ""),
        ("b2", "b", ""),
    ):
        tasks.append(line.call(name, tenant, agent))
        await settle()
    for _ in range(6):
        line.leave[line.order[-1]].set()
        await settle()
    await asyncio.gather(*tasks)
    assert line.order == ["first", "a1", "b1", "a3", "b2", "a2"]
    assert line.admission.used == 0


async def test_a_full_queue_refuses_with_its_numbers() -> None:
    line = Line(1, most_waiting=2)
    tasks = [line.call(name) for name in ("in", "one", "two")]
    await settle()
    with pytest.raises(Refusal) as caught:
        await line.call("three")
    assert caught.value.code == ErrorCode.ERROR_CODE_RESOURCE_EXHAUSTED
    told = {key: caught.value.details[key] for key in ("sessions", "limit", "queued", "queue_limit")}
    assert told == {"sessions": 1, "limit": 1, "queued": 2, "queue_limit": 2}
    for event in line.leave.values():
        event.set()
    await asyncio.gather(*tasks)


async def test_who_gives_up_loses_no_place_for_others() -> None:
    line = Line(1)
    first, second, third = line.call("first"), line.call("second"), line.call("third")
    await settle()
    # Its turn comes in the very moment in which it is cancelled.
    line.leave["first"].set()
    await asyncio.wait({first})
    second.cancel()
    with suppress(asyncio.CancelledError):
        await second
    await settle()
    assert line.order[-1] == "third"
    line.leave["third"].set()
    await third
    assert (line.admission.used, line.admission.waiting) == (0, 0)


async def test_waiting_ends_with_the_deadline() -> None:
    line = Line(1)
    held = line.call("held")
    await settle()
    with pytest.raises(Refusal) as caught:
        await line.call("late", seconds=0.05)
    assert caught.value.code == ErrorCode.ERROR_CODE_DEADLINE_EXCEEDED
    assert line.admission.waiting == 0
    line.leave["held"].set()
    await held
