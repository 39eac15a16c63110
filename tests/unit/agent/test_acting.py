"""One action from its checks to its outcome (SPEC §6), on memory stores, with tools held in the test's hand."""

import asyncio
from collections.abc import AsyncIterator

import pytest
from hyperkitty.agent.v1.agent_service_pb2 import ActResponse
from hyperkitty.agent.v1.agents_pb2 import Agent, AgentLimits, ToolCall
from hyperkitty.agent.v1.grants_pb2 import Grant, NavigateScope
from hyperkitty.browser.v1.operations_pb2 import (
    BrowserResult,
    ClickOperation,
    CloseSessionOperation,
    CreateSessionOperation,
    NavigateOperation,
)
from hyperkitty.browser.v1.sessions_pb2 import BrowserSession
from hyperkitty.browser.v1.targets_pb2 import Target
from hyperkitty.operations.v1.errors_pb2 import ErrorCode

from services.agent import states
from services.agent.records import ActionEntry
from services.kit import record
from services.kit.errors import Refusal, reason
from services.kit.ids import is_id, new_id
from services.kit.json_values import from_struct
from services.kit.store import StoreUnavailable
from tests.unit.agent.world import PERSON, World, browser

TAB = new_id("tab")
CLICK = browser(click=ClickOperation(tab_id=TAB, target=Target(ref="e1")))
CREATE = browser(create_session=CreateSessionOperation())


@pytest.fixture
async def world() -> AsyncIterator[World]:
    yield World()
    record.install(None)


async def refused(action: "asyncio.Task[ActResponse]") -> Refusal:
    with pytest.raises(Refusal) as caught:
        await action
    return caught.value


async def test_an_action_is_claimed_told_run_and_told_again(world: World) -> None:
    agent_id = await world.agent("click")
    answer = await world.act(agent_id, CLICK)
    assert is_id("act", answer.action_id)
    assert await world.state(agent_id) == "planning"
    started, completed = await world.events()
    assert (started.category, completed.category) == ("agent.action.started", "agent.action.completed")
    assert started.subject == completed.subject == answer.action_id
    assert started.agent_id == agent_id
    [action] = await world.history(agent_id)
    assert (action.action_id, action.tool, action.op, action.outcome) == (answer.action_id, "browser", "click", "ok")
    assert action.fencing_number == 1
    assert action.ByteSize() < 2048


async def test_writes_of_an_action_are_the_five_of_the_specification(world: World) -> None:
    agent_id = await world.agent("click")
    before = world.agents._revision + world.actions._revision  # pyright: ignore[reportPrivateUsage]
    await world.act(agent_id, CLICK)
    state_writes = world.agents._revision + world.actions._revision - before  # pyright: ignore[reportPrivateUsage]
    records = len(await world.operations.keys())
    assert (state_writes, len(await world.events()), records) == (2, 2, 1)


async def test_reads_answer_while_an_action_runs_and_a_second_action_is_refused(world: World) -> None:
    agent_id = await world.agent("click")
    world.tools.gate.clear()
    first = world.act(agent_id, CLICK)
    await world.tools.arrived.wait()
    assert await world.state(agent_id) == "waiting"
    second = await refused(world.act(agent_id, CLICK))
    assert (second.code, second.details["state"]) == (ErrorCode.ERROR_CODE_WRONG_STATE, "waiting")
    world.tools.gate.set()
    await first
    assert len(world.tools.calls) == 1
    assert await world.state(agent_id) == "planning"


async def test_of_two_actions_at_once_one_runs(world: World) -> None:
    agent_id = await world.agent("click")
    world.tools.gate.clear()
    actions = [world.act(agent_id, CLICK) for _ in range(5)]
    await world.tools.arrived.wait()
    done, _ = await asyncio.wait(actions, return_when=asyncio.ALL_COMPLETED, timeout=0.1)
    assert len(done) == 4
    world.tools.gate.set()
    outcomes = await asyncio.gather(*actions, return_exceptions=True)
    assert sum(isinstance(each, ActResponse) for each in outcomes) == 1
    assert [claim.action.fencing_number for claim in world.tools.claims] == [1]


