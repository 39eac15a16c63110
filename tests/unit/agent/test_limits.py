"""Limits of SPEC §6: defaults, overrides, and the error that names which, value, limit."""

from hyperkitty.agent.v1.agents_pb2 import AgentLimits, AgentUsage
from hypothesis import given
from hypothesis import strategies as st

from services.agent import limits


def test_defaults_are_those_of_the_specification() -> None:
    held = limits.with_defaults(AgentLimits())
    assert (held.max_actions, held.max_execution_ms, held.max_network_requests) == (40, 300_000, 200)
    assert (held.max_search_iterations, held.max_repeats) == (5, 5)


@given(st.integers(0, 1000), st.integers(0, 86_400_000))
def test_an_override_holds_and_the_rest_stays(actions: int, execution_ms: int) -> None:
    held = limits.with_defaults(AgentLimits(max_actions=actions, max_execution_ms=execution_ms))
    assert held.max_actions == (actions or 40)
    assert held.max_execution_ms == (execution_ms or 300_000)
    assert held.max_network_requests == 200
    assert limits.DEFAULTS.max_actions == 40


@given(st.integers(0, 100), st.integers(1, 100))
def test_the_last_allowed_action_is_allowed_and_the_next_is_not(used: int, limit: int) -> None:
    refusal = limits.check(limits.with_defaults(AgentLimits(max_actions=limit)), AgentUsage(actions=used))
    assert (refusal is None) == (used < limit)
    if refusal is not None:
        assert refusal.details == {"which": "max_actions", "value": used, "limit": limit}


def test_time_counts_from_the_first_action() -> None:
    refusal = limits.check(limits.DEFAULTS, AgentUsage(actions=1, elapsed_ms=300_000))
    assert refusal is not None
    assert refusal.details["which"] == "max_execution_ms"


def test_iterations_of_searches_stop_searches_only() -> None:
    usage = AgentUsage(search_iterations=5)
    assert limits.check(limits.DEFAULTS, usage) is None
    refusal = limits.check(limits.DEFAULTS, usage, searching=True)
    assert refusal is not None
    assert refusal.details["which"] == "max_search_iterations"
