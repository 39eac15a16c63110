"""Intent, outcome, record and spool, seen from outside: on the log, in the store, on disk."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from hyperkitty.operations.v1 import operations_pb2
from hyperkitty.operations.v1.errors_pb2 import ErrorCode

from services.kit import record, recorder
from services.kit.errors import Refusal
from services.kit.identity import calling_as
from services.kit.json_values import from_struct
from services.kit.operations import current_operation
from services.kit.spool import Spool
from tests.unit.kit.echo_service import Echo, Request, caller, running_echo


@pytest.fixture
async def echo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Echo]:
    monkeypatch.setattr(recorder, "ACK_SECONDS", 0.2)
    async with running_echo(tmp_path) as running:
        yield running


def handler(echo: Echo, work: Any) -> None:
    echo.servicer.work = work


async def click(_: str) -> str:
    current_operation().kind = "click"
    await record.intent("browser.action.started", subject="tab_1", session_id="sess_1", data={"op": "click"})
    record.note("browser.tab.opened", subject="tab_2")
    record.outcome("browser.action.click", subject="tab_1", session_id="sess_1", data={"ok": True})
    return "clicked"


async def operation_id(call: Any) -> str:
    return dict(await call.initial_metadata())["x-operation-id"]


async def test_intent_outcome_and_record_are_there_before_the_reply(echo: Echo) -> None:
    handler(echo, click)
    with calling_as(caller(agent_id="agent_1")):
        call = echo.stub().Unary(Request(text="a"), metadata=(("x-request-id", "r1"),))
        await call
    assert echo.log() == ["browser.action.started", "browser.tab.opened", "browser.action.click"]
    outcome = echo.event_log.events[-1]
    done = await echo.record_of(await operation_id(call))
    assert (outcome.operation_id, outcome.request_id, outcome.actor) == (done.operation_id, "r1", "tok_1")
    assert (outcome.tenant, outcome.agent_id, outcome.session_id, outcome.subject) == (
        "default",
        "agent_1",
        "sess_1",
        "tab_1",
    )
    assert (done.kind, done.status, done.tenant) == ("click", operations_pb2.OPERATION_STATUS_SUCCEEDED, "default")
    assert done.updated_at_ms >= done.created_at_ms > 0


async def test_a_failing_handler_leaves_an_outcome_and_a_failed_record(echo: Echo) -> None:
    async def fail(_: str) -> str:
        await record.intent("browser.action.started", subject="tab_1")
        raise Refusal(ErrorCode.ERROR_CODE_STALE_REF, "e1 is gone")

    handler(echo, fail)
    with calling_as(caller()):
        call = echo.stub().Unary(Request(text="a"))
        with pytest.raises(Refusal, match="stale_ref"):
            await call
    assert echo.log() == ["browser.action.started", "browser.action.failed"]
    assert from_struct(echo.event_log.events[1].data)["code"] == "stale_ref"
    assert echo.event_log.events[1].subject == "tab_1"
    done = await echo.record_of(await operation_id(call))
    assert (done.status, done.error.code) == (operations_pb2.OPERATION_STATUS_FAILED, ErrorCode.ERROR_CODE_STALE_REF)


async def test_an_intent_can_name_its_failure_and_none_is_made_up(echo: Echo) -> None:
    async def fail(_: str) -> str:
        await record.intent("browser.navigation.started", failed="browser.navigation.failed")
        record.outcome("browser.navigation.completed")
        await record.intent("message.sent")
        raise ValueError("boom")

    handler(echo, fail)
    with calling_as(caller()), pytest.raises(Refusal, match="internal"):
        await echo.stub().Unary(Request(text="a"))
    assert echo.log() == ["browser.navigation.started", "message.sent", "browser.navigation.completed"]


async def test_a_category_outside_of_the_catalogue_is_a_fault(echo: Echo) -> None:
    async def wrong(_: str) -> str:
        await record.intent("browser.made.up")
        return ""

    handler(echo, wrong)
    with calling_as(caller()), pytest.raises(Refusal, match="internal"):
        await echo.stub().Unary(Request(text="a"))
    assert echo.log() == []


async def test_cancelling_a_call_never_cancels_its_record(echo: Echo) -> None:
    async def hang(_: str) -> str:
        await record.intent("browser.action.started", subject="tab_1")
        echo.servicer.entered.set()
        await asyncio.Event().wait()
        return ""

    handler(echo, hang)
    with calling_as(caller()):
        call = echo.stub().Unary(Request(text="a"))
        task = asyncio.ensure_future(_await(call))
        while "browser.action.started" not in echo.log():
            await asyncio.sleep(0.01)
        task.cancel()
        async with asyncio.timeout(5):
            while not await echo.operations.keys():
                await asyncio.sleep(0.01)
    done = (await echo.operations.entries())[0].value
    assert done.error.code == ErrorCode.ERROR_CODE_CANCELLED
    assert echo.log() == ["browser.action.started", "browser.action.failed"]


async def _await(call: Any) -> Any:
    return await call


async def test_without_the_log_nothing_is_done(echo: Echo) -> None:
    done: list[str] = []

    async def act(text: str) -> str:
        await record.intent("browser.action.started")
        done.append(text)
        return text

    handler(echo, act)
    echo.event_log.available = False
    with calling_as(caller()):
        call = echo.stub().Unary(Request(text="a"))
        with pytest.raises(Refusal) as caught:
            await call
        assert caught.value.code == ErrorCode.ERROR_CODE_EVENT_LOG_UNAVAILABLE
        assert caught.value.details["operation_id"] == await operation_id(call)
        assert done == []
        # The next one is refused before its handler hears of it.
        calls = len(echo.servicer.calls)
        with pytest.raises(Refusal, match="event_log_unavailable"):
            await echo.stub().Unary(Request(text="b"))
        assert len(echo.servicer.calls) == calls
        echo.event_log.available = True
        echo.recorder.wake()
        async with asyncio.timeout(5):
            await echo.recorder.drained()
        assert (await echo.stub().Unary(Request(text="c"))).text == "c"
    # What could not be confirmed is on the log now, with its failure; every call has its record.
    assert echo.log()[:2] == ["browser.action.started", "browser.action.failed"]
    assert len(await echo.operations.keys()) == 3


async def test_an_outcome_that_is_not_acknowledged_is_spooled_and_drains_in_order(echo: Echo) -> None:
    async def act(text: str) -> str:
        await record.intent("browser.action.started")
        echo.event_log.available = False
        record.note("browser.tab.opened")
        record.outcome("browser.action.click")
        return "the result"

    handler(echo, act)
    with calling_as(caller()):
        call = echo.stub().Unary(Request(text="a"))
        with pytest.raises(Refusal) as caught:
            await call
    assert caught.value.code == ErrorCode.ERROR_CODE_EVENT_LOG_UNAVAILABLE
    assert caught.value.details["operation_id"] == await operation_id(call)
    assert echo.log() == ["browser.action.started"]
    assert echo.recorder.spooled >= 2
    echo.event_log.available = True
    echo.recorder.wake()
    async with asyncio.timeout(5):
        await echo.recorder.drained()
    assert echo.log() == ["browser.action.started", "browser.tab.opened", "browser.action.click"]
    done = await echo.record_of(await operation_id(call))
    assert done.status == operations_pb2.OPERATION_STATUS_SUCCEEDED


async def test_what_was_spooled_survives_the_process(echo: Echo, tmp_path: Path) -> None:
    echo.event_log.available = False
    await record.emit("browser.session.crashed", subject="sess_1", tenant="default")
    await record.emit("browser.tab.crashed", subject="tab_1", tenant="default")
    assert echo.recorder.spooled == 2
    again = Spool(tmp_path / "echo.spool")
    again.open()
    assert len(again) == 2
    echo.event_log.available = True
    echo.recorder.wake()
    async with asyncio.timeout(5):
        await echo.recorder.drained()
    assert echo.log() == ["browser.session.crashed", "browser.tab.crashed"]
    assert echo.event_log.events[0].actor == "system:echo"
    empty = Spool(tmp_path / "echo.spool")
    empty.open()
    assert empty.is_empty


async def test_streams_can_flush_what_they_tell_of(echo: Echo) -> None:
    async def act(text: str) -> str:
        record.outcome("browser.page.read", subject=text)
        await record.flush()
        return text

    handler(echo, act)
    with calling_as(caller()):
        seen = 0
        async for _ in echo.stub().Act(Request(text="ab")):
            seen += 1
            assert len(echo.log()) >= seen
    assert len(await echo.operations.keys()) == 1


async def test_a_repeat_gets_the_first_answer(echo: Echo) -> None:
    stub = echo.stub()
    handler(echo, click)
    with calling_as(caller()):
        metadata = (("idempotency-key", "k1"),)
        first, second = (stub.Unary(Request(text="a"), metadata=metadata) for _ in range(2))
        assert (await first).text == (await second).text == "clicked"
        assert await operation_id(first) == await operation_id(second)
        assert echo.servicer.calls == ["a"]
        with pytest.raises(Refusal, match="already_exists"):
            await stub.Unary(Request(text="b"), metadata=metadata)
        assert (await stub.Unary(Request(text="b"), metadata=(("idempotency-key", "k2"),))).text == "clicked"
    with calling_as(caller(tenant="other")):
        await stub.Unary(Request(text="b"), metadata=metadata)
    assert echo.servicer.calls == ["a", "b", "b"]


async def test_a_repeat_while_the_first_runs_waits_for_it(echo: Echo) -> None:
    release = asyncio.Event()

    async def wait(text: str) -> str:
        await release.wait()
        raise Refusal(ErrorCode.ERROR_CODE_OBSCURED, "in front")

    handler(echo, wait)
    metadata = (("idempotency-key", "k1"),)
    with calling_as(caller()):
        stub = echo.stub()
        calls = [asyncio.ensure_future(_await(stub.Unary(Request(text="a"), metadata=metadata))) for _ in range(3)]
        await echo.servicer.entered.wait()
        release.set()
        results = await asyncio.gather(*calls, return_exceptions=True)
    assert [getattr(result, "code", None) for result in results] == [ErrorCode.ERROR_CODE_OBSCURED] * 3
    assert echo.servicer.calls == ["a"]


async def test_nothing_done_gives_the_key_back(echo: Echo) -> None:
    async def away(_: str) -> str:
        raise Refusal(ErrorCode.ERROR_CODE_UNAVAILABLE, "not yet")

    async def here(_: str) -> str:
        return "now"

    metadata = (("idempotency-key", "k1"),)
    with calling_as(caller()):
        handler(echo, away)
        with pytest.raises(Refusal, match="unavailable"):
            await echo.stub().Unary(Request(text="a"), metadata=metadata)
        handler(echo, here)
        assert (await echo.stub().Unary(Request(text="a"), metadata=metadata)).text == "now"
