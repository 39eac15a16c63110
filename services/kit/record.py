"""What a handler says of what it does: intent before, outcome after (SPEC §9)."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

from hyperkitty.events.v1.events_pb2 import Event

from services.kit.categories import check_category
from services.kit.clock import SystemClock
from services.kit.ids import new_id
from services.kit.json_values import JsonValue, to_struct
from services.kit.operations import MOST_DATA_BYTES, OperationContext, current_operation, operation_or_none
from services.kit.recorder import Recorder, log_unavailable

Data = Mapping[str, JsonValue] | None


class _Installed:
    """The process's recorder; set once at start."""

    recorder: Recorder | None = None


def install(recorder: Recorder | None) -> None:
    """Makes it the one that this module writes through."""
    _Installed.recorder = recorder


def _recorder() -> Recorder:
    if _Installed.recorder is None:
        raise RuntimeError("no recorder is installed")
    return _Installed.recorder


async def intent(
    category: str,
    *,
    subject: str = "",
    session_id: str = "",
    agent_id: str = "",
    data: Data = None,
    failed: str = "",
) -> None:
    """Puts on the log what is about to be done; do it only when this returned.

    `failed` is the category published when the call fails before its outcome (default `<root>.action.failed`).
    Raises Refusal event_log_unavailable: nothing may be done then.
    """
    operation = current_operation()
    event = operation.event(category, subject=subject, session_id=session_id, agent_id=agent_id, data=data)
    await _publish_intent(operation, event, failed)


def start_intent(
    category: str,
    *,
    subject: str = "",
    session_id: str = "",
    agent_id: str = "",
    data: Data = None,
    failed: str = "",
) -> asyncio.Task[None]:
    """The same in a task, so that looking and measuring may overlap with it; await it before doing anything."""
    operation = current_operation()
    event = operation.event(category, subject=subject, session_id=session_id, agent_id=agent_id, data=data)
    return asyncio.create_task(_publish_intent(operation, event, failed))


async def _publish_intent(operation: OperationContext, event: Event, failed: str) -> None:
    # Open before it is sent: however this ends, it may reach the log.
    operation.open_intent(event, check_category(failed) if failed else "")
    if not await _recorder().publish_intent(event):
        await _recorder().keep(event)
        raise log_unavailable(operation.operation_id)


def outcome(category: str, *, subject: str = "", session_id: str = "", agent_id: str = "", data: Data = None) -> None:
    """Queues what came of it, and closes the open intent; acknowledged, with the record, before the reply."""
    operation = current_operation()
    operation.queued.append(
        operation.event(category, subject=subject, session_id=session_id, agent_id=agent_id, data=data)
    )
    operation.close_intent()


def note(category: str, *, subject: str = "", session_id: str = "", agent_id: str = "", data: Data = None) -> None:
    """Queues what happened besides; closes no intent."""
    operation = current_operation()
    operation.queued.append(
        operation.event(category, subject=subject, session_id=session_id, agent_id=agent_id, data=data)
    )


async def flush() -> None:
    """Puts what is queued on the log now. Raises Refusal event_log_unavailable."""
    operation = current_operation()
    queued, operation.queued = operation.queued, []
    if not await _recorder().write(queued, None):
        raise log_unavailable(operation.operation_id)


async def emit(
    category: str,
    *,
    subject: str = "",
    tenant: str = "system",
    session_id: str = "",
    agent_id: str = "",
    operation_id: str = "",
    request_id: str = "",
    actor: str = "",
    data: Data = None,
) -> None:
    """Puts on the log what no call asked for; returns when it is acknowledged or on disk.

    Inside an operation the operation's ids are taken where none are given.
    """
    operation = operation_or_none()
    event = Event(
        event_id=new_id("evt"),
        category=check_category(category),
        subject=subject,
        actor=actor or (operation.identity.token_id if operation else _recorder().actor),
        agent_id=agent_id,
        session_id=session_id,
        operation_id=operation_id or (operation.operation_id if operation else ""),
        request_id=request_id or (operation.request_id if operation else ""),
        data=to_struct(data, MOST_DATA_BYTES),
        emitted_at_ms=SystemClock().now_ms(),
        tenant=tenant,
    )
    await _recorder().write([event], None)
