"""The state machine of SPEC §6."""

import itertools

import pytest
from hyperkitty.agent.v1.agents_pb2 import AgentState
from hyperkitty.operations.v1.errors_pb2 import ErrorCode

from services.agent import states
from services.kit.errors import Refusal

EVERY = [value for value in AgentState.values() if value]


def test_every_state_has_its_transitions() -> None:
    assert set(states.TRANSITIONS) == set(EVERY)


def test_failed_and_terminated_from_every_state_that_is_not_terminal() -> None:
    for state in EVERY:
        after = states.TRANSITIONS[state]
        if state in states.TERMINAL:
            assert not after
        else:
            assert {states.FAILED, states.TERMINATED} <= after


def test_the_line_of_the_specification_is_walkable() -> None:
    line = ["created", "ready", "planning", "executing", "waiting", "planning", "completed"]
    for before, after in itertools.pairwise(line):
        state = next(each for each in EVERY if states.name(each) == before)
        assert after in {states.name(each) for each in states.TRANSITIONS[state]}


def test_a_running_action_refuses_the_next_and_says_what_to_do() -> None:
    with pytest.raises(Refusal) as caught:
        states.require("agent_X", states.WAITING, states.IDLE, "act")
    assert caught.value.code == ErrorCode.ERROR_CODE_WRONG_STATE
    assert caught.value.details["state"] == "waiting"
    assert caught.value.details["allowed"] == ["created", "planning", "ready"]
    assert "get_agent" in caught.value.hint


def test_an_allowed_state_passes() -> None:
    states.require("agent_X", states.PLANNING, states.IDLE, "act")
