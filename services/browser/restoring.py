"""Bringing a session back under its id: Chromium, cookies, tabs and their documents (SPEC §4, "Crashes")."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable
from dataclasses import dataclass

from hyperkitty.browser.v1 import operations_pb2 as ops
from hyperkitty.browser.v1 import sessions_pb2 as pb
from hyperkitty.operations.v1.errors_pb2 import ErrorCode

from services.browser.cdp.domains import storage
from services.browser.cdp.errors import CdpFault
from services.browser.page import loading
from services.browser.page.refs import RefNumbers
from services.browser.policy import scope_of
from services.browser.saved import SavedSession, SavedTab, policy_of, settings_of
from services.browser.session import Owner, Past, Session, SessionPlan
from services.browser.starting import Starter
from services.kit import deadlines, logs
from services.kit.clock import Clock
from services.kit.deadlines import current_budget
from services.kit.errors import Refusal

log = logs.get(__name__)

START_SECONDS = 20.0
DOCUMENT_SECONDS = 2.0
WAIT_SECONDS = 5.0
"""How long a call waits for the session that it names (SPEC §4)."""
MOST_CRASHES = 5
CRASH_WINDOW_MS = 60_000
_BLANK = "about:blank"


@dataclass(frozen=True, slots=True)
class Restoring:
    """A session that is on its way back."""

    saved: SavedSession
    record: pb.BrowserSession
    done: asyncio.Task[Session | None]


class CrashCount:
    """How often a session crashed of late."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._times: dict[str, deque[int]] = {}

    def crashed(self, session_id: str) -> bool:
        """Count a crash; whether it was one too many."""
        times = self._times.setdefault(session_id, deque(maxlen=MOST_CRASHES))
        times.append(self._clock.now_ms())
        return len(times) == MOST_CRASHES and times[-1] - times[0] <= CRASH_WINDOW_MS

    def forget(self, session_id: str) -> None:
        """The session ended."""
        self._times.pop(session_id, None)


async def restore(saved: SavedSession, refs: RefNumbers | None, starter: Starter, owner: Owner) -> Session:
    """The session, ready. `refs` None: the service that gave them is gone. Raises Refusal, CdpFault, TimeoutError."""
    past = Past(
        refs=refs or RefNumbers(saved.next_ref),
        opened_tabs=saved.opened_tabs,
        restart_count=saved.restart_count + 1,
        created_at_ms=saved.created_at_ms,
        opened=saved.opened,
        network_requests=saved.network_requests,
        requests_before_owner=saved.requests_before_owner,
    )
    plan = SessionPlan(
        session_id=saved.session_id,
        tenant=saved.tenant,
        owner_agent_id=saved.owner_agent_id,
        profile=saved.profile,
        settings=settings_of(saved),
        policy=policy_of(saved),
        past=past,
    )
    with deadlines.apart(START_SECONDS):
        session = await starter.start(plan, owner, START_SECONDS)
        try:
            if saved.cookies:
                await session.cdp.send(storage.SetCookies(cookies=list(saved.cookies)), timeout=START_SECONDS)
            # One after another, so that they keep their order; their documents load side by side.
            tabs = [await _open(session, saved_tab) for saved_tab in saved.tabs]
            await asyncio.gather(*(_load(session, tab) for tab in tabs))
        except BaseException:
            await session.close()
            raise
    session.report("browser.session.restored", session.session_id, {"restart_count": session.restart_count})
    for tab in saved.tabs:
        session.report("browser.tab.restored", tab.tab_id, {"url": tab.url[:2_000]})
    return session


async def _open(session: Session, saved: SavedTab) -> SavedTab:
    tab = await session.open_tab(saved.tab_id)
    tab.opener_tab_id = saved.opener_tab_id
    tab.created_at_ms = saved.created_at_ms
    return saved


async def _load(session: Session, saved: SavedTab) -> None:
    """Its document again, as far as policy and site let it; a site that does not answer keeps no session back."""
    tab = session.tabs.get(saved.tab_id)
    if tab is None or saved.url == _BLANK or not scope_of(session.policy).allows(saved.url):
        return
    try:
        with deadlines.within(DOCUMENT_SECONDS):
            await loading.navigate(tab.page, saved.url, ops.WAIT_UNTIL_NONE)
            await loading.title(tab.page)
    except (Refusal, CdpFault, TimeoutError) as error:
        log.info("restored_tab_not_loaded", tab_id=saved.tab_id, error=str(error))


async def waited_for(restoring: Restoring) -> None:
    """Wait a while for a session on its way back. Raises Refusal unavailable, deadline_exceeded."""
    await _waited(restoring.saved.session_id, restoring.done)


async def ended(session: Session) -> None:
    """Wait for the end of a Chromium whose pipe is gone. Raises Refusal unavailable, deadline_exceeded."""
    await _waited(session.session_id, session.chromium.exited)


async def _waited(session_id: str, done: Awaitable[object]) -> None:
    try:
        async with current_budget().limit(WAIT_SECONDS):
            await asyncio.shield(done)
    except TimeoutError:
        raise Refusal(
            ErrorCode.ERROR_CODE_UNAVAILABLE,
            f"{session_id} is being restored",
            details={"session_id": session_id, "retry_after_ms": 1_000},
        ) from None
