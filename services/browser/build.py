"""The browser service put together."""

from __future__ import annotations

import asyncio
from urllib.parse import urlsplit

from hyperkitty.agent.v1.agent_service_pb2_grpc import AgentServiceStub
from hyperkitty.browser.v1 import sessions_pb2 as pb
from hyperkitty.browser.v1.browser_service_pb2_grpc import add_BrowserServiceServicer_to_server

from services.browser.chromium.directories import SessionDirectories
from services.browser.chromium.launch import Launcher
from services.browser.idle import Activity
from services.browser.limits import Watch
from services.browser.pool import WarmPool
from services.browser.reports import Report, Reports
from services.browser.saved import SavedSessions
from services.browser.service import BrowserServer
from services.browser.sessions import Parts, Sessions
from services.browser.starting import Starter
from services.kit import record
from services.kit.run import Kit, Service
from services.kit.settings import BrowserSettings, CommonSettings, GatewaySettings, load
from services.kit.status import OwnStatus
from services.kit.store import proto_codec


async def build(kit: Kit) -> Service:
    """The service's servicers, and what is done before and after it serves."""
    settings = load(BrowserSettings)
    directories = SessionDirectories(kit.settings.home)
    await asyncio.to_thread(directories.claim)
    reports = Reports(_publish)
    kit.spawn(reports.run(), "reports")
    launcher = Launcher(directories, allow_unsandboxed=settings.allow_unsandboxed)
    activity = Activity(kit.clock)
    pool = WarmPool(launcher, settings, kit.clock, lambda: sessions.admission.free, activity.quiet_seconds)
    starter = Starter(launcher, settings, reports, kit.clock, kit.artifacts, _own_ports(kit.settings), pool)
    parts = Parts(
        store=await kit.store("sessions", proto_codec(pb.BrowserSession)),
        reports=reports,
        starter=starter,
        clock=kit.clock,
        spawn=kit.spawn,
        max_sessions=settings.max_sessions,
        agents=AgentServiceStub(kit.channel("agent")),
        saved=SavedSessions(kit.settings.home / "sessions"),
        activity=activity,
    )
    await asyncio.to_thread(parts.saved.prepare)
    sessions = Sessions(parts)
    watch = Watch(sessions)

    async def ready() -> None:
        await sessions.recover()
        kit.spawn(watch.run(), "limits")
        kit.spawn(sessions.close_idle(), "idle sessions")
        pool.start()

    async def drain() -> None:
        watch.close()
        await asyncio.gather(pool.close(), sessions.drain())
        await reports.settle()
        await asyncio.to_thread(directories.release)

    return Service(
        servicers=[(add_BrowserServiceServicer_to_server, BrowserServer(sessions))],
        ready=ready,
        drain=drain,
        settles="browser",
        status=lambda: _status(sessions, pool, reports, settings),
    )


async def _status(sessions: Sessions, pool: WarmPool, reports: Reports, settings: BrowserSettings) -> OwnStatus:
    """What health tells of this service."""
    live = sessions.live()
    isolation = {pb.EgressIsolation.Name(session.chromium.isolation)[17:].lower() for session in live}
    return OwnStatus(
        counts={
            "sessions": len(live),
            "sessions_restoring": sessions.restoring,
            "max_sessions": settings.max_sessions,
            "sessions_queued": sessions.admission.waiting,
            "warm_browsers": len(pool),
            "memory_bytes": sum(session.memory_bytes for session in live),
            "tabs": sum(len(session.tabs) for session in live),
            "reports_dropped": reports.dropped,
        },
        facts={
            "sandbox": "off" if settings.allow_unsandboxed else "on",
            "egress_isolation": ", ".join(sorted(isolation)) or "not used yet",
        },
        degraded="sessions may run without Chromium's sandbox" if settings.allow_unsandboxed else "",
    )


async def _publish(report: Report) -> None:
    await record.emit(
        report.category,
        subject=report.subject,
        tenant=report.tenant,
        session_id=report.session_id,
        agent_id=report.agent_id,
        data=report.data,
    )


def _own_ports(settings: CommonSettings) -> frozenset[int]:
    """HyperKitty's own ports on this machine: no page reaches them, whatever a rule says (SPEC §5)."""
    gateway = load(GatewaySettings)
    nats = urlsplit(settings.nats_url).port
    return frozenset({gateway.rest_port, gateway.grpc_port, *([nats] if nats else [])})
