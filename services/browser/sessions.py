"""All sessions of this service: made, found, ended, and kept on record."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from dataclasses import dataclass

from hyperkitty.browser.v1 import operations_pb2
from hyperkitty.browser.v1 import sessions_pb2 as pb
from hyperkitty.operations.v1.errors_pb2 import ErrorCode

from services.browser.authority import not_found
from services.browser.policy import session_policy
from services.browser.reports import Report, Reports
from services.browser.session import Session, SessionPlan
from services.browser.starting import Starter
from services.browser.tab import Tab
from services.kit import logs
from services.kit.clock import Clock
from services.kit.deadlines import current_budget
from services.kit.errors import Refusal
from services.kit.identity import current_identity
from services.kit.store import Store
from services.kit.tokens import encode_token

log = logs.get(__name__)

CLOSED_FOR_MS = 24 * 3_600_000
LIVE = (pb.SESSION_STATUS_STARTING, pb.SESSION_STATUS_READY, pb.SESSION_STATUS_BUSY, pb.SESSION_STATUS_CLOSING)
Spawn = Callable[[Coroutine[None, None, None], str], object]


@dataclass(frozen=True, slots=True)
class Parts:
    """What the registry works with."""

    store: Store[pb.BrowserSession]
    reports: Reports
    starter: Starter
    clock: Clock
    spawn: Spawn
    max_sessions: int


class Sessions:
    """The registry. The live sessions are in memory; what ended is in the store for 24 hours."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        self._live: dict[str, Session] = {}
        self._starting = 0
        self.reports = parts.reports

    # finding

    def find(self, session_id: str, tab_id: str) -> tuple[Session | None, Tab | None]:
        """The session and the tab of it that the ids name; None for what there is not."""
        if session_id:
            session = self._live.get(session_id)
            return session, session.tabs.get(tab_id) if session else None
        for session in self._live.values():
            tab = session.tabs.get(tab_id)
            if tab is not None:
                return session, tab
        return None, None

    def live(self) -> list[Session]:
        """The sessions that run or have crashed, oldest first."""
        return list(self._live.values())

    async def on_record(self, session_id: str, tenant: str) -> pb.BrowserSession:
        """A session as it is, or as it ended. Raises Refusal not_found."""
        session = self._live.get(session_id)
        if session is not None:
            return session.to_proto()
        entry = await self._parts.store.get(_key(tenant, session_id))
        if entry is None:
            raise not_found(session_id)
        return entry.value

    async def all_on_record(self, tenant: str) -> list[pb.BrowserSession]:
        """Every session of a tenant (empty: of all), newest first."""
        ended = [entry.value for entry in await self._parts.store.entries(encode_token(tenant) if tenant else "")]
        live = {session.session_id: session.to_proto() for session in self._live.values()}
        found = [record for record in ended if record.session_id not in live]
        found += [record for record in live.values() if not tenant or record.tenant == tenant]
        # Ids begin with their time: their order is the sessions' order.
        return sorted(found, key=lambda record: record.session_id, reverse=True)

    # making and ending

    async def create(self, operation: operations_pb2.CreateSessionOperation, session_id: str) -> Session:
        """A ready session. Raises Refusal."""
        if len(self._live) + self._starting >= self._parts.max_sessions:
            limit = self._parts.max_sessions
            raise Refusal(
                ErrorCode.ERROR_CODE_RESOURCE_EXHAUSTED,
                f"{limit} sessions are open, and no more may be",
                details={"sessions": len(self._live) + self._starting, "limit": limit},
            )
        if operation.profile:
            raise Refusal(ErrorCode.ERROR_CODE_UNIMPLEMENTED, "named profiles are not served yet")
        identity = current_identity()
        delegated = identity.HasField("delegation")
        plan = SessionPlan(
            session_id=session_id,
            tenant=identity.tenant,
            owner_agent_id=identity.agent_id if delegated else operation.owner_agent_id,
            profile=operation.profile,
            settings=operation.settings,
            policy=session_policy(operation.network_policy, identity.delegation.grants if delegated else None),
        )
        self._starting += 1
        try:
            session = await self._parts.starter.start(plan, self, current_budget().remaining())
            self._live[session_id] = session
        finally:
            self._starting -= 1
        await self._keep(session)
        return session

    async def close(self, session: Session) -> None:
        """End a session for good."""
        await session.close()
        await self._keep(session)
        self._live.pop(session.session_id, None)

    def ended(self, session: Session) -> None:
        """A session's Chromium has exited."""
        if not session.closing:
            self._parts.spawn(self._crashed(session), f"crash of {session.session_id}")

    async def _crashed(self, session: Session) -> None:
        report = session.exit
        why = "" if report is None else str(report)
        stderr = "" if report is None else report.stderr[-4_000:]
        session.report("browser.session.crashed", session.session_id, {"reason": why, "stderr": stderr})
        log.warning("session_crashed", session_id=session.session_id, reason=why)
        await self._keep(session)
        await session.discard()

    async def _keep(self, session: Session) -> None:
        await self._parts.store.put(_key(session.tenant, session.session_id), session.to_proto())

    async def recover(self) -> None:
        """Settle what an earlier run of this service left: its browsers died with it."""
        now = self._parts.clock.now_ms()
        for entry in await self._parts.store.entries():
            record = entry.value
            if record.status in LIVE:
                record.status = pb.SESSION_STATUS_CRASHED
                record.updated_at_ms = now
                await self._parts.store.put(entry.key, record)
                self.reports.add(_lost(record))
            elif now - record.updated_at_ms > CLOSED_FOR_MS:
                await self._parts.store.delete(entry.key)

    async def drain(self) -> None:
        """End every session, as the service stops."""
        await asyncio.gather(*(self.close(session) for session in self.live()), return_exceptions=True)


def _lost(record: pb.BrowserSession) -> Report:
    """The crash of a session whose service died."""
    return Report(
        "browser.session.crashed",
        record.session_id,
        record.tenant,
        record.session_id,
        record.owner_agent_id,
        {"reason": "the browser service ended"},
    )


def _key(tenant: str, session_id: str) -> str:
    return f"{encode_token(tenant)}.{session_id}"
