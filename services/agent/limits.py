"""Limits of an agent (SPEC §6): defaults, and what is checked before each action."""

from __future__ import annotations

from hyperkitty.agent.v1.agents_pb2 import AgentLimits, AgentUsage
from hyperkitty.operations.v1.errors_pb2 import ErrorCode

from services.kit.errors import Refusal

DEFAULTS = AgentLimits(
    max_actions=40,
    max_execution_ms=300_000,
    max_network_requests=200,
    max_search_iterations=5,
    max_repeats=5,
)
ACTION_SECONDS = 45.0
"""Longest an action may take (SPEC §6)."""
ACTION_MS = 45_000


def with_defaults(asked: AgentLimits) -> AgentLimits:
    """The limits that hold: what was asked, the default where that is 0."""
    limits = AgentLimits()
    limits.CopyFrom(DEFAULTS)
    # Proto3 scalars without presence: merging takes over exactly the fields that are not 0.
    limits.MergeFrom(asked)
    return limits


def exceeded(which: str, value: int, limit: int) -> Refusal:
    """The error of a limit that is reached: which, value, limit."""
    return Refusal(
        ErrorCode.ERROR_CODE_LIMIT_EXCEEDED,
        f"{which} is reached: {value} of {limit}; the agent has failed",
        details={"which": which, "value": value, "limit": limit},
    )


def check(limits: AgentLimits, usage: AgentUsage, *, searching: bool = False, repeats: int = 0) -> Refusal | None:
    """What forbids another action; None when nothing does.

    `searching`: the action is a search. `repeats`: how often it was done already, in a row and to the same end.
    """
    measured = [
        ("max_actions", usage.actions, limits.max_actions),
        ("max_execution_ms", usage.elapsed_ms, limits.max_execution_ms),
        ("max_network_requests", usage.network_requests, limits.max_network_requests),
        ("max_repeats", repeats, limits.max_repeats),
    ]
    if searching:
        measured.append(("max_search_iterations", usage.search_iterations, limits.max_search_iterations))
    for which, value, limit in measured:
        if value >= limit:
            return exceeded(which, value, limit)
    return None
