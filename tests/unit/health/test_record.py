"""Reading events, operations and artifacts, on memory stores (SPEC §9, §10)."""

import asyncio
from collections.abc import Coroutine
from contextvars import copy_context
from typing import Any, TypeVar

import pytest
from hyperkitty.auth.v1.identity_pb2 import CallerIdentity, TokenScopes
from hyperkitty.events.v1 import event_service_pb2 as events_pb
from hyperkitty.events.v1.events_pb2 import Event
from hyperkitty.operations.v1 import operation_service_pb2 as pb
from hyperkitty.operations.v1.artifacts_pb2 import ARTIFACT_KIND_SCREENSHOT
from hyperkitty.operations.v1.errors_pb2 import ErrorCode
from hyperkitty.operations.v1.operations_pb2 import (
    OPERATION_STATUS_FAILED,
    OPERATION_STATUS_IN_PROGRESS,
    OPERATION_STATUS_SUCCEEDED,
    Operation,
)

from services.health.event_servicer import EventServicer
from services.health.in_progress import InProgress
from services.health.operation_servicer import OperationServicer
from services.kit.artifacts import NewArtifact
from services.kit.clock import ManualClock
from services.kit.errors import Refusal
from services.kit.identity import set_caller
from services.kit.ids import new_id
from services.kit.memory_artifacts import MemoryArtifacts
from services.kit.memory_events import MemoryEventLog
from services.kit.memory_store import MemoryStore
from services.kit.store import proto_codec

T = TypeVar("T")
AGENT = new_id("agent")
ROOT = CallerIdentity(tenant="default", token_id="tok_r", scopes=TokenScopes(root=True))
PERSON = CallerIdentity(tenant="default", token_id="tok_p")
STRANGER = CallerIdentity(tenant="other", token_id="tok_s")
BOUND = CallerIdentity(tenant="default", token_id="tok_b", agent_id=AGENT)


class Record:
    """A log, records and artifacts, and the services that read them."""

    def __init__(self) -> None:
        self.clock = ManualClock()
        self.log = MemoryEventLog(clock=self.clock)
        self.records = MemoryStore(proto_codec(Operation))
        self.artifacts = MemoryArtifacts(self.clock)
        self.events = EventServicer(self.log)
        self.operations = OperationServicer(self.records, InProgress(self.log, self.clock), self.artifacts)

    async def event(self, category: str, **fields: str) -> Event:
        event = Event(event_id=new_id("evt"), category=category, emitted_at_ms=self.clock.now_ms(), tenant="default")
        data = fields.pop("code", "")
        if data:
            event.data.update({"code": data, "message": "why"})
        event.MergeFrom(Event(**fields))  # type: ignore[arg-type]
        await self.log.publish(event)
        return event

    async def ended(self, writer: str = "browser", **fields: Any) -> Operation:
        operation = Operation(
            operation_id=new_id("op"), tenant="default", kind="click", status=OPERATION_STATUS_SUCCEEDED
        )
        operation.MergeFrom(Operation(**fields))
        await self.records.create(f"{writer}.{operation.operation_id}", operation)
        return operation


async def as_caller(identity: CallerIdentity, work: Coroutine[Any, Any, T]) -> T:
    context = copy_context()
    context.run(set_caller, identity)
    return await asyncio.create_task(work, context=context)


@pytest.fixture
def record() -> Record:
    return Record()


async def recent(record: Record, identity: CallerIdentity, **wanted: Any) -> list[str]:
    request = events_pb.ListRecentEventsRequest(**wanted)
    answer = await as_caller(identity, record.events.ListRecentEvents(request, None))
    return [event.category for event in answer.events]


async def test_recent_events_are_those_of_the_tenant_and_of_the_bound_agent(record: Record) -> None:
    await record.event("agent.created", agent_id=AGENT, subject=AGENT)
    await record.event("browser.page.read", session_id="sess_1")
    await record.event("agent.created", tenant="other")
    await record.event("service.started", tenant="system")
    assert await recent(record, PERSON) == ["browser.page.read", "agent.created"]
    assert await recent(record, STRANGER) == ["agent.created"]
    assert await recent(record, BOUND) == ["agent.created"]
    assert await recent(record, BOUND, subject="sess_1") == []
    assert len(await recent(record, ROOT)) == 4
    assert await recent(record, ROOT, category_prefix="agent", limit=1) == ["agent.created"]
    assert await recent(record, PERSON, subject="sess_1") == ["browser.page.read"]


async def test_an_export_is_everything_from_a_point_to_the_end_oldest_first(record: Record) -> None:
    for number in range(5):
        await record.event("agent.created", subject=f"agent_{number}")

    async def exported(after: int) -> list[str]:
        request = events_pb.ExportEventsRequest(after_sequence=after)
        return [item.event.subject async for item in record.events.ExportEvents(request, None)]

    assert await as_caller(PERSON, exported(0)) == [f"agent_{number}" for number in range(5)]
    assert await as_caller(PERSON, exported(3)) == ["agent_3", "agent_4"]


async def test_a_stream_resumes_after_a_sequence_and_goes_on(record: Record) -> None:
    await record.event("agent.created", subject="a")
    await record.event("agent.created", subject="b")
    seen: list[str] = []
    two, three = asyncio.Event(), asyncio.Event()

    async def follow() -> None:
        request = events_pb.StreamEventsRequest(after_sequence=1)
        async for response in record.events.StreamEvents(request, None):
            seen.extend(event.subject for event in response.events)
            two.set()
            if len(seen) == 2:
                three.set()

    following = asyncio.create_task(as_caller(PERSON, follow()))
    async with asyncio.timeout(5):
        await two.wait()
        assert record.events.streams == 1
        await record.event("agent.created", subject="c")
        await three.wait()
    assert seen == ["b", "c"]
    following.cancel()
    await asyncio.wait([following])
    assert record.events.streams == 0


