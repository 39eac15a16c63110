"""Operations without a record yet: what their intent on the log tells of them (SPEC §10)."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable

from hyperkitty.events.v1.events_pb2 import Event
from hyperkitty.operations.v1.errors_pb2 import ErrorCode
from hyperkitty.operations.v1.operations_pb2 import (
    OPERATION_STATUS_FAILED,
    OPERATION_STATUS_IN_PROGRESS,
    OPERATION_STATUS_SUCCEEDED,
    Operation,
)

from services.kit.capabilities import operations
from services.kit.clock import Clock
from services.kit.errors import Refusal
from services.kit.event_log import EventFilter, EventLog, Start
from services.kit.json_values import JsonValue, from_struct

LOOK_BACK_MS = 150_000
"""No call runs longer: an intent that is older belongs to a call that has ended."""
INTENTS = sorted({"agent.action.started", *(facts.intent_event for facts in operations().values() if facts.write)})
_FAILED = "failed"
_MOST = 10_000


class InProgress:
    """Reads the newest stretch of the log."""

    def __init__(self, event_log: EventLog, clock: Clock) -> None:
        self._event_log = event_log
        self._clock = clock

    async def intents(self, tenant: str) -> list[Event]:
        """Intents of the last 150 s, newest first; `tenant` "" for all."""
        found: list[Event] = []
        since = Start.since(self._clock.now_ms() - LOOK_BACK_MS)
        for category in INTENTS:
            found += [event async for event in self._events(EventFilter(tenant, category), since)]
        return sorted(found, key=_sequence, reverse=True)

    async def find(self, tenant: str, operation_id: str) -> Operation | None:
        """The operation as its events tell of it; None where no intent of the last 150 s is its."""
        intent = next((each for each in await self.intents(tenant) if each.operation_id == operation_id), None)
        if intent is None:
            return None
        about = EventFilter(intent.tenant, subject=intent.subject)
        later = [event async for event in self._events(about, Start.after(intent.sequence))]
        return as_operation(intent, [event for event in later if event.operation_id == operation_id])

    async def _events(self, wanted: EventFilter, start: Start) -> AsyncIterator[Event]:
        count = 0
        async for item in self._event_log.read(wanted, start, until_end=True):
            if isinstance(item, Event):
                yield item
                count += 1
                if count >= _MOST:
                    return


def _sequence(event: Event) -> int:
    return event.sequence


def _kind(facts: dict[str, JsonValue], category: str) -> str:
    """As the record would name it: the rpc for an agent's action, the operation for a browser's."""
    if category.startswith("agent."):
        return "act"
    told = facts.get("operation") or facts.get("op") or facts.get("kind")
    return told if isinstance(told, str) else ""


def as_operation(intent: Event, later: Iterable[Event]) -> Operation:
    """An operation in progress; ended, where an outcome is on the log already and only the record is not."""
    operation = Operation(
        operation_id=intent.operation_id,
        request_id=intent.request_id,
        kind=_kind(from_struct(intent.data), intent.category),
        status=OPERATION_STATUS_IN_PROGRESS,
        # An action's event is about the action, its operation about the agent.
        subject=intent.agent_id if intent.category.startswith("agent.") else intent.subject,
        created_at_ms=intent.emitted_at_ms,
        updated_at_ms=intent.emitted_at_ms,
        tenant=intent.tenant,
    )
    for event in later:
        if event.category in INTENTS or event.subject != intent.subject:
            continue
        operation.updated_at_ms = event.emitted_at_ms
        if event.category.endswith(_FAILED):
            operation.status = OPERATION_STATUS_FAILED
            operation.error.CopyFrom(_refusal(from_struct(event.data)).to_proto())
        else:
            operation.status = OPERATION_STATUS_SUCCEEDED
    return operation


def _refusal(facts: dict[str, JsonValue]) -> Refusal:
    told = f"ERROR_CODE_{str(facts.get('code', '')).upper()}"
    value = ErrorCode.DESCRIPTOR.values_by_name.get(told)
    code = ErrorCode.ERROR_CODE_INTERNAL if value is None else ErrorCode.Value(value.name)
    return Refusal(code, str(facts.get("message", "it failed")))
