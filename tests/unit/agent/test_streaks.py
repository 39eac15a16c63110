"""The same action with the same outcome in a row (SPEC §6, max_repeats)."""

import asyncio
from collections.abc import AsyncIterator

import pytest
from hyperkitty.agent.v1.agent_service_pb2 import ActResponse
from hyperkitty.agent.v1.agents_pb2 import AgentLimits
from hyperkitty.browser.v1.operations_pb2 import BrowserResult, ClickOperation, ClickResult, ReadPageResult
from hyperkitty.browser.v1.targets_pb2 import Changed, Target
from hyperkitty.operations.v1.errors_pb2 import ErrorCode
from hypothesis import given
from hypothesis import strategies as st

from services.agent import streaks
from services.agent.streaks import Streak, prolonged
from services.kit import record
from services.kit.errors import Refusal
from services.kit.ids import new_id
from tests.unit.agent.world import PERSON, World, browser

TAB = new_id("tab")
CLICK = browser(click=ClickOperation(tab_id=TAB, target=Target(ref="e1")))
OTHER = browser(click=ClickOperation(tab_id=TAB, target=Target(ref="e2")))


def read(content: str, boundary: str = "", url: str = "") -> ActResponse:
    result = BrowserResult(read_page=ReadPageResult(content=content, boundary=boundary), changed=Changed(url=url))
    return ActResponse(action_id=new_id("act"), browser=result)


def test_what_is_new_in_every_answer_makes_no_difference() -> None:
    assert streaks.outcome_of(read("same", "aa")) == streaks.outcome_of(read("same", "bb"))
    assert streaks.outcome_of(read("same")) != streaks.outcome_of(read("other"))
    assert streaks.outcome_of(read("same", url="http://a/")) != streaks.outcome_of(read("same", url="http://b/"))


def test_failures_are_the_same_by_their_code() -> None:
    once = Refusal(ErrorCode.ERROR_CODE_NOT_INTERACTABLE, "waited 4,998 ms")
    again = Refusal(ErrorCode.ERROR_CODE_NOT_INTERACTABLE, "waited 5,002 ms")
    assert streaks.outcome_of(once) == streaks.outcome_of(again)
    assert streaks.outcome_of(once) != streaks.outcome_of(Refusal(ErrorCode.ERROR_CODE_STALE_REF, "gone"))


@given(st.lists(st.tuples(st.sampled_from("ab"), st.sampled_from("xy")), max_size=20))
def test_a_streak_counts_the_end_of_the_row(done: list[tuple[str, str]]) -> None:
    streak = Streak()
    for action, outcome in done:
        streak = prolonged(streak, action, outcome)
    tail = 0
    for each in reversed(done):
        if each != done[-1]:
            break
        tail += 1
    assert streak.count == tail


def test_an_outcome_that_nobody_knows_ends_the_row() -> None:
    assert prolonged(Streak("a", "x", 3), "", "") == Streak()


@pytest.fixture
async def world() -> AsyncIterator[World]:
    yield World()
    record.install(None)


async def test_the_last_but_one_warns_and_the_next_after_the_limit_fails(world: World) -> None:
    agent_id = await world.agent("click", asked=AgentLimits(max_repeats=3))
    world.tools.answer = lambda _: ActResponse(browser=BrowserResult(click=ClickResult()))
    warnings = [(await world.act(agent_id, CLICK)).warning for _ in range(3)]
    assert [bool(each) for each in warnings] == [False, True, False]
    assert (await world.act(agent_id, OTHER)).warning == ""
    for _ in range(3):
        await world.act(agent_id, CLICK)
    refusal = await refused(world.act(agent_id, CLICK))
    assert refusal.details == {"which": "max_repeats", "value": 3, "limit": 3}
    assert await world.state(agent_id) == "failed"


async def test_the_row_is_known_to_another_instance(world: World) -> None:
    agent_id = await world.agent("click", asked=AgentLimits(max_repeats=2))
    for _ in range(2):
        await world.act(agent_id, CLICK)
    other = World(world, owner="there")
    assert (await refused(other.act(agent_id, CLICK))).details["which"] == "max_repeats"


async def test_requests_of_an_agents_sessions_are_summed(world: World) -> None:
    agent_id = await world.agent("click", asked=AgentLimits(max_network_requests=5))
    for session, sent in (("A", 2), ("B", 1), ("A", 3)):
        call = browser(
            click=ClickOperation(session_id="sess_" + session.upper() * 26, tab_id=TAB, target=Target(ref="e1"))
        )
        world.tools.network_requests = sent
        await world.act(agent_id, call)
    assert (await usage(world, agent_id)) == 4
    refusal = Refusal(
        ErrorCode.ERROR_CODE_STALE_REF, "gone", details={"sent": {"session_id": "sess_c", "network_requests": 1}}
    )
    world.tools.answer = lambda _: refusal
    failed = await refused(world.act(agent_id, CLICK))
    assert "sent" not in failed.details
    assert (await usage(world, agent_id)) == 5
    assert (await refused(world.act(agent_id, CLICK))).details["which"] == "max_network_requests"


async def usage(world: World, agent_id: str) -> int:
    return (await world.ledger.find(PERSON, agent_id)).agent.usage.network_requests


async def refused(action: "asyncio.Task[ActResponse]") -> Refusal:
    with pytest.raises(Refusal) as caught:
        await action
    return caught.value
