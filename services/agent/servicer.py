"""The rpc surface of the agent service (SPEC §6); what the calls do is elsewhere."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence

from hyperkitty.agent.v1 import agent_service_pb2 as pb
from hyperkitty.agent.v1.agent_service_pb2_grpc import AgentServiceServicer
from hyperkitty.agent.v1.agents_pb2 import Agent, AgentObjective, AgentState, AgentUsage
from hyperkitty.auth.v1.identity_pb2 import CallerIdentity
from hyperkitty.operations.v1.errors_pb2 import ErrorCode

from services.agent import limits, states
from services.agent.acting import Acting
from services.agent.history import History
from services.agent.lives import Lives, about
from services.kit import record
from services.kit.errors import Refusal
from services.kit.grants import check_grants
from services.kit.identity import current_identity
from services.kit.ids import new_id
from services.kit.json_values import JsonValue, from_struct

# What an agent completes with (contract of CompleteAgentRequest).
_MOST_RESULT_BYTES = 64 * 1024


class AgentServicer(AgentServiceServicer):
    """`on_end` hears of every agent that has ended."""

    def __init__(self, lives: Lives, acting: Acting, history: History, on_end: Callable[[Agent], None]) -> None:
        self._lives = lives
        self._acting = acting
        self._history = history
        self._on_end = on_end

    async def CreateAgent(self, request: pb.CreateAgentRequest, context: object) -> pb.CreateAgentResponse:
        identity = current_identity()
        _refuse_bound(identity, "makes no agents")
        check_grants(request.capabilities)
        now_ms = self._lives.clock.now_ms()
        agent = Agent(
            agent_id=new_id("agent"),
            state=states.CREATED,
            capabilities=request.capabilities,
            limits=limits.with_defaults(request.limits),
            usage=AgentUsage(),
            updated_at_ms=now_ms,
            tenant=identity.tenant,
            created_at_ms=now_ms,
        )
        about(agent)
        if request.HasField("objective"):
            self._give(agent, request.objective.description, request.objective.success_criteria)
        await self._lives.ledger.create(agent)
        names = sorted(grant.capability for grant in request.capabilities)
        record.outcome("agent.created", data={"capabilities": names})
        if request.HasField("objective"):
            record.note("agent.objective.assigned", data=_objective_facts(agent))
        return pb.CreateAgentResponse(agent=agent)

    async def GetAgent(self, request: pb.GetAgentRequest, context: object) -> pb.GetAgentResponse:
        standing = await self._lives.look(current_identity(), request.agent_id)
        return pb.GetAgentResponse(agent=standing.agent)

    async def ListAgents(self, request: pb.ListAgentsRequest, context: object) -> pb.ListAgentsResponse:
        agents, token = await self._lives.ledger.page(
            current_identity(), request.state, request.page_size, request.page_token
        )
        return pb.ListAgentsResponse(agents=agents, next_page_token=token)

    async def ListAgentActions(
        self, request: pb.ListAgentActionsRequest, context: object
    ) -> pb.ListAgentActionsResponse:
        standing = await self._lives.look(current_identity(), request.agent_id)
        actions, token = await self._history.page(standing, request.page_size, request.page_token)
        return pb.ListAgentActionsResponse(actions=actions, next_page_token=token)

    async def AssignObjective(self, request: pb.AssignObjectiveRequest, context: object) -> pb.AssignObjectiveResponse:
        _refuse_bound(current_identity(), "sets no objectives")

        def give(agent: Agent) -> None:
            self._give(agent, request.description, request.success_criteria)

        agent = await self._change(request.agent_id, states.ENDABLE, "assign_objective", give)
        record.outcome("agent.objective.assigned", data=_objective_facts(agent))
        return pb.AssignObjectiveResponse(agent=agent)

    async def Act(self, request: pb.ActRequest, context: object) -> pb.ActResponse:
        return await self._acting.act(current_identity(), request.agent_id, request.action)

    async def CompleteAgent(self, request: pb.CompleteAgentRequest, context: object) -> pb.CompleteAgentResponse:
        result = from_struct(request.result)
        size = len(json.dumps(result, ensure_ascii=False).encode())
        if size > _MOST_RESULT_BYTES:
            raise Refusal(
                ErrorCode.ERROR_CODE_PAYLOAD_TOO_LARGE,
                f"a result is at most {_MOST_RESULT_BYTES} bytes as JSON, this one has {size}",
                details={"field": "result", "bytes": size, "limit": _MOST_RESULT_BYTES},
            )

        def complete(agent: Agent) -> None:
            agent.state = states.COMPLETED
            agent.result.CopyFrom(request.result)

        agent = await self._change(request.agent_id, states.COMPLETABLE, "complete_agent", complete)
        self._ended(agent, "agent.completed", {"result": result})
        return pb.CompleteAgentResponse(agent=agent)

    async def FailAgent(self, request: pb.FailAgentRequest, context: object) -> pb.FailAgentResponse:
        def fail(agent: Agent) -> None:
            agent.state = states.FAILED
            agent.failure_reason = request.reason

        agent = await self._change(request.agent_id, states.ENDABLE, "fail_agent", fail)
        self._ended(agent, "agent.failed", {"reason": request.reason})
        return pb.FailAgentResponse(agent=agent)

    async def TerminateAgent(self, request: pb.TerminateAgentRequest, context: object) -> pb.TerminateAgentResponse:
        def terminate(agent: Agent) -> None:
            agent.state = states.TERMINATED
            agent.failure_reason = request.reason

        agent = await self._change(request.agent_id, states.ENDABLE, "terminate_agent", terminate)
        self._ended(agent, "agent.terminated", {"reason": request.reason})
        return pb.TerminateAgentResponse(agent=agent)

    async def ApproveAction(self, request: pb.ApproveActionRequest, context: object) -> pb.ApproveActionResponse:
        raise Refusal(
            ErrorCode.ERROR_CODE_UNIMPLEMENTED,
            "approve_action is not served yet: no action waits for a person",
            hint="create_agent with grants without ask.",
        )

    async def _change(
        self, agent_id: str, allowed: frozenset[AgentState.ValueType], what: str, apply: Callable[[Agent], None]
    ) -> Agent:
        return (await self._lives.change(current_identity(), agent_id, allowed, what, apply)).agent

    def _ended(self, agent: Agent, category: str, facts: dict[str, JsonValue]) -> None:
        record.outcome(category, data={**facts, "actions": agent.action_count, "elapsed_ms": agent.usage.elapsed_ms})
        self._on_end(agent)

    def _give(self, agent: Agent, description: str, success_criteria: Sequence[str]) -> None:
        agent.objective.CopyFrom(
            AgentObjective(
                objective_id=new_id("obj"),
                agent_id=agent.agent_id,
                description=description,
                success_criteria=success_criteria,
                created_at_ms=self._lives.clock.now_ms(),
            )
        )
        if agent.state == states.CREATED:
            agent.state = states.READY


def _objective_facts(agent: Agent) -> dict[str, JsonValue]:
    return {"objective_id": agent.objective.objective_id, "description": agent.objective.description}


def _refuse_bound(identity: CallerIdentity, what: str) -> None:
    """An agent's own token acts; it does not decide what agents there are and what they are for."""
    if identity.agent_id:
        raise Refusal(
            ErrorCode.ERROR_CODE_NOT_AUTHORIZED,
            f"a token that is bound to an agent {what}",
            details={"agent_id": identity.agent_id},
        )
