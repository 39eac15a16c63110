"""Finding, listing and ending in the stores."""

import pytest
from hyperkitty.agent.v1.agents_pb2 import Agent, AgentAction, AgentState
from hyperkitty.auth.v1.identity_pb2 import CallerIdentity, TokenScopes
from hyperkitty.operations.v1.errors_pb2 import ErrorCode

from services.agent import states
from services.agent.ledger import Ledger, Standing
from services.agent.records import ActionEntry, AgentRecord, Claim
from services.kit.clock import ManualClock
from services.kit.errors import Refusal
from services.kit.ids import new_id
from services.kit.memory_store import MemoryStore
from services.kit.record_codec import RecordCodec
from services.kit.store import RevisionMismatch

ANY = AgentState.AGENT_STATE_UNSPECIFIED
ROOT = CallerIdentity(tenant="default", token_id="tok_root", scopes=TokenScopes(root=True))


def someone(tenant: str, agent_id: str = "") -> CallerIdentity:
    return CallerIdentity(tenant=tenant, token_id="tok_x", agent_id=agent_id)


@pytest.fixture
def ledger() -> Ledger:
    return Ledger(MemoryStore(RecordCodec(AgentRecord)), MemoryStore(RecordCodec(ActionEntry)), ManualClock())


async def made(ledger: Ledger, tenant: str = "default", state: AgentState.ValueType = states.CREATED) -> Standing:
    return await ledger.create(Agent(agent_id=new_id("agent"), tenant=tenant, state=state))


async def claimed(ledger: Ledger) -> tuple[Standing, Claim]:
    standing = await made(ledger, state=states.READY)
    agent = Agent()
    agent.CopyFrom(standing.agent)
    agent.state, agent.action_count = states.WAITING, 1
    claim = Claim(AgentAction(action_id=new_id("act"), fencing_number=1), owner="here", expires_at_ms=1)
    return await ledger.write(standing, AgentRecord(agent, claim)), claim


@pytest.mark.parametrize(
    ("identity", "seen"),
    [
        (someone("default"), True),
        (someone("other"), False),
        (ROOT, True),
        (CallerIdentity(tenant="other", scopes=TokenScopes(root=True)), True),
        (CallerIdentity(tenant="system", token_id="system:browser"), True),
        (someone("default", new_id("agent")), False),
    ],
    ids=["tenant", "other tenant", "root", "root elsewhere", "a service", "bound to another"],
)
async def test_who_sees_an_agent(ledger: Ledger, identity: CallerIdentity, seen: bool) -> None:
    standing = await made(ledger)
    agent_id = standing.agent.agent_id
    if seen:
        assert (await ledger.find(identity, agent_id)).agent.agent_id == agent_id
        return
    with pytest.raises(Refusal) as caught:
        await ledger.find(identity, agent_id)
    assert caught.value.code == ErrorCode.ERROR_CODE_NOT_FOUND


async def test_a_bound_token_sees_its_agent(ledger: Ledger) -> None:
    standing = await made(ledger)
    await made(ledger)
    identity = someone("default", standing.agent.agent_id)
    assert (await ledger.find(identity, standing.agent.agent_id)).agent == standing.agent
    assert (await ledger.page(identity, ANY, 0, ""))[0] == [standing.agent]


async def test_pages_are_whole_newest_first_and_stay_in_the_tenant(ledger: Ledger) -> None:
    ids = [(await made(ledger)).agent.agent_id for _ in range(7)]
    await made(ledger, "other")
    seen: list[str] = []
    token = ""
    while True:
        agents, token = await ledger.page(someone("default"), ANY, 3, token)
        seen += [agent.agent_id for agent in agents]
        if not token:
            break
    assert seen == ids[::-1]
    assert len((await ledger.page(ROOT, ANY, 0, ""))[0]) == 8


async def test_a_page_by_state_is_full_where_enough_match(ledger: Ledger) -> None:
    wanted: list[str] = []
    for number in range(12):
        state = states.READY if number % 4 == 0 else states.CREATED
        standing = await made(ledger, state=state)
        wanted += [standing.agent.agent_id] if state == states.READY else []
    first, token = await ledger.page(someone("default"), states.READY, 2, "")
    rest, end = await ledger.page(someone("default"), states.READY, 2, token)
    assert [agent.agent_id for agent in first + rest] == wanted[::-1]
    assert end == ""


async def test_an_outcome_is_decided_once(ledger: Ledger) -> None:
    standing, claim = await claimed(ledger)
    ok = ActionEntry(AgentAction(action_id=claim.action.action_id, outcome="ok"))
    assert (await ledger.find(ROOT, standing.agent.agent_id)).agent.state == states.WAITING
    assert await ledger.end(standing.agent, claim, ok)
    assert not await ledger.end(standing.agent, claim, ActionEntry(AgentAction(outcome="interrupted")))
    after = await ledger.find(ROOT, standing.agent.agent_id)
    assert after.agent.state == states.PLANNING
    assert [action.outcome for action in await ledger.history(after.agent, range(1, 2))] == ["ok"]


async def test_two_writers_of_one_record_are_told_apart(ledger: Ledger) -> None:
    standing = await made(ledger)
    await ledger.write(standing, standing.record)
    with pytest.raises(RevisionMismatch):
        await ledger.write(standing, standing.record)


async def test_what_recovery_has_to_look_at(ledger: Ledger) -> None:
    await made(ledger)
    standing, claim = await claimed(ledger)
    [left] = await ledger.left()
    assert (left.agent.agent_id, left.claim, left.entry) == (standing.agent.agent_id, claim, None)
    entry = ActionEntry(AgentAction(outcome="ok"), opened=("sess_1",))
    await ledger.end(standing.agent, claim, entry)
    [left] = await ledger.left()
    assert (left.entry, left.sessions) == (entry, ("sess_1",))