@pytest.mark.parametrize(
    ("call", "code"),
    [
        (browser(click=ClickOperation(tab_id="tab_1", target=Target(ref="e1"))), "invalid_arguments"),
        (browser(navigate=NavigateOperation(tab_id=TAB, url="https://b.org/")), "not_authorized"),
        (CREATE, "not_authorized"),
        (ToolCall(), "invalid_arguments"),
    ],
    ids=["arguments", "scope", "grant", "nothing"],
)
async def test_a_refused_action_is_on_the_log_and_reaches_no_tool(world: World, call: ToolCall, code: str) -> None:
    scope = Grant(capability="navigate", navigate=NavigateScope(allowed_domains=["a.org"]))
    agent_id = await world.agent("click", scope)
    refusal = await refused(world.act(agent_id, call))
    assert reason(refusal.code) == code
    [rejected] = await world.events()
    assert (rejected.category, rejected.subject) == ("agent.action.rejected", agent_id)
    assert from_struct(rejected.data)["code"] == code
    assert world.tools.calls == []
    assert await world.state(agent_id) == "ready"
    assert await world.history(agent_id) == []


async def test_a_limit_fails_the_agent_and_says_which(world: World) -> None:
    agent_id = await world.agent("click", asked=AgentLimits(max_actions=2))
    await world.act(agent_id, CLICK)
    await world.act(agent_id, CLICK)
    refusal = await refused(world.act(agent_id, CLICK))
    assert refusal.code == ErrorCode.ERROR_CODE_LIMIT_EXCEEDED
    assert refusal.details == {"which": "max_actions", "value": 2, "limit": 2}
    agent = (await world.lives.look(PERSON, agent_id)).agent
    assert agent.state == states.FAILED
    assert "max_actions" in agent.failure_reason
    assert (await world.categories())[-1] == "agent.failed"
    assert [each.agent_id for each in world.ended] == [agent_id]
    assert len(world.tools.calls) == 2
    assert (await refused(world.act(agent_id, CLICK))).code == ErrorCode.ERROR_CODE_WRONG_STATE


async def test_time_runs_from_the_first_action(world: World) -> None:
    agent_id = await world.agent("click", asked=AgentLimits(max_execution_ms=1_000))
    world.clock.advance(3600)
    await world.act(agent_id, CLICK)
    world.clock.advance(0.9)
    await world.act(agent_id, CLICK)
    world.clock.advance(0.2)
    refusal = await refused(world.act(agent_id, CLICK))
    assert refusal.details == {"which": "max_execution_ms", "value": 1_100, "limit": 1_000}


async def test_a_tools_refusal_is_the_actions_and_the_agent_goes_on(world: World) -> None:
    agent_id = await world.agent("click")
    world.tools.answer = lambda _: Refusal(ErrorCode.ERROR_CODE_STALE_REF, "e1 is gone")
    refusal = await refused(world.act(agent_id, CLICK))
    assert refusal.code == ErrorCode.ERROR_CODE_STALE_REF
    assert is_id("act", str(refusal.details["action_id"]))
    assert await world.categories() == ["agent.action.started", "agent.action.failed"]
    assert [action.outcome for action in await world.history(agent_id)] == ["stale_ref"]
    assert await world.state(agent_id) == "planning"


async def test_a_fault_in_a_tool_is_internal_and_settles(world: World) -> None:
    agent_id = await world.agent("click")

    def broken(_: object) -> ActResponse:
        raise ZeroDivisionError

    world.tools.answer = broken
    assert (await refused(world.act(agent_id, CLICK))).code == ErrorCode.ERROR_CODE_INTERNAL
    assert await world.state(agent_id) == "planning"


async def test_a_caller_that_goes_away_changes_nothing(world: World) -> None:
    agent_id = await world.agent("click")
    world.tools.gate.clear()
    action = world.act(agent_id, CLICK)
    await world.tools.arrived.wait()
    action.cancel()
    await asyncio.wait([action], timeout=0.05)
    assert not action.done()
    assert await world.state(agent_id) == "waiting"
    world.tools.gate.set()
    await action
    assert [each.outcome for each in await world.history(agent_id)] == ["ok"]
    assert await world.categories() == ["agent.action.started", "agent.action.completed"]


async def test_a_service_that_stops_breaks_the_action_off_with_an_outcome(world: World) -> None:
    agent_id = await world.agent("click")
    world.tools.gate.clear()
    action = world.act(agent_id, CLICK)
    await world.tools.arrived.wait()
    action.cancel()
    await asyncio.wait([action], timeout=0.05)
    action.cancel()
    with pytest.raises(asyncio.CancelledError):
        await action
    assert [each.outcome for each in await world.history(agent_id)] == ["interrupted"]
    assert await world.categories() == ["agent.action.started", "agent.action.failed"]


