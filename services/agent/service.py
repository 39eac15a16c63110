"""How the agent service is put together."""

from __future__ import annotations

import socket

from hyperkitty.agent.v1.agent_service_pb2_grpc import add_AgentServiceServicer_to_server
from hyperkitty.agent.v1.agents_pb2 import Agent

from services.agent.acting import Acting
from services.agent.closing import Closing
from services.agent.history import History
from services.agent.ledger import Ledger
from services.agent.lives import Lives
from services.agent.records import ActionEntry, AgentRecord
from services.agent.recovery import Recovery
from services.agent.servicer import AgentServicer
from services.agent.tools import Tools
from services.kit.identity import system_identity
from services.kit.record_codec import RecordCodec
from services.kit.run import Kit, Service
from services.kit.status import OwnStatus

# Agents and their histories (SPEC §3).
KEPT_SECONDS = 30 * 24 * 3600.0


async def build(kit: Kit) -> Service:
    """The agent service on the kit's stores, log and channels."""
    agents = await kit.store("agents", RecordCodec(AgentRecord), KEPT_SECONDS)
    actions = await kit.store("actions", RecordCodec(ActionEntry), KEPT_SECONDS)
    ledger = Ledger(agents, actions, kit.clock)
    # A pod or machine that comes back under its name settles what it left at once; others wait until it expires.
    lives = Lives(ledger, kit.event_log, kit.recorder, kit.clock, owner=socket.gethostname())
    browser = kit.channel("browser")
    closing = Closing(lives, browser)

    def on_end(agent: Agent) -> None:
        kit.spawn(closing.try_close_all(agent), "close-sessions")

    tools = Tools(browser, kit.channel("search"), kit.channel("messaging"))
    acting = Acting(lives, tools, kit.spawn, on_end)
    recovery = Recovery(lives, closing, kit.recorder, system_identity(kit.name))

    async def ready() -> None:
        await recovery.settle()
        kit.spawn(recovery.tidy(), "tidy")

    async def status() -> OwnStatus:
        return OwnStatus({"agents": len(await agents.keys()), "actions_running": lives.slots.running()})

    servicer = AgentServicer(lives, acting, History(ledger, kit.event_log), on_end)
    return Service([(add_AgentServiceServicer_to_server, servicer)], ready=ready, status=status)
