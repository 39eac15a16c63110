from __future__ import annotations

from pathlib import Path

import pytest
from hyperkitty.events.v1.events_pb2 import Event
from hyperkitty.operations.v1.errors_pb2 import ErrorCode
from hyperkitty.operations.v1.operations_pb2 import OPERATION_STATUS_FAILED, OPERATION_STATUS_SUCCEEDED, Operation

from services.kit.clock import ManualClock
from services.kit.ids import new_id
from services.kit.interrupted import Interrupted
from services.kit.json_values import from_struct, to_struct
from services.kit.memory_events import MemoryEventLog
from services.kit.memory_store import MemoryStore
from services.kit.recorder import Recorder
from services.kit.spool import Spool
from services.kit.store import proto_codec


class Left:
    """A log as a process that was killed left it."""

    def __init__(self, path: Path) -> None:
        self.clock = ManualClock()
        self.log = MemoryEventLog()
        self.records = MemoryStore(proto_codec(Operation))
        spool = Spool(path)
        spool.open()
        recorder = Recorder("browser", self.log, self.records, spool)
        self.interrupted = Interrupted("browser", self.log, self.records, recorder, self.clock)

    async def event(self, category: str, operation_id: str) -> None:
        await self.log.publish(
            Event(
                event_id=new_id("evt"),
                category=category,
                tenant="default",
                subject="tab_1",
                session_id="sess_1",
                operation_id=operation_id,
                request_id="r1",
                data=to_struct({"op": "click"}, 1_000),
                emitted_at_ms=self.clock.now_ms(),
            )
        )

    async def record(self, operation_id: str) -> Operation:
        entry = await self.records.get(f"browser.{operation_id}")
        assert entry is not None
        return entry.value


@pytest.fixture
def left(tmp_path: Path) -> Left:
    return Left(tmp_path / "x.spool")


async def test_an_intent_without_outcome_failed_and_is_said_once(left: Left) -> None:
    operation_id = new_id("op")
    await left.event("browser.action.started", operation_id)
    assert await left.interrupted.settle("browser") == 1
    failure = left.log.events[-1]
    assert (failure.category, failure.operation_id, failure.session_id) == (
        "browser.action.failed",
        operation_id,
        "sess_1",
    )
    assert from_struct(failure.data)["code"] == "interrupted"
    record = await left.record(operation_id)
    assert (record.status, record.error.code) == (OPERATION_STATUS_FAILED, ErrorCode.ERROR_CODE_INTERRUPTED)
    assert (record.kind, record.subject, record.tenant) == ("click", "tab_1", "default")
    assert await left.interrupted.settle("browser") == 0
    assert len(left.log.events) == 2


async def test_what_ended_keeps_its_end(left: Left) -> None:
    done, told = new_id("op"), new_id("op")
    await left.event("browser.action.started", done)
    await left.event("browser.action.click", done)
    await left.records.put(f"browser.{done}", Operation(operation_id=done, status=OPERATION_STATUS_SUCCEEDED))
    await left.event("browser.action.started", told)
    await left.event("browser.action.click", told)
    assert await left.interrupted.settle("browser") == 1
    assert (await left.record(told)).status == OPERATION_STATUS_SUCCEEDED
    assert len(left.log.events) == 4


async def test_old_operations_and_others_events_are_left_alone(left: Left) -> None:
    await left.event("browser.action.started", new_id("op"))
    left.clock.advance(200)
    await left.event("agent.action.started", new_id("op"))
    await left.event("browser.session.crashed", "")
    assert await left.interrupted.settle("browser") == 0
    assert await left.records.keys() == []
