"""Starting a session: a Chromium, its proxy, its first CDP commands; nothing is left of a start that failed."""

from __future__ import annotations

from contextlib import AsyncExitStack
from dataclasses import dataclass

from hyperkitty.operations.v1.errors_pb2 import ErrorCode

from services.browser.cdp.errors import CdpFault
from services.browser.chromium.binary import ChromiumNotFound, find
from services.browser.chromium.launch import Launcher, LaunchFailed, LaunchRequest
from services.browser.chromium.process import Chromium
from services.browser.egress.proxy import Blocked, EgressProxy
from services.browser.policy import egress_policy
from services.browser.pool import WarmPool
from services.browser.reports import Report, Reports
from services.browser.session import Owner, Session, SessionPlan
from services.kit.artifacts import Artifacts
from services.kit.clock import Clock
from services.kit.errors import Refusal
from services.kit.settings import BrowserSettings
from services.kit.tokens import encode_token


@dataclass(frozen=True, slots=True)
class Starter:
    """Starts sessions."""

    launcher: Launcher
    settings: BrowserSettings
    reports: Reports
    clock: Clock
    artifacts: Artifacts
    own_ports: frozenset[int]
    pool: WarmPool | None = None

    async def start(self, plan: SessionPlan, owner: Owner, timeout: float) -> Session:
        """A ready session, within `timeout` seconds. Raises Refusal."""
        try:
            async with AsyncExitStack() as undo:
                chromium = await self._chromium(plan, timeout)
                undo.push_async_callback(chromium.close)
                proxy = self._proxy(plan)
                await proxy.start(chromium.proxy_socket)
                undo.push_async_callback(proxy.close)
                session = Session(plan, chromium, proxy, self.reports, self.clock, self.artifacts, owner)
                await session.start(timeout)
                undo.pop_all()
                return session
        except (LaunchFailed, ChromiumNotFound, CdpFault) as error:
            raise Refusal(
                ErrorCode.ERROR_CODE_UNAVAILABLE,
                f"Chromium could not be started: {str(error)[:2_000]}",
                details={"retry_after_ms": 1_000},
            ) from error

    async def _chromium(self, plan: SessionPlan, timeout: float) -> Chromium:
        """A browser that is ready already, where nothing about its start is special; else a new one."""
        settings = plan.settings
        full = settings.headed or settings.full_chromium
        if self.pool is not None and not (full or plan.profile):
            warm = self.pool.take(plan.session_id)
            if warm is not None:
                return warm
        profile = f"{encode_token(plan.tenant)}.{encode_token(plan.profile)}" if plan.profile else ""
        binary = find(self.settings.chromium, full=full)
        return await self.launcher.launch(
            LaunchRequest(plan.session_id, binary, settings.headed, profile=profile), timeout
        )

    def _proxy(self, plan: SessionPlan) -> EgressProxy:
        def blocked(refused: Blocked) -> None:
            facts = {"host": refused.host, "port": refused.port, "reason": refused.reason}
            about = (plan.session_id, plan.tenant, plan.session_id, plan.owner_agent_id)
            self.reports.add(Report("browser.request.blocked", *about, facts))

        return EgressProxy(egress_policy(plan.policy, self.own_ports), blocked)
