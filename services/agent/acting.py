"""Running an action (SPEC §6): state, limits, grant, arguments; claim and intent; the tool; the outcome.

An action runs in a task of its own: a caller that goes away changes nothing of it, its outcome or its record.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, Protocol

import msgspec
from hyperkitty.agent.v1.agent_service_pb2 import ActResponse
from hyperkitty.agent.v1.agents_pb2 import Agent, AgentAction, ToolCall
from hyperkitty.auth.v1.identity_pb2 import CallerIdentity
from hyperkitty.operations.v1.errors_pb2 import ErrorCode

from services.agent import checks, effects, limits, proposals, states, streaks
from services.agent.aftermath import COMPLETED_EVENT, FAILED_EVENT, facts_of
from services.agent.effects import Done
from services.agent.ledger import Standing
from services.agent.lives import Lives, about, changed_meanwhile, copied
from services.agent.outliving import outlive
from services.agent.proposals import Proposal
from services.agent.records import ActionEntry, AgentRecord, Claim
from services.agent.slots import Running, Slot
from services.kit import deadlines, errors, logs, record
from services.kit.errors import Refusal, reason
from services.kit.ids import new_id
from services.kit.json_values import JsonValue, from_struct
from services.kit.operations import current_operation
from services.kit.store import RevisionMismatch, StoreUnavailable

log = logs.get(__name__)

Spawn = Callable[[Coroutine[Any, Any, None], str], object]

# After its deadline an action has this long until nobody can be running it any more.
_GRACE_MS = 10_000
_SETTLE_SECONDS = 5.0
_SETTLE_PAUSES = (0.25, 0.5, 1.0, 2.0, 5.0, 10.0, 30.0, 60.0, 120.0, 300.0)


class ToolRunner(Protocol):
    """What an action is handed to; Tools is the real one."""

    async def run(self, agent: Agent, claim: Claim, proposal: Proposal) -> Done:
        """One action, to its end or to the end of its time. Raises Refusal."""
        ...


class Acting:
    """Acts for agents. `spawn` takes background work that the service owns; `on_end` hears of agents that failed."""

    def __init__(self, lives: Lives, tools: ToolRunner, spawn: Spawn, on_end: Callable[[Agent], None]) -> None:
        self._lives = lives
        self._tools = tools
        self._spawn = spawn
        self._on_end = on_end

    async def act(self, identity: CallerIdentity, agent_id: str, call: ToolCall) -> ActResponse:
        """One action, from its checks to its outcome. Raises Refusal."""
        return await outlive(self._act(identity, agent_id, call))

    async def _act(self, identity: CallerIdentity, agent_id: str, call: ToolCall) -> ActResponse:
        slot = self._lives.slots.of(agent_id)
        async with slot.lock:
            standing = await self._lives.standing(slot, identity, agent_id)
            about(standing.agent)
            states.require(agent_id, standing.agent.state, states.IDLE, "act")
            await self._check_limits(slot, standing, call)
            proposal = _checked(standing.agent, call)
            running = await self._claim(slot, standing, proposal)
        return await self._run(slot, running, proposal)

    async def _check_limits(self, slot: Slot, standing: Standing, call: ToolCall) -> None:
        agent = standing.agent
        searching = call.WhichOneof("tool") == "search"
        repeats = streaks.repeated(standing.record.streak, call)
        refusal = limits.check(agent.limits, agent.usage, searching=searching, repeats=repeats)
        if refusal is None:
            return

        def fail(failed: Agent) -> None:
            failed.state = states.FAILED
            failed.failure_reason = f"limit_exceeded: {refusal.message}"

        try:
            failed = await self._lives.write(slot, standing, fail)
        except RevisionMismatch as error:
            raise changed_meanwhile(agent.agent_id) from error
        record.outcome("agent.failed", subject=agent.agent_id, data={"reason": "limit_exceeded", **refusal.details})
        self._on_end(failed.agent)
        raise refusal

    async def _claim(self, slot: Slot, standing: Standing, proposal: Proposal) -> Running:
        """Claims the action and puts its intent on the log, both at once; the tool hears of it after both."""
        claim = self._new_claim(standing.agent, proposal)
        slot.running = running = Running(standing.agent, claim, standing.record.streak)
        intent = record.start_intent(
            "agent.action.started",
            subject=claim.action.action_id,
            session_id=claim.session_id,
            data=facts_of(claim.action),
            failed=FAILED_EVENT,
        )
        claimed, published = await asyncio.gather(
            self._lives.ledger.write(standing, _claiming(standing, claim)), intent, return_exceptions=True
        )
        if isinstance(claimed, BaseException):
            # Whether it was written is not always known: whoever looks next finds out, and settles it.
            slot.running = slot.standing = None
            slot.told = claim.action.action_id
            if isinstance(claimed, RevisionMismatch):
                raise changed_meanwhile(standing.agent.agent_id) from claimed
            raise claimed
        slot.standing = claimed
        if isinstance(published, BaseException):
            refusal = published if isinstance(published, Refusal) else errors.internal(published)
            await self._settle(slot, running, effects.failed(self._ended(claim), refusal))
            raise refusal
        running.started = True
        return running

    def _new_claim(self, agent: Agent, proposal: Proposal) -> Claim:
        operation = current_operation()
        now_ms = self._lives.clock.now_ms()
        action = AgentAction(
            action_id=new_id("act"),
            agent_id=agent.agent_id,
            tool=proposal.tool,
            op=proposal.op,
            args=proposal.masked(),
            started_at_ms=now_ms,
            fencing_number=agent.action_count + 1,
        )
        return Claim(
            action,
            owner=self._lives.owner,
            expires_at_ms=now_ms + limits.ACTION_MS + _GRACE_MS,
            session_id=proposal.session_id,
            operation_id=operation.operation_id,
            request_id=operation.request_id,
            actor=operation.identity.token_id,
        )

    async def _run(self, slot: Slot, running: Running, proposal: Proposal) -> ActResponse:
        call = asyncio.create_task(self._tools.run(running.agent, running.claim, proposal))
        outcome: Done | Refusal
        try:
            outcome = await running.wait_for(call)
        except Refusal as refusal:
            outcome = refusal
        except asyncio.CancelledError:
            outcome = running.stopped or Refusal(ErrorCode.ERROR_CODE_INTERRUPTED, "the agent service is stopping")
        except Exception as error:  # whatever it was, the action has an outcome
            outcome = errors.internal(error)
        return await self._conclude(slot, running, proposal, outcome)

    async def _conclude(self, slot: Slot, running: Running, proposal: Proposal, outcome: Done | Refusal) -> ActResponse:
        action = self._ended(running.claim)
        if isinstance(outcome, Refusal):
            entry = effects.failed(action, outcome, proposal)
            category = FAILED_EVENT
        else:
            entry = effects.succeeded(action, proposal, outcome)
            category = COMPLETED_EVENT
        facts = {**facts_of(action), "duration_ms": action.duration_ms, "outcome": action.outcome}
        if isinstance(outcome, Refusal):
            facts["code"], facts["message"] = action.outcome, outcome.message
        session_id = running.claim.session_id or next(iter(entry.opened), "")
        record.outcome(category, subject=action.action_id, session_id=session_id, data=facts)
        await self._settle(slot, running, entry)
        streak = streaks.prolonged(running.streak, entry.repeat_of, entry.repeat_outcome)
        warning = streaks.warning(streak, running.agent.limits)
        if isinstance(outcome, Refusal):
            outcome.details.setdefault("action_id", action.action_id)
            if warning:
                outcome.details["warning"] = warning
            raise outcome
        outcome.response.warning = warning
        return outcome.response

    def _ended(self, claim: Claim) -> AgentAction:
        action = AgentAction()
        action.CopyFrom(claim.action)
        action.duration_ms = max(0, self._lives.clock.now_ms() - action.started_at_ms)
        return action

    async def _settle(self, slot: Slot, running: Running, entry: ActionEntry) -> None:
        """Decides the outcome. Where the store does not take it now, it is offered again until it does."""
        if not await self._try_settle(slot, running, entry):
            self._spawn(self._settle_later(slot, running, entry), "settle-action")

    async def _try_settle(self, slot: Slot, running: Running, entry: ActionEntry) -> bool:
        try:
            with deadlines.apart(_SETTLE_SECONDS):
                await self._lives.ledger.end(running.agent, running.claim, entry)
        except StoreUnavailable:
            return False
        known = slot.standing
        if known is not None and known.record.claim == running.claim:
            slot.standing = self._lives.ledger.after(known, entry)
        _release(slot, running)
        return True

    async def _settle_later(self, slot: Slot, running: Running, entry: ActionEntry) -> None:
        for pause in _SETTLE_PAUSES:
            # Nothing tells when the store is back; asking again after a while does.
            await asyncio.sleep(pause)
            if await self._try_settle(slot, running, entry):
                return
        log.error("action_not_settled", action_id=entry.action.action_id, agent_id=entry.action.agent_id)
        # Whoever looks at the agent next settles it as interrupted.
        slot.standing = None
        _release(slot, running)


def _release(slot: Slot, running: Running) -> None:
    if slot.running is running:
        slot.running = None
    running.settled.set()


def _checked(agent: Agent, call: ToolCall) -> Proposal:
    """The proposal where grants and arguments allow it; publishes the rejection where they do not."""
    try:
        proposal = proposals.read(call)
        checks.check_grant(agent.capabilities, proposal)
        checks.check_arguments(agent.agent_id, agent.capabilities, proposal)
    except Refusal as refusal:
        record.outcome("agent.action.rejected", subject=agent.agent_id, data=_rejected(call, refusal))
        raise
    return proposal


def _rejected(call: ToolCall, refusal: Refusal) -> dict[str, JsonValue]:
    facts: dict[str, JsonValue] = {"code": reason(refusal.code), "message": refusal.message}
    try:
        proposal = proposals.read(call)
    except Refusal:
        return facts
    return {**facts, "tool": proposal.tool, "op": proposal.op, "args": from_struct(proposal.masked())}


def _claiming(standing: Standing, claim: Claim) -> AgentRecord:
    agent = copied(standing.agent)
    agent.state = states.WAITING
    agent.action_count = agent.usage.actions = claim.action.fencing_number
    agent.started_at_ms = agent.started_at_ms or claim.action.started_at_ms
    agent.updated_at_ms = claim.action.started_at_ms
    return msgspec.structs.replace(standing.record, agent=agent, claim=claim)
