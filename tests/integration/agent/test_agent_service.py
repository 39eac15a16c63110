"""The agent service as a process of its own: real NATS, real sockets, signed identities (SPEC §2, §6, §9)."""

from __future__ import annotations

import asyncio
import signal

import pytest
from hyperkitty.agent.v1 import agent_service_pb2 as pb
from hyperkitty.agent.v1.agents_pb2 import AgentLimits
from hyperkitty.agent.v1.grants_pb2 import Grant, NavigateScope
from hyperkitty.auth.v1.identity_pb2 import CallerIdentity, TokenScopes
from hyperkitty.browser.v1.operations_pb2 import (
    BrowserOperation,
    ClickOperation,
    CreateSessionOperation,
    NavigateOperation,
)
from hyperkitty.browser.v1.targets_pb2 import Target
from hyperkitty.operations.v1.errors_pb2 import ErrorCode
from hyperkitty.operations.v1.operations_pb2 import OPERATION_STATUS_FAILED, OPERATION_STATUS_SUCCEEDED

from services.kit.errors import Refusal, reason
from services.kit.identity import calling_as
from services.kit.ids import new_id
from services.kit.json_values import from_struct
from tests.integration.agent.conftest import AgentWorld, browser
from tests.integration.agent.small_system import ROOT
from tests.integration.agent.tool_calls import MESSAGE, SEARCH
from tests.waiting import async_until

TAB = new_id("tab")
CLICK = browser(click=ClickOperation(tab_id=TAB, target=Target(ref="e1")))
CREATE = browser(create_session=CreateSessionOperation())
OTHER_TENANT = CallerIdentity(tenant="other", token_id="tok_o", scopes=TokenScopes(services=["agent"]))


async def refused(action: asyncio.Task[pb.ActResponse]) -> Refusal:
    with pytest.raises(Refusal) as caught:
        await action
    return caught.value


def start(world: AgentWorld, agent_id: str) -> asyncio.Task[pb.ActResponse]:
    return asyncio.create_task(world.act(agent_id, CLICK, timeout=45))


async def test_the_browser_hears_of_an_action_under_the_agents_own_identity(world: AgentWorld) -> None:
    scope = Grant(capability="navigate", navigate=NavigateScope(allowed_domains=["example.com"]))
    agent_id = await world.create("create_session", scope)
    answer = await world.act(agent_id, CREATE)
    assert answer.browser.create_session.owner_agent_id == agent_id
    [identity] = world.browser.identities
    assert (identity.tenant, identity.token_id, identity.agent_id) == ("default", "tok_root", agent_id)
    assert not identity.scopes.root
    assert [grant.capability for grant in identity.delegation.grants] == ["create_session", "navigate"]
    assert identity.delegation.grants[1].navigate.allowed_domains == ["example.com"]
    assert identity.delegation.action_id == answer.action_id
    assert identity.delegation.fencing_number == 1
    assert identity.delegation.method == "/hyperkitty.browser.v1.BrowserService/Execute"
    await world.act(agent_id, CREATE)
    assert [each.delegation.fencing_number for each in world.browser.identities] == [1, 2]


async def test_events_records_and_history_tell_the_same(world: AgentWorld) -> None:
    agent_id = await world.create("click")
    answer = await world.act(agent_id, CLICK)
    created, started, completed = await world.system.events(agent_id)
    categories = [each.category for each in (created, started, completed)]
    assert categories == ["agent.created", "agent.action.started", "agent.action.completed"]
    assert started.subject == completed.subject == answer.action_id
    assert started.operation_id == completed.operation_id
    record = await world.system.operations().get(f"agent.{started.operation_id}")
    assert record is not None
    assert (record.value.kind, record.value.status) == ("act", OPERATION_STATUS_SUCCEEDED)
    [action] = await world.history(agent_id)
    assert list(action.event_sequences) == [started.sequence, completed.sequence]
    assert (action.action_id, action.outcome) == (answer.action_id, "ok")


async def test_an_action_through_the_agent_costs_five_writes(world: AgentWorld) -> None:
    agent_id = await world.create("click")
    await world.act(agent_id, CLICK)
    jetstream = world.system.bus.connection.jetstream

    async def written() -> dict[str, int]:
        streams = ("HK_EVENTS", "KV_agents", "KV_actions", "KV_operations", "KV_idempotency")
        return {name: (await jetstream.stream_info(name)).state.last_seq for name in streams}

    before = await written()
    await world.act(agent_id, CLICK)
    after = await written()
    assert {name: after[name] - before[name] for name in after} == {
        "HK_EVENTS": 2,
        "KV_agents": 1,
        "KV_actions": 1,
        "KV_operations": 1,
        "KV_idempotency": 0,
    }


