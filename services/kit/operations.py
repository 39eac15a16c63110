"""The operation that the current call is: its ids, what it is about, what it has yet to put on the record."""

from __future__ import annotations

from collections.abc import Mapping
from contextvars import ContextVar
from dataclasses import dataclass, field

from hyperkitty.auth.v1.identity_pb2 import CallerIdentity
from hyperkitty.events.v1.events_pb2 import Event
from hyperkitty.operations.v1 import operations_pb2

from services.kit.categories import check_category, default_failure
from services.kit.clock import Clock, SystemClock
from services.kit.errors import Refusal, reason
from services.kit.ids import new_id
from services.kit.json_values import JsonValue, to_struct

# An event's data, as JSON (SPEC §3).
MOST_DATA_BYTES = 64 * 1024


@dataclass
class OpenIntent:
    """An intent without an outcome yet. An empty `failed`: nothing is published when the call fails."""

    event: Event
    failed: str


@dataclass
class OperationContext:
    """One call. A handler may set kind, subject, session_id and agent_id: record and events take them from here."""

    request_id: str
    identity: CallerIdentity
    kind: str
    parent_operation_id: str = ""
    operation_id: str = field(default_factory=lambda: new_id("op"))
    subject: str = ""
    session_id: str = ""
    agent_id: str = ""
    clock: Clock = field(default_factory=SystemClock)
    # Events that go out with the record, before the reply.
    queued: list[Event] = field(default_factory=list[Event])
    open_intents: list[OpenIntent] = field(default_factory=list[OpenIntent])
    created_at_ms: int = 0

    def __post_init__(self) -> None:
        self.created_at_ms = self.created_at_ms or self.clock.now_ms()
        self.agent_id = self.agent_id or self.identity.agent_id

    def event(
        self,
        category: str,
        *,
        subject: str = "",
        session_id: str = "",
        agent_id: str = "",
        data: Mapping[str, JsonValue] | None = None,
    ) -> Event:
        """An event of this call. Raises ValueError for a category outside of the catalogue."""
        return Event(
            event_id=new_id("evt"),
            category=check_category(category),
            subject=subject or self.subject,
            actor=self.identity.token_id,
            agent_id=agent_id or self.agent_id,
            session_id=session_id or self.session_id,
            operation_id=self.operation_id,
            request_id=self.request_id,
            data=to_struct(data, MOST_DATA_BYTES),
            emitted_at_ms=self.clock.now_ms(),
            tenant=self.identity.tenant,
        )

    def open_intent(self, event: Event, failed: str) -> None:
        """Notes an intent that was published."""
        self.open_intents.append(OpenIntent(event, failed or default_failure(event.category)))

    def close_intent(self) -> None:
        """The latest open intent has its outcome."""
        if self.open_intents:
            self.open_intents.pop()

    def fail_open_intents(self, refusal: Refusal) -> None:
        """Queues the failure of each intent that is still open: never an intent without an outcome."""
        while self.open_intents:
            intent = self.open_intents.pop()
            if not intent.failed:
                continue
            failure = self.event(
                intent.failed,
                subject=intent.event.subject,
                session_id=intent.event.session_id,
                agent_id=intent.event.agent_id,
                data={"code": reason(refusal.code), "message": refusal.message, "intent": intent.event.category},
            )
            self.queued.append(failure)

    def to_proto(self, refusal: Refusal | None) -> operations_pb2.Operation:
        """The record, as it is written at the end."""
        operation = operations_pb2.Operation(
            operation_id=self.operation_id,
            parent_operation_id=self.parent_operation_id,
            request_id=self.request_id,
            kind=self.kind,
            status=operations_pb2.OPERATION_STATUS_SUCCEEDED,
            subject=self.subject,
            created_at_ms=self.created_at_ms,
            updated_at_ms=self.clock.now_ms(),
            tenant=self.identity.tenant,
        )
        if refusal is not None:
            operation.status = operations_pb2.OPERATION_STATUS_FAILED
            operation.error.CopyFrom(refusal.to_proto())
        return operation


_current: ContextVar[OperationContext | None] = ContextVar("operation", default=None)


def current_operation() -> OperationContext:
    """The operation of the call being handled. Raises LookupError in a call that is none, or outside of calls."""
    operation = _current.get()
    if operation is None:
        raise LookupError("no operation is being handled here")
    return operation


def operation_or_none() -> OperationContext | None:
    """The operation of the call being handled, if there is one."""
    return _current.get()


def enter(operation: OperationContext) -> None:
    """Makes it the current one of the task; gRPC gives each call a task of its own."""
    _current.set(operation)