async def test_terminating_breaks_a_running_action_off(world: World) -> None:
    agent_id = await world.agent("click")
    world.tools.gate.clear()
    action = world.act(agent_id, CLICK)
    await world.tools.arrived.wait()

    def terminate(agent: Agent) -> None:
        agent.state = states.TERMINATED

    await world.call(lambda: world.lives.change(PERSON, agent_id, states.ENDABLE, "terminate_agent", terminate))
    refusal = await refused(action)
    assert refusal.code == ErrorCode.ERROR_CODE_CANCELLED
    assert await world.state(agent_id) == "terminated"
    assert [each.outcome for each in await world.history(agent_id)] == ["cancelled"]
    assert (await refused(world.act(agent_id, CLICK))).details["state"] == "terminated"


async def test_sessions_that_it_opened_are_known(world: World) -> None:
    agent_id = await world.agent("create_session", "close_session")
    made = [new_id("sess"), new_id("sess")]
    opening = iter(made)
    world.tools.answer = lambda proposal: ActResponse(
        browser=BrowserResult(create_session=BrowserSession(session_id=next(opening)))
        if proposal.op == "create_session"
        else BrowserResult()
    )
    await world.act(agent_id, CREATE)
    await world.act(agent_id, CREATE)
    await world.act(agent_id, browser(close_session=CloseSessionOperation(session_id=made[0])))
    assert (await world.ledger.find(PERSON, agent_id)).record.sessions == (made[1],)
    assert [event.session_id for event in await world.events() if event.category.endswith("completed")] == [
        *made,
        made[0],
    ]


async def test_a_restart_settles_what_was_running_and_the_fence_rises(world: World) -> None:
    agent_id = await world.agent("click")
    world.tools.gate.clear()
    action = world.act(agent_id, CLICK)
    await world.tools.arrived.wait()
    restarted = World(world)
    assert await restarted.state(agent_id) == "planning"
    assert [each.outcome for each in await restarted.history(agent_id)] == ["interrupted"]
    failed = (await restarted.events())[-1]
    assert (failed.category, from_struct(failed.data)["outcome"]) == ("agent.action.failed", "interrupted")
    assert failed.operation_id == world.tools.claims[0].operation_id
    await restarted.act(agent_id, CLICK)
    assert [claim.action.fencing_number for claim in restarted.tools.claims] == [2]
    world.tools.gate.set()
    await action
    # What the dead process would still write changes nothing of what was decided.
    assert [each.outcome for each in await restarted.history(agent_id)] == ["interrupted", "ok"]


async def test_another_replicas_action_is_left_alone_until_nobody_can_run_it(world: World) -> None:
    agent_id = await world.agent("click")
    world.tools.gate.clear()
    action = world.act(agent_id, CLICK)
    await world.tools.arrived.wait()
    other = World(world, owner="there")
    assert (await refused(other.act(agent_id, CLICK))).details["state"] == "waiting"
    world.clock.advance(60)
    assert await other.state(agent_id) == "planning"
    world.tools.gate.set()
    await action


async def test_two_replicas_never_run_two_actions(world: World) -> None:
    agent_id = await world.agent("click")
    await world.act(agent_id, CLICK)
    other = World(world, owner="there")
    await other.act(agent_id, CLICK)
    # This instance still remembers the agent as it left it; compare-and-set tells it better.
    refusal = await refused(world.act(agent_id, CLICK))
    assert refusal.code == ErrorCode.ERROR_CODE_WRONG_STATE
    await world.act(agent_id, CLICK)
    numbers = [action.fencing_number for action in await world.history(agent_id)]
    assert numbers == [1, 2, 3]


async def test_without_the_log_nothing_runs(world: World) -> None:
    agent_id = await world.agent("click")
    world.log.available = False
    refusal = await refused(world.act(agent_id, CLICK))
    assert refusal.code == ErrorCode.ERROR_CODE_EVENT_LOG_UNAVAILABLE
    assert world.tools.calls == []
    assert await world.state(agent_id) == "planning"
    assert [each.outcome for each in await world.history(agent_id)] == ["event_log_unavailable"]


async def test_an_outcome_that_the_store_does_not_take_is_offered_again(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    agent_id = await world.agent("click")
    create = world.actions.create
    offered: list[str] = []

    async def away_once(key: str, value: ActionEntry) -> int:
        offered.append(key)
        if len(offered) == 1:
            raise StoreUnavailable("gone")
        return await create(key, value)

    monkeypatch.setattr(world.actions, "create", away_once)
    await world.act(agent_id, CLICK)
    assert await world.state(agent_id) == "waiting"
    assert (await refused(world.act(agent_id, CLICK))).code == ErrorCode.ERROR_CODE_WRONG_STATE
    await asyncio.gather(*world.tasks)
    assert await world.state(agent_id) == "planning"
    assert [each.outcome for each in await world.history(agent_id)] == ["ok"]