@pytest.mark.parametrize(
    ("granted", "operation", "code"),
    [
        ("type", BrowserOperation(click=ClickOperation(tab_id=TAB, target=Target(ref="e1"))), "not_authorized"),
        ("click", BrowserOperation(click=ClickOperation(tab_id="tab_1")), "invalid_arguments"),
        ("a.org", BrowserOperation(navigate=NavigateOperation(tab_id=TAB, url="https://b.org/")), "not_authorized"),
    ],
)
async def test_a_refused_action_reaches_no_browser_and_is_on_the_log(
    world: AgentWorld, granted: str, operation: BrowserOperation, code: str
) -> None:
    scope = Grant(capability="navigate", navigate=NavigateScope(allowed_domains=[granted]))
    agent_id = await world.create(scope if "." in granted else granted)
    with pytest.raises(Refusal) as caught:
        await world.act(agent_id, browser(**{operation.WhichOneof("operation") or "": _arm(operation)}))
    assert reason(caught.value.code) == code
    rejected = (await world.system.events(agent_id))[-1]
    assert (rejected.category, from_struct(rejected.data)["code"]) == ("agent.action.rejected", code)
    record = await world.system.operations().get(f"agent.{rejected.operation_id}")
    assert record is not None
    assert record.value.status == OPERATION_STATUS_FAILED
    assert world.browser.calls == []
    assert await world.state(agent_id) == "created"


def _arm(operation: BrowserOperation) -> object:
    return getattr(operation, operation.WhichOneof("operation") or "")


async def test_reads_answer_while_an_action_runs_and_one_runs_at_a_time(world: AgentWorld) -> None:
    agent_id = await world.create("click")
    world.browser.gate.clear()
    action = start(world, agent_id)
    await world.browser.arrived.wait()
    async with asyncio.timeout(1):
        assert await world.state(agent_id) == "waiting"
    assert (await refused(start(world, agent_id))).code == ErrorCode.ERROR_CODE_WRONG_STATE
    [running] = await world.history(agent_id)
    assert running.outcome == ""
    world.browser.gate.set()
    await action
    assert len(world.browser.calls) == 1


async def test_a_caller_that_goes_away_changes_nothing_of_the_record(world: AgentWorld) -> None:
    agent_id = await world.create("click")
    world.browser.gate.clear()
    action = start(world, agent_id)
    await world.browser.arrived.wait()
    action.cancel()
    await asyncio.wait([action])
    assert await world.state(agent_id) == "waiting"
    world.browser.gate.set()

    async def settled() -> bool:
        return await world.state(agent_id) == "planning"

    await _until(settled)
    completed = (await world.system.events(agent_id))[-1]
    assert completed.category == "agent.action.completed"
    store = world.system.operations()
    async with asyncio.timeout(5):
        while (record := await store.get(f"agent.{completed.operation_id}")) is None:
            await asyncio.sleep(0.02)
    assert record.value.status == OPERATION_STATUS_SUCCEEDED
    await world.act(agent_id, CLICK)


async def _until(holds: object) -> None:
    async with asyncio.timeout(10):
        while not await holds():  # type: ignore[operator]
            await asyncio.sleep(0.02)


async def test_the_deadline_is_kept_and_the_agent_goes_on(world: AgentWorld) -> None:
    agent_id = await world.create("click")
    world.browser.gate.clear()
    began = asyncio.get_running_loop().time()
    with pytest.raises(Refusal) as caught:
        await world.act(agent_id, CLICK, timeout=0.5)
    assert caught.value.code == ErrorCode.ERROR_CODE_DEADLINE_EXCEEDED
    assert asyncio.get_running_loop().time() - began < 0.75
    assert 0 < world.browser.seconds_left[0] < 0.5
    world.browser.gate.set()
    await world.act(agent_id, CLICK)
    outcomes = [action.outcome for action in await world.history(agent_id)]
    assert outcomes == ["deadline_exceeded", "ok"]


async def test_kill_9_during_an_action_is_settled_at_the_restart(world: AgentWorld) -> None:
    agent_id = await world.create("click")
    quiet = await world.create("click")
    await world.act(quiet, CLICK)
    before = await world.get(quiet)
    world.browser.arrived.clear()
    world.browser.gate.clear()
    action = start(world, agent_id)
    await world.browser.arrived.wait()
    await world.system.kill("agent")
    assert (await refused(action)).code == ErrorCode.ERROR_CODE_UNAVAILABLE
    world.browser.gate.set()
    await world.system.start("agent")
    assert await world.state(agent_id) == "planning"
    [interrupted] = await world.history(agent_id)
    assert interrupted.outcome == "interrupted"
    assert await world.system.categories(agent_id) == ["agent.created", "agent.action.started", "agent.action.failed"]
    failed = (await world.system.events(agent_id))[-1]
    record = await world.system.operations().get(f"agent.{failed.operation_id}")
    assert record is not None
    assert record.value.error.code == ErrorCode.ERROR_CODE_INTERRUPTED
    after = await world.get(quiet)
    after.usage.elapsed_ms = before.usage.elapsed_ms
    assert after == before
    await world.act(agent_id, CLICK)
    assert world.browser.identities[-1].delegation.fencing_number == 2