async def get(record: Record, identity: CallerIdentity, operation_id: str) -> Operation:
    request = pb.GetOperationRequest(operation_id=operation_id)
    return (await as_caller(identity, record.operations.GetOperation(request, None))).operation


async def test_a_record_is_found_whoever_wrote_it_and_hidden_from_other_tenants(record: Record) -> None:
    operations = [await record.ended(writer) for writer in ("browser", "agent", "gateway")]
    for operation in operations:
        assert await get(record, PERSON, operation.operation_id) == operation
        with pytest.raises(Refusal) as caught:
            await get(record, STRANGER, operation.operation_id)
        assert caught.value.code == ErrorCode.ERROR_CODE_NOT_FOUND


async def test_an_operation_is_in_progress_by_its_intent_for_150_seconds(record: Record) -> None:
    operation_id = new_id("op")
    await record.event("browser.action.started", operation_id=operation_id, subject="tab_1", request_id="r")
    found = await get(record, PERSON, operation_id)
    assert (found.status, found.subject, found.request_id) == (OPERATION_STATUS_IN_PROGRESS, "tab_1", "r")
    record.clock.advance(151)
    with pytest.raises(Refusal):
        await get(record, PERSON, operation_id)


async def test_an_outcome_without_a_record_is_told(record: Record) -> None:
    failed, succeeded = new_id("op"), new_id("op")
    await record.event("browser.action.started", operation_id=failed, subject="tab_1")
    await record.event("browser.action.started", operation_id=succeeded, subject="tab_1")
    await record.event("browser.action.failed", operation_id=failed, subject="tab_1", code="interrupted")
    await record.event("browser.action.click", operation_id=succeeded, subject="tab_1")
    found = await get(record, PERSON, failed)
    assert (found.status, found.error.code) == (OPERATION_STATUS_FAILED, ErrorCode.ERROR_CODE_INTERRUPTED)
    assert (await get(record, PERSON, succeeded)).status == OPERATION_STATUS_SUCCEEDED


async def listed(record: Record, identity: CallerIdentity, **wanted: Any) -> tuple[list[str], str]:
    request = pb.ListOperationsRequest(**wanted)
    answer = await as_caller(identity, record.operations.ListOperations(request, None))
    return [operation.operation_id for operation in answer.operations], answer.next_page_token


async def test_operations_are_listed_newest_first_in_pages_by_kind_status_and_subject(record: Record) -> None:
    made = [await record.ended(kind="type" if number % 2 else "click", subject="tab_1") for number in range(6)]
    failed = await record.ended(status=OPERATION_STATUS_FAILED, subject="tab_2")
    await record.ended(tenant="other")
    ids = [operation.operation_id for operation in [*made, failed]][::-1]
    first, token = await listed(record, PERSON, page_size=4)
    rest, end = await listed(record, PERSON, page_size=4, page_token=token)
    assert (first + rest, end) == (ids, "")
    assert (await listed(record, PERSON, kind="type"))[0] == [
        each.operation_id for each in made if each.kind == "type"
    ][::-1]
    assert (await listed(record, PERSON, status=OPERATION_STATUS_FAILED))[0] == [failed.operation_id]
    assert (await listed(record, PERSON, subject="tab_2"))[0] == [failed.operation_id]
    assert len((await listed(record, ROOT))[0]) == 8
    with pytest.raises(Refusal):
        await listed(record, PERSON, page_token="!")


async def test_what_runs_is_listed_first_until_its_record_is_there(record: Record) -> None:
    ended = await record.ended()
    operation_id = new_id("op")
    await record.event("browser.action.started", operation_id=operation_id, subject="tab_1")
    await record.event("browser.action.started", operation_id=ended.operation_id, subject="tab_1")
    assert (await listed(record, PERSON))[0] == [operation_id, ended.operation_id]
    assert (await listed(record, PERSON, status=OPERATION_STATUS_IN_PROGRESS))[0] == [operation_id]
    await record.ended(operation_id=operation_id)
    assert (await listed(record, PERSON))[0] == [operation_id, ended.operation_id]


async def test_an_artifact_is_read_in_parts_by_those_who_see_it(record: Record) -> None:
    content = bytes(range(256)) * 2_048
    new = NewArtifact(ARTIFACT_KIND_SCREENSHOT, "image/png", tenant="default", agent_id=AGENT)
    artifact = await record.artifacts.put(content, new)

    async def read(offset: int = 0, limit: int = 0) -> list[pb.ReadArtifactResponse]:
        request = pb.ReadArtifactRequest(artifact_id=artifact.artifact_id, offset=offset, limit=limit)
        return [part async for part in record.operations.ReadArtifact(request, None)]

    for identity in (PERSON, ROOT, BOUND):
        description, *parts = await as_caller(identity, read())
        assert description.artifact == artifact
        assert b"".join(part.chunk for part in parts) == content
        assert max(len(part.chunk) for part in parts) <= 256 * 1024
    _, *parts = await as_caller(PERSON, read(1_000, 10))
    assert b"".join(part.chunk for part in parts) == content[1_000:1_010]
    with pytest.raises(Refusal) as caught:
        await as_caller(STRANGER, read())
    assert caught.value.code == ErrorCode.ERROR_CODE_NOT_FOUND
