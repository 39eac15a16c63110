"""An agent service without processes: memory stores and log, tools that a test holds in its hand."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Awaitable, Callable, Coroutine
from contextvars import copy_context
from pathlib import Path
from typing import Any, TypeVar

from hyperkitty.agent.v1.agent_service_pb2 import ActResponse
from hyperkitty.agent.v1.agents_pb2 import Agent, AgentAction, AgentLimits, AgentState, ToolCall
from hyperkitty.agent.v1.grants_pb2 import Grant
from hyperkitty.auth.v1.identity_pb2 import CallerIdentity, TokenScopes
from hyperkitty.browser.v1.operations_pb2 import BrowserOperation
from hyperkitty.events.v1.events_pb2 import Event
from hyperkitty.operations.v1.operations_pb2 import Operation

from services.agent import limits, states
from services.agent.acting import Acting
from services.agent.effects import Done
from services.agent.ledger import Ledger
from services.agent.lives import Lives
from services.agent.proposals import Proposal
from services.agent.records import ActionEntry, AgentRecord, Claim
from services.kit import record
from services.kit.clock import ManualClock
from services.kit.errors import Refusal
from services.kit.event_log import EventFilter
from services.kit.ids import new_id
from services.kit.memory_events import MemoryEventLog
from services.kit.memory_store import MemoryStore
from services.kit.operations import OperationContext, enter
from services.kit.record_codec import RecordCodec
from services.kit.recorder import Recorder
from services.kit.spool import Spool
from services.kit.store import proto_codec

T = TypeVar("T")
PERSON = CallerIdentity(tenant="default", token_id="tok_person", scopes=TokenScopes(root=True))


class HeldTools:
    """Tools whose answer a test decides; `calls` are the actions that reached them."""

    def __init__(self) -> None:
        self.calls: list[Proposal] = []
        self.claims: list[Claim] = []
        self.arrived = asyncio.Event()
        self.answer: Callable[[Proposal], ActResponse | Refusal] = lambda proposal: ActResponse()
        self.network_requests = 0
        self.gate = asyncio.Event()
        self.gate.set()

    async def run(self, agent: Agent, claim: Claim, proposal: Proposal) -> Done:
        self.calls.append(proposal)
        self.claims.append(claim)
        self.arrived.set()
        await self.gate.wait()
        answer = self.answer(proposal)
        if isinstance(answer, Refusal):
            raise answer
        answer.action_id = claim.action.action_id
        session_id = str(getattr(proposal.args, "session_id", ""))
        return Done(answer, session_id, self.network_requests)


class World:
    """One instance of the service's inside, on stores that another instance may share."""

    def __init__(self, other: World | None = None, owner: str = "here") -> None:
        self.clock = other.clock if other else ManualClock()
        self.agents = other.agents if other else MemoryStore(RecordCodec(AgentRecord))
        self.actions = other.actions if other else MemoryStore(RecordCodec(ActionEntry))
        self.log = other.log if other else MemoryEventLog()
        self.operations = other.operations if other else MemoryStore(proto_codec(Operation))
        self.recorder = Recorder("agent", self.log, self.operations, Spool(Path(tempfile.mkdtemp()) / "spool"))
        record.install(self.recorder)
        self.ledger = Ledger(self.agents, self.actions, self.clock)
        self.lives = Lives(self.ledger, self.log, self.recorder, self.clock, owner)
        self.tools = HeldTools()
        self.ended: list[Agent] = []
        self.tasks: list[asyncio.Task[None]] = []
        self.acting = Acting(self.lives, self.tools, self._spawn, self.ended.append)

    def _spawn(self, work: Coroutine[Any, Any, None], name: str) -> None:
        self.tasks.append(asyncio.create_task(work, name=name))

    async def agent(
        self, *granted: str | Grant, asked: AgentLimits | None = None, state: AgentState.ValueType = states.READY
    ) -> str:
        """A new agent's id."""
        capabilities = [Grant(capability=each) if isinstance(each, str) else each for each in granted]
        held = limits.with_defaults(asked or AgentLimits())
        agent_id = new_id("agent")
        await self.ledger.create(
            Agent(agent_id=agent_id, tenant="default", state=state, capabilities=capabilities, limits=held)
        )
        return agent_id

    async def call(self, work: Callable[[], Awaitable[T]], identity: CallerIdentity = PERSON) -> T:
        """Runs `work` as an operation: outcome events and record are written at its end, as kit does it."""
        operation = OperationContext(request_id="r", identity=identity, kind="act")
        enter(operation)
        refusal: Refusal | None = None
        try:
            return await work()
        except Refusal as error:
            refusal = error
            raise
        finally:
            operation.fail_open_intents(refusal or Refusal(22, "cancelled"))  # type: ignore[arg-type]
            queued, operation.queued = operation.queued, []
            await self.recorder.write(queued, operation.to_proto(refusal))

    def act(self, agent_id: str, call: ToolCall) -> asyncio.Task[ActResponse]:
        """Starts an action in a task of its own, as a server would."""
        work = self.call(lambda: self.acting.act(PERSON, agent_id, call))
        return asyncio.create_task(work, context=copy_context())

    async def state(self, agent_id: str) -> str:
        """The agent's state as a reader sees it."""
        return states.name((await self.lives.look(PERSON, agent_id)).agent.state)

    async def history(self, agent_id: str) -> list[AgentAction]:
        """The agent's ended actions."""
        agent = (await self.ledger.find(PERSON, agent_id)).agent
        return await self.ledger.history(agent, range(1, agent.action_count + 1))

    async def events(self) -> list[Event]:
        """All events, oldest first."""
        return (await self.log.recent(EventFilter(), 1000))[::-1]

    async def categories(self) -> list[str]:
        """Categories of all events, oldest first."""
        return [event.category for event in await self.events()]


def browser(**arm: object) -> ToolCall:
    """A browser action."""
    return ToolCall(browser=BrowserOperation(**arm))  # type: ignore[arg-type]