async def test_a_frozen_log_refuses_before_the_browser_hears(world: AgentWorld) -> None:
    agent_id = await world.create("click")
    await world.act(agent_id, CLICK)
    world.system.nats.signal(signal.SIGSTOP)
    with pytest.raises(Refusal) as caught:
        await world.act(agent_id, CLICK, timeout=20)
    assert caught.value.code in (ErrorCode.ERROR_CODE_EVENT_LOG_UNAVAILABLE, ErrorCode.ERROR_CODE_UNAVAILABLE)
    assert len(world.browser.calls) == 1
    world.system.nats.signal(signal.SIGCONT)

    async def acts_again() -> bool:
        try:
            await world.act(agent_id, CLICK)
        except Refusal:
            return False
        return True

    await _until(acts_again)
    assert await world.state(agent_id) == "planning"
    started = [event for event in await world.system.events(agent_id) if event.category == "agent.action.started"]
    ended = [event for event in await world.system.events(agent_id) if event.category.startswith("agent.action.")]
    assert len(ended) == 2 * len(started)


async def test_an_agent_that_ends_leaves_no_session_open(world: AgentWorld) -> None:
    agent_id = await world.create("create_session")
    sessions = [(await world.act(agent_id, CREATE)).browser.create_session.session_id for _ in range(2)]
    with calling_as(ROOT):
        await world.stub.CompleteAgent(pb.CompleteAgentRequest(agent_id=agent_id))
    await async_until(lambda: len(world.browser.closed) == 2, "both sessions closed")
    assert sorted(world.browser.closed) == sorted(sessions)
    assert {identity.token_id for identity in world.browser.closers} == {"system:agent"}
    assert (await refused(start(world, agent_id))).details["state"] == "completed"


async def test_sessions_left_by_a_kill_are_closed_after_the_restart(world: AgentWorld) -> None:
    agent_id = await world.create("create_session")
    session_id = (await world.act(agent_id, CREATE)).browser.create_session.session_id
    world.browser.close_gate.clear()
    with calling_as(ROOT):
        await world.stub.TerminateAgent(pb.TerminateAgentRequest(agent_id=agent_id, reason="enough"))
    await world.browser.closing.wait()
    await world.system.kill("agent")
    world.browser.close_gate.set()
    world.browser.closed.clear()
    await world.system.start("agent")
    await async_until(lambda: session_id in world.browser.closed, "the session closed")
    assert (await world.get(agent_id)).failure_reason == "enough"


async def test_terminating_breaks_off_and_answers(world: AgentWorld) -> None:
    agent_id = await world.create("click")
    world.browser.gate.clear()
    action = start(world, agent_id)
    await world.browser.arrived.wait()
    with calling_as(ROOT):
        await world.stub.TerminateAgent(pb.TerminateAgentRequest(agent_id=agent_id))
    assert (await refused(action)).code == ErrorCode.ERROR_CODE_CANCELLED
    assert await world.state(agent_id) == "terminated"


async def test_a_limit_fails_the_agent(world: AgentWorld) -> None:
    agent_id = await world.create("click", limits=AgentLimits(max_actions=1))
    await world.act(agent_id, CLICK)
    refusal = await refused(start(world, agent_id))
    assert (refusal.code, refusal.details["which"]) == (ErrorCode.ERROR_CODE_LIMIT_EXCEEDED, "max_actions")
    assert await world.state(agent_id) == "failed"
    assert (await world.system.categories(agent_id))[-1] == "agent.failed"


async def test_tenants_do_not_see_each_other(world: AgentWorld) -> None:
    agent_id = await world.create("click")
    with pytest.raises(Refusal) as caught:
        await world.get(agent_id, OTHER_TENANT)
    assert caught.value.code == ErrorCode.ERROR_CODE_NOT_FOUND
    with pytest.raises(Refusal) as caught:
        await world.act(agent_id, CLICK, identity=OTHER_TENANT)
    assert caught.value.code == ErrorCode.ERROR_CODE_NOT_FOUND
    with calling_as(OTHER_TENANT):
        assert list((await world.stub.ListAgents(pb.ListAgentsRequest())).agents) == []


async def test_a_service_that_is_not_the_gateway_cannot_act_for_anybody(world: AgentWorld) -> None:
    agent_id = await world.create("click")
    world.system.keys["gateway"] = world.system.keys["browser"]
    await world.system.channels.pop("agent").close()
    with pytest.raises(Refusal) as caught:
        await world.act(agent_id, CLICK)
    assert caught.value.code == ErrorCode.ERROR_CODE_UNAUTHENTICATED


@pytest.mark.parametrize("service", ["search", "messaging"])
async def test_a_tool_whose_service_is_away_is_an_error_of_the_action(world: AgentWorld, service: str) -> None:
    agent_id = await world.create("search", "message")
    call = SEARCH if service == "search" else MESSAGE
    with pytest.raises(Refusal) as caught:
        await world.act(agent_id, call, timeout=2)
    assert caught.value.code in (ErrorCode.ERROR_CODE_UNAVAILABLE, ErrorCode.ERROR_CODE_DEADLINE_EXCEEDED)
    assert await world.state(agent_id) == "planning"


async def test_stopping_is_clean(world: AgentWorld) -> None:
    assert await world.system.stop("agent") == 0
