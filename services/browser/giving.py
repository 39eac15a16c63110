"""Giving a session to an agent, or taking it back (SPEC §6): refused when it reaches further than the agent may."""

from __future__ import annotations

import grpc
from hyperkitty.agent.v1.agent_service_pb2 import GetAgentRequest
from hyperkitty.agent.v1.agent_service_pb2_grpc import AgentServiceStub
from hyperkitty.agent.v1.agents_pb2 import AGENT_STATE_COMPLETED, AGENT_STATE_FAILED, AGENT_STATE_TERMINATED, Agent
from hyperkitty.operations.v1.errors_pb2 import ErrorCode

from services.browser.session import Session
from services.kit.errors import Refusal, from_rpc_error
from services.kit.host_rules import HostRules

_ENDED = (AGENT_STATE_COMPLETED, AGENT_STATE_FAILED, AGENT_STATE_TERMINATED)


async def owner(agents: AgentServiceStub, agent_id: str, tenant: str) -> Agent:
    """The agent that shall own a session of the tenant. Raises Refusal not_found, wrong_state."""
    try:
        agent = (await agents.GetAgent(GetAgentRequest(agent_id=agent_id))).agent
    except grpc.aio.AioRpcError as error:
        raise from_rpc_error(error) from error
    if agent.tenant != tenant:
        raise Refusal(ErrorCode.ERROR_CODE_NOT_FOUND, f"there is no {agent_id!r}", details={"id": agent_id})
    if agent.state in _ENDED:
        raise Refusal(ErrorCode.ERROR_CODE_WRONG_STATE, f"{agent_id} has ended", details={"agent_id": agent_id})
    return agent


def check_narrower(session: Session, agent: Agent) -> None:
    """Refuse a session that reaches further than the agent; raises Refusal not_authorized."""
    wider = _wider(session, agent)
    if wider:
        raise Refusal(
            ErrorCode.ERROR_CODE_NOT_AUTHORIZED,
            f"{session.session_id} reaches further than the grants of {agent.agent_id}: {', '.join(wider[:5])}",
            details={"session_id": session.session_id, "agent_id": agent.agent_id, "wider": wider[:50]},
        )


def _wider(session: Session, agent: Agent) -> list[str]:
    """What the session may reach and the agent's grant for navigate does not hold."""
    granted = next((grant.navigate for grant in agent.capabilities if grant.capability == "navigate"), None)
    if granted is None:
        return ["navigate"] if session.policy.allowed_domains or session.opened else []
    held = set(HostRules.parse(granted.allowed_domains).canonical())
    wider = [rule for rule in session.opened if rule not in held]
    if not held:
        return wider
    scope = list(session.policy.allowed_domains)
    return wider + ([rule for rule in scope if rule not in held] if scope else ["every public host"])
