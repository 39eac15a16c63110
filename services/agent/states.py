"""The state machine of an agent (SPEC §6)."""

from __future__ import annotations

from collections.abc import Iterable

from hyperkitty.agent.v1.agents_pb2 import AgentState
from hyperkitty.operations.v1.errors_pb2 import ErrorCode

from services.kit.errors import Refusal

CREATED = AgentState.AGENT_STATE_CREATED
READY = AgentState.AGENT_STATE_READY
PLANNING = AgentState.AGENT_STATE_PLANNING
EXECUTING = AgentState.AGENT_STATE_EXECUTING
WAITING = AgentState.AGENT_STATE_WAITING
COMPLETED = AgentState.AGENT_STATE_COMPLETED
FAILED = AgentState.AGENT_STATE_FAILED
TERMINATED = AgentState.AGENT_STATE_TERMINATED

TERMINAL = frozenset({COMPLETED, FAILED, TERMINATED})
# Between two actions: the planner may propose the next one. A created agent becomes ready by its first.
IDLE = frozenset({CREATED, READY, PLANNING})
# Who has nothing to reach cannot have reached it: a created agent cannot complete.
COMPLETABLE = frozenset({READY, PLANNING})
ENDABLE = IDLE | {EXECUTING, WAITING}

TRANSITIONS: dict[AgentState.ValueType, frozenset[AgentState.ValueType]] = {
    CREATED: frozenset({READY, FAILED, TERMINATED}),
    READY: frozenset({PLANNING, COMPLETED, FAILED, TERMINATED}),
    PLANNING: frozenset({EXECUTING, COMPLETED, FAILED, TERMINATED}),
    EXECUTING: frozenset({WAITING, PLANNING, FAILED, TERMINATED}),
    WAITING: frozenset({PLANNING, FAILED, TERMINATED}),
    COMPLETED: frozenset(),
    FAILED: frozenset(),
    TERMINATED: frozenset(),
}


def name(state: AgentState.ValueType) -> str:
    """`AGENT_STATE_WAITING` → `waiting`."""
    return AgentState.Name(state).removeprefix("AGENT_STATE_").lower()


def require(agent_id: str, state: AgentState.ValueType, allowed: Iterable[AgentState.ValueType], what: str) -> None:
    """Raises Refusal wrong_state unless `state` is one of `allowed`; `what` is the operation that was asked for."""
    names = sorted(name(each) for each in allowed)
    if name(state) not in names:
        busy = state in (EXECUTING, WAITING)
        raise Refusal(
            ErrorCode.ERROR_CODE_WRONG_STATE,
            f"{what} needs an agent that is {' or '.join(names)}; {agent_id} is {name(state)}",
            hint="One action at a time: get_agent until it is planning, then call again." if busy else "",
            details={"agent_id": agent_id, "state": name(state), "allowed": names},
        )
