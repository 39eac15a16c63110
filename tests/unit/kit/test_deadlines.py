from __future__ import annotations

import asyncio

import pytest
from hyperkitty.operations.v1.errors_pb2 import ErrorCode

from services.kit.deadlines import Budget, current_budget, within
from services.kit.errors import Refusal


async def test_a_limit_within_the_budget_times_out() -> None:
    with within(5.0), pytest.raises(TimeoutError):
        async with current_budget().limit(0.01):
            await asyncio.Event().wait()


async def test_the_budgets_end_is_a_refusal() -> None:
    with within(0.01), pytest.raises(Refusal) as caught:
        async with current_budget().limit(5.0):
            await asyncio.Event().wait()
    assert caught.value.code == ErrorCode.ERROR_CODE_DEADLINE_EXCEEDED
    assert caught.value.details == {"timeout_ms": 10}


async def test_an_inner_timeout_of_the_work_itself_stays_one() -> None:
    with within(5.0), pytest.raises(TimeoutError):
        async with current_budget().limit():
            raise TimeoutError


async def test_budgets_only_shrink() -> None:
    with within(1.0) as outer, within(60.0) as inner:
        assert inner.left() <= outer.left() + 0.001
    assert current_budget().left() > 29


async def test_cancelling_stays_cancelling() -> None:
    async def work() -> None:
        async with Budget(5.0).limit():
            await asyncio.Event().wait()

    task = asyncio.create_task(work())
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


def test_a_used_up_budget_refuses_at_once() -> None:
    budget = Budget(0.0)
    assert budget.left() == 0.0
    with pytest.raises(Refusal):
        budget.remaining()
