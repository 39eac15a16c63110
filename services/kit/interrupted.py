"""After a crash, an intent without an outcome becomes a failure that says `interrupted` (SPEC §9).

Asked for by a service whose operations an earlier process of it may have left open; runs before the service takes
calls, when none of its operations can be under way.
"""

from __future__ import annotations

from hyperkitty.events.v1.events_pb2 import Event
from hyperkitty.operations.v1.errors_pb2 import ErrorCode
from hyperkitty.operations.v1.operations_pb2 import OPERATION_STATUS_FAILED, OPERATION_STATUS_SUCCEEDED, Operation

from services.kit import logs
from services.kit.capabilities import operations as browser_operations
from services.kit.categories import default_failure
from services.kit.clock import Clock
from services.kit.errors import Refusal, reason
from services.kit.event_log import EventFilter, EventLog
from services.kit.ids import new_id
from services.kit.json_values import to_struct
from services.kit.operations import MOST_DATA_BYTES
from services.kit.recorder import Recorder
from services.kit.store import Store

log = logs.get(__name__)

# No call runs longer, so an operation whose first event is older than this before the last one had ended.
_LOOK_BACK_MS = 150_000
_MOST_EVENTS = 10_000
_STARTED = ".started"


def is_intent(category: str) -> bool:
    """Whether the category tells of something that is about to be done."""
    return category.endswith(_STARTED) or any(facts.intent_event == category for facts in browser_operations().values())


def _refusal() -> Refusal:
    return Refusal(ErrorCode.ERROR_CODE_INTERRUPTED, "the service died during the call")


class Interrupted:
    """Settles what an earlier process of a service left open."""

    def __init__(
        self, service: str, event_log: EventLog, records: Store[Operation], recorder: Recorder, clock: Clock
    ) -> None:
        self._service = service
        self._event_log = event_log
        self._records = records
        self._recorder = recorder
        self._clock = clock

    async def settle(self, root: str) -> int:
        """Writes the missing outcome and record of each operation with events under `root`; returns how many."""
        settled = 0
        for operation_id, events in (await self._recent(root)).items():
            if await self._records.get(f"{self._service}.{operation_id}") is not None:
                continue
            await self._settle(operation_id, events)
            settled += 1
        if settled:
            log.warning("operations_interrupted", count=settled, root=root)
        return settled

    async def _recent(self, root: str) -> dict[str, list[Event]]:
        """Events of the last operations by operation, oldest first."""
        newest = await self._event_log.recent(EventFilter(category_prefix=root), _MOST_EVENTS)
        found: dict[str, list[Event]] = {}
        for event in reversed(newest):
            if event.operation_id and event.emitted_at_ms >= newest[0].emitted_at_ms - _LOOK_BACK_MS:
                found.setdefault(event.operation_id, []).append(event)
        return found

    async def _settle(self, operation_id: str, events: list[Event]) -> None:
        first, last = events[0], events[-1]
        failures: list[Event] = []
        if is_intent(last.category):
            failures = [self._failure(last)] if default_failure(last.category) else []
        has_failed = is_intent(last.category) or last.category.endswith("failed")
        operation = Operation(
            operation_id=operation_id,
            request_id=first.request_id,
            kind=_kind(first),
            status=OPERATION_STATUS_FAILED if has_failed else OPERATION_STATUS_SUCCEEDED,
            subject=first.subject,
            created_at_ms=first.emitted_at_ms,
            updated_at_ms=self._clock.now_ms(),
            tenant=first.tenant,
        )
        if has_failed:
            operation.error.CopyFrom(_refusal().to_proto())
        await self._recorder.write(failures, operation)

    def _failure(self, intent: Event) -> Event:
        return Event(
            event_id=new_id("evt"),
            category=default_failure(intent.category),
            subject=intent.subject,
            actor=self._recorder.actor,
            agent_id=intent.agent_id,
            session_id=intent.session_id,
            operation_id=intent.operation_id,
            request_id=intent.request_id,
            data=to_struct(
                {"code": reason(ErrorCode.ERROR_CODE_INTERRUPTED), "intent": intent.category}, MOST_DATA_BYTES
            ),
            emitted_at_ms=self._clock.now_ms(),
            tenant=intent.tenant,
        )


def _kind(intent: Event) -> str:
    """What the record would have said: the operation's name where the intent tells it."""
    for key in ("operation", "op", "kind"):
        told = intent.data.fields.get(key)
        if told is not None and told.string_value:
            return told.string_value
    return ""
