"""One agent's life: its standing under its lock, changes of its record, actions that were left without an outcome."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import msgspec
from hyperkitty.agent.v1.agents_pb2 import Agent, AgentAction, AgentState
from hyperkitty.auth.v1.identity_pb2 import CallerIdentity
from hyperkitty.operations.v1.errors_pb2 import ErrorCode

from services.agent import states
from services.agent.aftermath import COMPLETED_EVENT, FAILED_EVENT, INTERRUPTED, aftermath
from services.agent.ledger import Ledger, Standing
from services.agent.records import ActionEntry, Claim
from services.agent.slots import Slot, Slots
from services.kit.clock import Clock
from services.kit.errors import Refusal
from services.kit.event_log import EventFilter, EventLog
from services.kit.operations import current_operation
from services.kit.recorder import Recorder
from services.kit.store import RevisionMismatch

# An action has two events; a repeat after a crash makes it a few more.
_EVENTS_OF_ACTION = 10


def stopped(agent: Agent) -> Refusal:
    """Why an action ends when its agent does."""
    return Refusal(
        ErrorCode.ERROR_CODE_CANCELLED,
        f"{agent.agent_id} is {states.name(agent.state)}: its action was broken off",
        details={"agent_id": agent.agent_id, "state": states.name(agent.state)},
    )


def changed_meanwhile(agent_id: str) -> Refusal:
    """Somebody else wrote the record at the same moment."""
    return Refusal(
        ErrorCode.ERROR_CODE_WRONG_STATE,
        f"another call changed {agent_id} at the same moment",
        hint="get_agent shows its state now; then call again.",
        details={"agent_id": agent_id},
    )


def copied(agent: Agent) -> Agent:
    """The same agent, free to be changed."""
    copy = Agent()
    copy.CopyFrom(agent)
    return copy


def about(agent: Agent) -> None:
    """Record and events of the current operation are about this agent, and belong to its tenant.

    Root acts in every tenant; what it does to an agent is for that agent's tenant to see.
    """
    operation = current_operation()
    operation.subject = operation.agent_id = agent.agent_id
    if operation.identity.tenant != agent.tenant:
        identity = CallerIdentity()
        identity.CopyFrom(operation.identity)
        identity.tenant = agent.tenant
        operation.identity = identity


class Lives:
    """The agents that this instance works on. `owner` names the instance in the claims it makes."""

    def __init__(self, ledger: Ledger, event_log: EventLog, recorder: Recorder, clock: Clock, owner: str) -> None:
        self.ledger = ledger
        self._event_log = event_log
        self._recorder = recorder
        self.slots = Slots()
        self.clock = clock
        self.owner = owner

    async def look(self, identity: CallerIdentity, agent_id: str) -> Standing:
        """The agent for a reader: never waits for an action. Raises Refusal not_found."""
        standing = await self.ledger.find(identity, agent_id)
        slot = self.slots.present(agent_id)
        running = slot.running if slot else None
        if standing.record.claim is None:
            return standing
        if running is None:
            slot = slot or self.slots.of(agent_id)
            async with slot.lock:
                return await self.standing(slot, identity, agent_id)
        if standing.agent.state == states.WAITING and not running.started:
            standing.agent.state = states.EXECUTING
        return standing

    async def standing(self, slot: Slot, identity: CallerIdentity, agent_id: str) -> Standing:
        """The agent for a writer, who holds the slot's lock; an action that nobody runs is settled first."""
        known = slot.standing
        if known is not None and self.ledger.visible(identity, known.agent) and _is_certain(slot, known):
            return self.ledger.as_of_now(known)
        is_idle = slot.running is None
        standing = await self.ledger.find(identity, agent_id)
        claim = standing.record.claim
        # Nobody began an action since: the lock is held. So what is unsettled now has no one who will settle it.
        if claim is not None and is_idle and self._is_orphan(claim):
            standing = await self._interrupt(standing, claim, is_told=slot.told == claim.action.action_id)
        slot.standing = standing
        return standing

    def _is_orphan(self, claim: Claim) -> bool:
        return claim.owner == self.owner or self.clock.now_ms() > claim.expires_at_ms

    async def _interrupt(self, standing: Standing, claim: Claim, *, is_told: bool) -> Standing:
        """Settles an action whose service died, or whose claim was written after it had been given up (SPEC §9).

        Its failure is published first, unless the log or the call that gave it up has told of it.
        """
        action = AgentAction()
        action.CopyFrom(claim.action)
        action.outcome = INTERRUPTED
        action.duration_ms = max(0, self.clock.now_ms() - action.started_at_ms)
        if not is_told and not await self.outcome_is_told(standing.agent, claim):
            await self._recorder.write(*aftermath(standing.agent, claim, action, self.clock.now_ms()))
        await self.ledger.end(standing.agent, claim, ActionEntry(action))
        return await self.ledger.again(standing.agent)

    async def outcome_is_told(self, agent: Agent, claim: Claim) -> bool:
        """Whether the log has the outcome of a claim. Raises LogUnreadable."""
        wanted = EventFilter(tenant=agent.tenant, subject=claim.action.action_id)
        told = await self._event_log.recent(wanted, _EVENTS_OF_ACTION)
        return any(event.category in (COMPLETED_EVENT, FAILED_EVENT) for event in told)

    async def change(
        self,
        identity: CallerIdentity,
        agent_id: str,
        allowed: Iterable[AgentState.ValueType],
        what: str,
        apply: Callable[[Agent], None],
    ) -> Standing:
        """Changes an agent that is in an allowed state; one that ends by it has its running action broken off.

        Raises Refusal not_found, wrong_state.
        """
        slot = self.slots.of(agent_id)
        async with slot.lock:
            for _ in range(2):
                standing = await self.standing(slot, identity, agent_id)
                about(standing.agent)
                states.require(agent_id, standing.agent.state, allowed, what)
                try:
                    return await self.write(slot, standing, apply)
                except RevisionMismatch:
                    # Another replica wrote: what was remembered here is not so any more.
                    slot.standing = None
            raise changed_meanwhile(agent_id)

    async def write(self, slot: Slot, standing: Standing, apply: Callable[[Agent], None]) -> Standing:
        """Writes a changed agent; the slot's lock is held. Raises RevisionMismatch."""
        agent = copied(standing.agent)
        apply(agent)
        agent.updated_at_ms = self.clock.now_ms()
        written = msgspec.structs.replace(standing.record, agent=agent)
        slot.standing = None
        slot.standing = await self.ledger.write(standing, written)
        if slot.running is not None and agent.state in states.TERMINAL:
            slot.running.stop(stopped(agent))
        return slot.standing


def _is_certain(slot: Slot, known: Standing) -> bool:
    """Whether what is remembered will do: what this process runs itself, or where compare-and-set will decide."""
    return slot.running is not None or (known.record.claim is None and known.agent.state in states.IDLE)
