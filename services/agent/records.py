"""What the agent service keeps, and the agent that follows from it.

An agent's record is written when it is made, given an objective, claims an action, or ends: one key, so that compare-
and-set decides between two writers. An action's entry is written once, when it has ended (create-if-absent: its
outcome is decided once). That an agent waits is not stored beside that: it has claimed an action whose entry is not
there yet. So a claim, a restart and a second replica need no third thing to agree on, and an action costs two writes.
"""

from __future__ import annotations

import msgspec
from hyperkitty.agent.v1.agents_pb2 import Agent, AgentAction

from services.agent import states
from services.agent.streaks import Streak, prolonged
from services.kit.tokens import encode_token

_MOST_INT32 = 2**31 - 1


class Claim(msgspec.Struct, frozen=True):
    """An action that an agent has begun: what is needed to settle it when its service dies."""

    action: AgentAction
    """As in its history, without outcome. Its fencing number is 1 for an agent's first action and rises by one."""
    owner: str
    """The instance of this service that runs it."""
    expires_at_ms: int
    """After this nobody can be running it any more."""
    session_id: str = ""
    operation_id: str = ""
    request_id: str = ""
    actor: str = ""


class AgentRecord(msgspec.Struct, frozen=True):
    """One agent. `claim`: the last action whose outcome is not taken in yet. `sessions`: open ones that it made.

    `requests`: what each session that it acted on had sent when last heard of.
    """

    agent: Agent
    claim: Claim | None = None
    sessions: tuple[str, ...] = ()
    requests: dict[str, int] = msgspec.field(default_factory=dict[str, int])
    streak: Streak = Streak()


class ActionEntry(msgspec.Struct, frozen=True):
    """One action that has ended, and what it did to the agent's standing."""

    action: AgentAction
    opened: tuple[str, ...] = ()
    closed: tuple[str, ...] = ()
    search_iterations: int = 0
    session_id: str = ""
    network_requests: int = 0
    """What the session has sent in all since the agent has it."""
    repeat_of: str = ""
    repeat_outcome: str = ""
    """Digests of the action and its outcome (streaks.py)."""


def agent_key(tenant: str, agent_id: str) -> str:
    """Key in the bucket `agents`."""
    return f"{encode_token(tenant)}.{agent_id}"


def action_key(tenant: str, agent_id: str, number: int) -> str:
    """Key in the bucket `actions`; sorts in the order of the actions."""
    return f"{encode_token(tenant)}.{agent_id}.{number:010d}"


def key_of_claim(agent: Agent, claim: Claim) -> str:
    """Where the entry of an agent's claim stands once it has ended."""
    return action_key(agent.tenant, agent.agent_id, claim.action.fencing_number)


def fold(record: AgentRecord, entry: ActionEntry | None, now_ms: int) -> AgentRecord:
    """The record as of now: the outcome of its claim taken in, its usage measured.

    `entry` is that of the record's claim; None while it runs, or where there is no claim.
    """
    agent = Agent()
    agent.CopyFrom(record.agent)
    ended = agent.state in states.TERMINAL
    if agent.started_at_ms and not ended:
        agent.usage.elapsed_ms = max(0, now_ms - agent.started_at_ms)
    if record.claim is None or entry is None:
        return msgspec.structs.replace(record, agent=agent)
    agent.usage.search_iterations += entry.search_iterations
    requests = dict(record.requests)
    if entry.session_id:
        requests[entry.session_id] = max(requests.get(entry.session_id, 0), entry.network_requests)
        agent.usage.network_requests = min(sum(requests.values()), _MOST_INT32)
    if not ended:
        agent.state = states.PLANNING
        ended_at_ms = entry.action.started_at_ms + entry.action.duration_ms
        agent.updated_at_ms = max(agent.updated_at_ms, ended_at_ms)
    sessions = [each for each in (*record.sessions, *entry.opened) if each not in entry.closed]
    streak = prolonged(record.streak, entry.repeat_of, entry.repeat_outcome)
    return AgentRecord(agent, None, tuple(dict.fromkeys(sessions)), requests, streak)
