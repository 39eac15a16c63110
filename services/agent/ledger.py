"""Agents and their actions in the stores: finding, listing, claiming, ending (records.py has the scheme)."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

from hyperkitty.agent.v1.agents_pb2 import Agent, AgentAction, AgentState
from hyperkitty.auth.v1.identity_pb2 import CallerIdentity
from hyperkitty.operations.v1.errors_pb2 import ErrorCode

from services.agent.records import ActionEntry, AgentRecord, Claim, action_key, agent_key, fold, key_of_claim
from services.kit.clock import Clock
from services.kit.errors import Refusal
from services.kit.identity import is_system
from services.kit.paging import DEFAULT_SIZE, page_of
from services.kit.store import Entry, KeyExists, Store
from services.kit.tokens import encode_token

_ANY = AgentState.AGENT_STATE_UNSPECIFIED


@dataclass(frozen=True)
class Standing:
    """An agent as of now. `record` has the outcome of its last action taken in; a claim left in it is unsettled."""

    record: AgentRecord
    revision: int

    @property
    def agent(self) -> Agent:
        return self.record.agent


@dataclass(frozen=True)
class Left:
    """What an earlier process left: an agent, its last claim, that claim's entry once it has ended, open sessions."""

    agent: Agent
    claim: Claim | None
    entry: ActionEntry | None
    sessions: tuple[str, ...]


def sees_all(identity: CallerIdentity) -> bool:
    """Whether a caller sees every tenant: root, and the services themselves."""
    return identity.scopes.root or is_system(identity)


def may_see(identity: CallerIdentity, agent_id: str) -> bool:
    """A token that is bound to an agent sees that agent and no other."""
    return not identity.agent_id or identity.agent_id == agent_id


class Ledger:
    """The buckets `agents` and `actions`. Methods raise StoreUnavailable as the stores do."""

    def __init__(self, agents: Store[AgentRecord], actions: Store[ActionEntry], clock: Clock) -> None:
        self._agents = agents
        self._actions = actions
        self._clock = clock

    async def create(self, agent: Agent) -> Standing:
        """Stores a new agent."""
        record = AgentRecord(agent)
        return Standing(record, await self._agents.create(agent_key(agent.tenant, agent.agent_id), record))

    async def find(self, identity: CallerIdentity, agent_id: str) -> Standing:
        """The agent, for a caller who may see it; raises Refusal not_found, whether it is absent or another's."""
        found: Entry[AgentRecord] | None = None
        if may_see(identity, agent_id):
            found = await self._agents.get(agent_key(identity.tenant, agent_id))
            if found is None and sees_all(identity):
                found = await self._find_anywhere(agent_id)
        if found is None:
            raise Refusal(ErrorCode.ERROR_CODE_NOT_FOUND, f"no agent {agent_id}", details={"agent_id": agent_id})
        return await self._standing(found)

    async def _find_anywhere(self, agent_id: str) -> Entry[AgentRecord] | None:
        for key in await self._agents.keys():
            if key.endswith("." + agent_id):
                return await self._agents.get(key)
        return None

    async def again(self, agent: Agent) -> Standing:
        """The agent as it stands in the store now."""
        found = await self._agents.get(agent_key(agent.tenant, agent.agent_id))
        if found is None:
            raise Refusal(ErrorCode.ERROR_CODE_NOT_FOUND, f"agent {agent.agent_id} is no longer kept")
        return await self._standing(found)

    def visible(self, identity: CallerIdentity, agent: Agent) -> bool:
        """Whether a caller may see the agent."""
        return may_see(identity, agent.agent_id) and (sees_all(identity) or identity.tenant == agent.tenant)

    def as_of_now(self, standing: Standing) -> Standing:
        """The same standing with its usage measured again."""
        return Standing(fold(standing.record, None, self._clock.now_ms()), standing.revision)

    async def _standing(self, found: Entry[AgentRecord]) -> Standing:
        claim = found.value.claim
        ended = None if claim is None else await self._actions.get(key_of_claim(found.value.agent, claim))
        return Standing(fold(found.value, ended.value if ended else None, self._clock.now_ms()), found.revision)

    async def write(self, standing: Standing, record: AgentRecord) -> Standing:
        """Replaces the record; raises RevisionMismatch where somebody else wrote since `standing` was read."""
        key = agent_key(record.agent.tenant, record.agent.agent_id)
        return Standing(record, await self._agents.update(key, record, standing.revision))

    async def end(self, agent: Agent, claim: Claim, entry: ActionEntry) -> bool:
        """Decides the outcome of an agent's claim; False where it was decided before."""
        try:
            await self._actions.create(key_of_claim(agent, claim), entry)
        except KeyExists:
            return False
        return True

    def after(self, standing: Standing, entry: ActionEntry) -> Standing:
        """What the agent is once its claim has ended so."""
        return Standing(fold(standing.record, entry, self._clock.now_ms()), standing.revision)

    async def history(self, agent: Agent, numbers: range) -> list[AgentAction]:
        """The actions with these fencing numbers that have ended, in their order."""
        keys = [action_key(agent.tenant, agent.agent_id, number) for number in numbers]
        found = await asyncio.gather(*(self._actions.get(key) for key in keys))
        return [entry.value.action for entry in found if entry is not None]

    async def page(
        self, identity: CallerIdentity, state: AgentState.ValueType, page_size: int, page_token: str
    ) -> tuple[list[Agent], str]:
        """Agents that the caller sees, newest first, in `state` where it is one; and the next page's token."""
        prefix = "" if sees_all(identity) else encode_token(identity.tenant)
        keys = [key for key in await self._agents.keys(prefix) if may_see(identity, _id_of(key))]
        keys.sort(key=_id_of, reverse=True)
        waiting, _ = page_of(keys, len(keys) or 1, page_token, key=_id_of)
        size = page_size or DEFAULT_SIZE
        agents: list[Agent] = []
        examined = 0
        while waiting[examined:] and len(agents) < size:
            # No more than can still be taken, so that the page ends where its last agent stands.
            batch = waiting[examined : examined + size - len(agents)]
            agents += [agent for agent in await self._read(batch) if state in (_ANY, agent.state)]
            examined += len(batch)
        _, token = page_of(keys, examined or 1, page_token, key=_id_of)
        return agents, token

    async def _read(self, keys: list[str]) -> list[Agent]:
        found = await asyncio.gather(*(self._agents.get(key) for key in keys))
        standings = await asyncio.gather(*(self._standing(each) for each in found if each is not None))
        return [each.agent for each in standings]

    async def left(self) -> list[Left]:
        """What a starting service has to look at: agents with an action since their last change, or open sessions."""
        found: list[Left] = []
        for stored in await self._agents.entries():
            record = stored.value
            ended = None if record.claim is None else await self._actions.get(key_of_claim(record.agent, record.claim))
            entry = ended.value if ended else None
            if record.claim is not None or record.sessions:
                found.append(Left(record.agent, record.claim, entry, fold(record, entry, 0).sessions))
        return found


def _id_of(key: str) -> str:
    return key.rpartition(".")[2]
