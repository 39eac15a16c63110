"""What follows from an agent's record and the entry of its claim."""

import pytest
from hyperkitty.agent.v1.agents_pb2 import Agent, AgentAction
from hypothesis import given
from hypothesis import strategies as st

from services.agent import states
from services.agent.records import ActionEntry, AgentRecord, Claim, action_key, fold
from services.kit.record_codec import RecordCodec
from services.kit.store import ValueUnreadable

AGENT = "agent_01JGXYZ0000000000000000000"


def claimed(number: int = 1, state: int = states.WAITING) -> AgentRecord:
    agent = Agent(agent_id=AGENT, tenant="default", started_at_ms=1_000, action_count=number)
    agent.state = state  # type: ignore[assignment]
    action = AgentAction(action_id="act_1", fencing_number=number, started_at_ms=2_000)
    return AgentRecord(agent, Claim(action, owner="here", expires_at_ms=50_000), ("sess_1",))


def entry(**more: object) -> ActionEntry:
    return ActionEntry(AgentAction(action_id="act_1", outcome="ok", started_at_ms=2_000, duration_ms=500), **more)  # type: ignore[arg-type]


def test_a_claim_without_an_entry_waits() -> None:
    seen = fold(claimed(), None, 4_000)
    assert seen.agent.state == states.WAITING
    assert seen.claim is not None
    assert seen.agent.usage.elapsed_ms == 3_000


def test_an_entry_brings_the_agent_back_to_planning_once() -> None:
    seen = fold(claimed(), entry(opened=("sess_2",), closed=("sess_1",), search_iterations=2), 4_000)
    assert seen.agent.state == states.PLANNING
    assert seen.sessions == ("sess_2",)
    assert seen.agent.usage.search_iterations == 2
    assert seen.agent.updated_at_ms == 2_500
    assert fold(seen, None, 4_000) == seen


@pytest.mark.parametrize("state", sorted(states.TERMINAL))
def test_a_late_outcome_does_not_wake_an_agent_that_has_ended(state: int) -> None:
    ended = claimed(state=state)
    seen = fold(ended, entry(opened=("sess_2",)), 9_000)
    assert seen.agent.state == state
    assert seen.sessions == ("sess_1", "sess_2")
    assert seen.agent.usage.elapsed_ms == 0


def test_folding_leaves_the_stored_record_alone() -> None:
    stored = claimed()
    before = stored.agent.SerializeToString()
    fold(stored, entry(), 9_000)
    assert stored.agent.SerializeToString() == before


def test_records_survive_their_codec() -> None:
    records = RecordCodec(AgentRecord)
    assert records.decode(records.encode(claimed())) == claimed()
    entries = RecordCodec(ActionEntry)
    assert entries.decode(entries.encode(entry(opened=("sess_2",)))) == entry(opened=("sess_2",))


@given(st.binary(max_size=64))
def test_damaged_bytes_are_unreadable_never_a_record(data: bytes) -> None:
    codec = RecordCodec(AgentRecord)
    try:
        codec.decode(codec.encode(claimed())[:-3] + data)
    except ValueUnreadable:
        return


@given(st.lists(st.integers(1, 10**9), unique=True))
def test_keys_sort_as_actions_do(numbers: list[int]) -> None:
    keys = [action_key("default", AGENT, number) for number in sorted(numbers)]
    assert keys == sorted(keys)
