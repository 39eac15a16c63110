"""All sessions of this service: made, found, ended, and kept on record."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from dataclasses import dataclass

from hyperkitty.agent.v1.agent_service_pb2_grpc import AgentServiceStub
from hyperkitty.browser.v1 import operations_pb2
from hyperkitty.browser.v1 import sessions_pb2 as pb

from services.browser.authority import not_found
from services.browser.cdp.domains import storage
from services.browser.cdp.errors import CdpFault
from services.browser.giving import check_narrower, owner
from services.browser.idle import DEFAULT_IDLE_MS, Activity
from services.browser.limits import available_bytes, check_free_memory
from services.browser.page.refs import RefNumbers
from services.browser.policy import session_policy
from services.browser.profiles import Named, Profiles
from services.browser.queue import Admission
from services.browser.reports import Report, Reports
from services.browser.restoring import CrashCount, Restoring, ended, restore, waited_for
from services.browser.saved import SavedSession, SavedSessions, params_of
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

COOKIES_SECONDS = 2.0
IDLE_LOOK_SECONDS = 1.0
STARTS_AT_ONCE = 2
"""Restoring starts so many browsers side by side: two cores start about three a second (DESIGN §10)."""
CLOSED_FOR_MS = 24 * 3_600_000
LIVE = (pb.SESSION_STATUS_STARTING, pb.SESSION_STATUS_READY, pb.SESSION_STATUS_BUSY, pb.SESSION_STATUS_CLOSING)
Asked = asyncio.Future[storage.GetCookiesResult]
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
    agents: AgentServiceStub
    saved: SavedSessions
    activity: Activity


class Sessions:
    """The registry. The live sessions are in memory; what ended is in the store for 24 hours."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        self._live: dict[str, Session] = {}
        self._restoring: dict[str, Restoring] = {}
        self._crashes = CrashCount(parts.clock)
        self._starts = asyncio.Semaphore(STARTS_AT_ONCE)
        self.activity = parts.activity
        self.admission = Admission(parts.max_sessions, self._used)
        self._profiles = Profiles(self._used_profiles)
        self.reports = parts.reports

    # finding

    async def find(self, session_id: str, tab_id: str) -> tuple[Session | None, Tab | None]:
        """The session and the tab of it that the ids name; None for what there is not.

        Waits for a session that is on its way back. Raises Refusal unavailable when that takes too long.
        """
        for restoring in list(self._restoring.values()):
            if restoring.saved.session_id == session_id or tab_id in restoring.saved.tab_ids():
                await waited_for(restoring)
        session, tab = self._found(session_id, tab_id)
        if session is not None and session.is_dying:
            await ended(session)
            return await self.find(session_id, tab_id)
        return session, tab

    def _found(self, session_id: str, tab_id: str) -> tuple[Session | None, Tab | None]:
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

    def owners_requests(self, session_id: str) -> int:
        """Requests that a live session sent since its owner has it; 0 where there is none."""
        session = self._live.get(session_id)
        return session.owners_requests if session is not None else 0

    @property
    def restoring(self) -> int:
        """How many are on their way back."""
        return len(self._restoring)

    async def on_record(self, session_id: str, tenant: str) -> pb.BrowserSession:
        """A session as it is, or as it ended. Raises Refusal not_found."""
        present = self._present().get(session_id)
        if present is not None:
            return present
        entry = await self._parts.store.get(_key(tenant, session_id))
        if entry is None:
            raise not_found(session_id)
        return entry.value

    async def all_on_record(self, tenant: str) -> list[pb.BrowserSession]:
        """Every session of a tenant (empty: of all), newest first."""
        ended = [entry.value for entry in await self._parts.store.entries(encode_token(tenant) if tenant else "")]
        live = self._present()
        found = [record for record in ended if record.session_id not in live]
        found += [record for record in live.values() if not tenant or record.tenant == tenant]
        # Ids begin with their time: their order is the sessions' order.
        return sorted(found, key=lambda record: record.session_id, reverse=True)

    def _present(self) -> dict[str, pb.BrowserSession]:
        """The sessions that are here, or on their way back."""
        coming = {session_id: restoring.record for session_id, restoring in self._restoring.items()}
        return coming | {session.session_id: session.to_proto() for session in self._live.values()}

    # making and ending

    async def create(self, operation: operations_pb2.CreateSessionOperation, session_id: str) -> Session:
        """A ready session. Raises Refusal."""
        plan = await self._planned(operation, session_id)
        with self._profiles.held(plan.tenant, plan.profile):
            async with self.admission.place(plan.tenant, plan.owner_agent_id):
                check_free_memory(available_bytes())
                session = await self._parts.starter.start(plan, self, current_budget().remaining())
                self._live[session_id] = session
        try:
            await asyncio.gather(self._keep(session.to_proto()), self.remember(session))
        except BaseException:
            self._parts.spawn(self._close_unknown(session), f"end of {session_id}")
            raise
        return session

    def _used(self) -> int:
        return len(self._restoring) + sum(session.exit is None for session in self._live.values())

    def _used_profiles(self) -> set[Named]:
        used = {(each.tenant, each.profile) for each in self._live.values() if each.exit is None}
        return used | {(each.saved.tenant, each.saved.profile) for each in self._restoring.values()}

    async def _planned(self, operation: operations_pb2.CreateSessionOperation, session_id: str) -> SessionPlan:
        identity = current_identity()
        owner_agent_id, grants = operation.owner_agent_id, None
        if identity.HasField("delegation"):
            owner_agent_id, grants = identity.agent_id, identity.delegation.grants
        elif owner_agent_id:
            grants = (await owner(self._parts.agents, owner_agent_id, identity.tenant)).capabilities
        return SessionPlan(
            session_id=session_id,
            tenant=identity.tenant,
            owner_agent_id=owner_agent_id,
            profile=operation.profile,
            settings=operation.settings,
            policy=session_policy(operation.network_policy, grants),
        )

    async def remember(self, session: Session, asked: Asked | None = None) -> None:
        """Write what brings the session back, when an operation changed it. A browser that died keeps what it had.

        `asked`: its cookies, where they were asked for already.
        """
        if session.closing or session.exit is not None:
            return
        try:
            cookies = await (asked or self.ask_cookies(session))
        except (CdpFault, TimeoutError):
            return
        saved = session.snapshot(params_of(cookies))
        if saved.is_kept_by(session.kept):
            return
        session.kept = saved
        await asyncio.to_thread(self._parts.saved.save, saved)

    def ask_cookies(self, session: Session) -> Asked:
        """Ask for the session's cookies, as `remember` takes them."""
        return session.cdp.post(storage.GetCookies(), timeout=COOKIES_SECONDS)

    async def close(self, session: Session) -> None:
        """End a session for good."""
        session.closing = True
        self._crashes.forget(session.session_id)
        await asyncio.to_thread(self._parts.saved.remove, session.session_id)
        await session.close()
        await self._keep(session.to_proto())
        self._live.pop(session.session_id, None)
        self.activity.forget(session.session_id)
        self.admission.freed()

    async def _close_unknown(self, session: Session) -> None:
        """Close what nobody was given the id of, also when the store does not take its record."""
        try:
            await self.close(session)
        except (Refusal, OSError) as problem:
            log.warning("unknown_session_not_closed_well", session_id=session.session_id, problem=str(problem))
            self._live.pop(session.session_id, None)
            self.admission.freed()

    async def close_idle(self) -> None:
        """Close what nobody has used for as long as its settings say, for ever."""
        never = asyncio.Event()
        while True:
            try:
                async with asyncio.timeout(IDLE_LOOK_SECONDS):
                    await never.wait()
            except TimeoutError:
                await asyncio.gather(*(self._close_if_idle(session) for session in self.live()))

    async def _close_if_idle(self, session: Session) -> None:
        idle_ms = self.activity.idle_seconds(session.session_id) * 1000
        if session.closing or idle_ms < (session.settings.idle_timeout_ms or DEFAULT_IDLE_MS):
            return
        log.info("session_idle", session_id=session.session_id, idle_ms=round(idle_ms))
        try:
            await self.close(session)
        except (Refusal, OSError) as problem:
            log.warning("idle_session_not_closed_well", session_id=session.session_id, problem=str(problem))
        session.report("browser.session.closed", session.session_id, {"reason": "idle"})

    async def end_over_limit(self, session: Session, limit: str) -> None:
        """End a session that takes more than it may, for good."""
        session.killed_for, session.kept = limit, None
        await session.discard()

    async def give(self, session: Session, owner_agent_id: str) -> None:
        """Make an agent (empty: nobody) the session's owner. Raises Refusal."""
        if owner_agent_id:
            check_narrower(session, await owner(self._parts.agents, owner_agent_id, session.tenant))
        if owner_agent_id != session.owner_agent_id:
            session.requests_before_owner = session.requests.total
        session.owner_agent_id = owner_agent_id
        await asyncio.gather(self._keep(session.to_proto()), self.remember(session))

    async def _keep(self, record: pb.BrowserSession) -> None:
        await self._parts.store.put(_key(record.tenant, record.session_id), record)

    # crashes

    def ended(self, session: Session) -> None:
        """A session's Chromium has exited."""
        if not session.closing and self._live.get(session.session_id) is session:
            self._crashed(session)

    def _crashed(self, session: Session) -> None:
        why, stderr = (
            session.killed_for or str(session.exit),
            "" if session.exit is None else session.exit.stderr[-4_000:],
        )
        session.report("browser.session.crashed", session.session_id, {"reason": why, "stderr": stderr})
        log.warning("session_crashed", session_id=session.session_id, reason=why)
        if self._crashes.crashed(session.session_id) or session.kept is None:
            self._parts.spawn(self._give_up(session), f"end of {session.session_id}")
            return
        # Where its tabs are now is known; what its cookies were is what was last written.
        saved = session.snapshot(session.kept.cookies)
        del self._live[session.session_id]
        record = session.to_proto()
        self._begin_restoring(saved, session.refs, record, session)

    def _begin_restoring(
        self, saved: SavedSession, refs: RefNumbers | None, record: pb.BrowserSession, old: Session | None
    ) -> None:
        work = self._restore(saved, refs, record, old)
        task = asyncio.create_task(work, name=f"restore {saved.session_id}")
        record.status = pb.SESSION_STATUS_STARTING
        self._restoring[saved.session_id] = Restoring(saved, record, task)

    async def _restore(
        self, saved: SavedSession, refs: RefNumbers | None, record: pb.BrowserSession, old: Session | None
    ) -> Session | None:
        """The session again; None when it cannot be had, and is crashed for good. Never raises but for cancelling."""
        try:
            if old is not None:
                await old.discard()
            async with self._starts:
                session = await restore(saved, refs, self._parts.starter, self)
            self._live[saved.session_id] = session
            await self.remember(session)
            record = session.to_proto()
            return session
        except Exception as error:
            log.error("session_not_restored", session_id=saved.session_id, exc_info=error)
            record.status = pb.SESSION_STATUS_CRASHED
            await asyncio.to_thread(self._parts.saved.remove, saved.session_id)
            return None
        finally:
            del self._restoring[saved.session_id]
            self.admission.freed()
            await self._keep_crashed(record)

    async def _give_up(self, session: Session) -> None:
        """Too many crashes: it stays crashed."""
        await asyncio.to_thread(self._parts.saved.remove, session.session_id)
        await self._keep_crashed(session.to_proto())
        await session.discard()
        self.admission.freed()

    async def _keep_crashed(self, record: pb.BrowserSession) -> None:
        """The record, where the store takes it; the file says the same to the next process."""
        try:
            await self._keep(record)
        except Refusal as refusal:
            log.warning("session_record_not_kept", session_id=record.session_id, reason=str(refusal))

    async def recover(self) -> None:
        """Take up what an earlier run of this service left: its browsers died with it, and come back."""
        now = self._parts.clock.now_ms()
        saved = {entry.session_id: entry for entry in await asyncio.to_thread(self._parts.saved.all)}
        for entry in await self._parts.store.entries():
            record = entry.value
            if record.status in LIVE:
                self.reports.add(_lost(record))
                if record.session_id not in saved:
                    record.status = pb.SESSION_STATUS_CRASHED
                    record.updated_at_ms = now
                    await self._parts.store.put(entry.key, record)
                else:
                    self._begin_restoring(saved[record.session_id], None, record, None)
            elif now - record.updated_at_ms > CLOSED_FOR_MS:
                await self._parts.store.delete(entry.key)

    async def drain(self) -> None:
        """End every session, as the service stops."""
        for restoring in list(self._restoring.values()):
            restoring.done.cancel()
            await asyncio.wait({restoring.done})
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
