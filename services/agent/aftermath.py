"""What the record says of an action whose service died before it could: its event, its call's record (SPEC §9)."""

from __future__ import annotations

from hyperkitty.agent.v1.agents_pb2 import Agent, AgentAction
from hyperkitty.events.v1.events_pb2 import Event
from hyperkitty.operations.v1.errors_pb2 import ErrorCode
from hyperkitty.operations.v1.operations_pb2 import OPERATION_STATUS_FAILED, OPERATION_STATUS_SUCCEEDED, Operation

from services.agent.effects import OK
from services.agent.records import Claim
from services.kit.categories import check_category
from services.kit.errors import Refusal, reason
from services.kit.ids import new_id
from services.kit.json_values import JsonValue, from_struct, to_struct

INTERRUPTED = reason(ErrorCode.ERROR_CODE_INTERRUPTED)
COMPLETED_EVENT = check_category("agent.action.completed")
FAILED_EVENT = check_category("agent.action.failed")
_MOST_BYTES = 4_096


def facts_of(action: AgentAction) -> dict[str, JsonValue]:
    """What events tell of an action."""
    return {
        "tool": action.tool,
        "op": action.op,
        "args": from_struct(action.args),
        "fencing_number": action.fencing_number,
    }


def aftermath(agent: Agent, claim: Claim, action: AgentAction, now_ms: int) -> tuple[list[Event], Operation]:
    """The outcome's event and the operation of an action that ended so; what a dead process still owed."""
    facts = {**facts_of(action), "duration_ms": action.duration_ms, "outcome": action.outcome}
    operation = Operation(
        operation_id=claim.operation_id,
        request_id=claim.request_id,
        kind="act",
        status=OPERATION_STATUS_SUCCEEDED,
        subject=agent.agent_id,
        created_at_ms=action.started_at_ms,
        updated_at_ms=now_ms,
        tenant=agent.tenant,
    )
    if action.outcome != OK:
        refusal = Refusal(
            ErrorCode.ERROR_CODE_INTERRUPTED,
            "the agent service died during the action",
            details={"action_id": action.action_id, "outcome": action.outcome},
        )
        operation.status = OPERATION_STATUS_FAILED
        operation.error.CopyFrom(refusal.to_proto())
        facts = {**facts, "code": action.outcome, "message": refusal.message}
    event = Event(
        event_id=new_id("evt"),
        category=COMPLETED_EVENT if action.outcome == OK else FAILED_EVENT,
        subject=action.action_id,
        actor=claim.actor,
        agent_id=agent.agent_id,
        session_id=claim.session_id,
        operation_id=claim.operation_id,
        request_id=claim.request_id,
        data=to_struct(facts, _MOST_BYTES),
        emitted_at_ms=now_ms,
        tenant=agent.tenant,
    )
    return [event], operation
