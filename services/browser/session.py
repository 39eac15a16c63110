"""One browser session: a Chromium, its proxy, its tabs. Owns their states; the registry owns the session."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from hyperkitty.browser.v1 import sessions_pb2 as pb
from hyperkitty.operations.v1.artifacts_pb2 import Artifact, ArtifactKind
from hyperkitty.operations.v1.errors_pb2 import ErrorCode

from services.browser.cdp.domains import browser, target
from services.browser.cdp.domains.network import CookieParam
from services.browser.cdp.errors import CdpFault
from services.browser.downloads import Downloads, Rules
from services.browser.page.refs import RefNumbers
from services.browser.reports import Report, Reports
from services.browser.requests import WORKERS, RequestCount
from services.browser.saved import REF_STEP, SavedSession, SavedTab
from services.browser.tab import Tab, released
from services.kit import logs
from services.kit.artifacts import Artifacts, NewArtifact
from services.kit.clock import Clock
from services.kit.deadlines import current_budget
from services.kit.errors import Refusal
from services.kit.host_rules import Rule, parse_rule
from services.kit.ids import new_id
from services.kit.json_values import JsonValue
from services.kit.masking import without_credentials
from services.kit.operations import operation_or_none

if TYPE_CHECKING:
    from services.browser.cdp.client import CdpClient
    from services.browser.cdp.session import CdpSession
    from services.browser.chromium.process import Chromium, ExitReport
    from services.browser.egress.proxy import EgressProxy

log = logs.get(__name__)

MOST_TABS = 20
ATTACH_SECONDS = 10.0
CLOSE_SECONDS = 5.0
_WANTED = [
    *(target.FilterEntry(type=each, exclude=False) for each in ("page", "shared_worker", "service_worker")),
    target.FilterEntry(exclude=True),
]


@dataclass(frozen=True, slots=True)
class Past:
    """What a session that is started again goes on from."""

    refs: RefNumbers = field(default_factory=RefNumbers)
    opened_tabs: int = 0
    restart_count: int = 0
    created_at_ms: int = 0
    """0: it is new."""
    opened: tuple[str, ...] = ()
    """Private hosts, `host:port`, that people's calls opened."""
    network_requests: int = 0
    requests_before_owner: int = 0


@dataclass(frozen=True, slots=True)
class SessionPlan:
    """What a session is asked to be."""

    session_id: str
    tenant: str
    owner_agent_id: str
    profile: str
    settings: pb.SessionSettings
    policy: pb.NetworkPolicy
    past: Past = field(default_factory=Past)


class Owner(Protocol):
    """Who keeps sessions."""

    async def close(self, session: Session) -> None:
        """End it for good."""
        ...

    def ended(self, session: Session) -> None:
        """Its Chromium has exited."""
        ...


class Session:
    """A session whose Chromium runs. Made by `Sessions`."""

    def __init__(
        self,
        plan: SessionPlan,
        chromium: Chromium,
        proxy: EgressProxy,
        reports: Reports,
        clock: Clock,
        artifacts: Artifacts,
        owner: Owner,
    ) -> None:
        self.owner = owner
        self.session_id = plan.session_id
        self.tenant = plan.tenant
        self.owner_agent_id = plan.owner_agent_id
        self.profile = plan.profile
        self.settings = plan.settings
        self.policy = plan.policy
        self.chromium = chromium
        self.proxy = proxy
        self.clock = clock
        self.artifacts = artifacts
        self.refs = plan.past.refs
        self.requests = RequestCount(plan.past.network_requests)
        self.requests_before_owner = plan.past.requests_before_owner
        self.tabs: dict[str, Tab] = {}
        self.opened_tabs = plan.past.opened_tabs
        self.restart_count = plan.past.restart_count
        self.updated_at_ms = clock.now_ms()
        self.created_at_ms = plan.past.created_at_ms or self.updated_at_ms
        self.opened: list[str] = []
        for rule in plan.past.opened:
            self.open_private(parse_rule(rule))
        blocked = plan.settings.downloads == pb.DOWNLOAD_POLICY_BLOCK
        rules = Rules(plan.session_id, chromium.directory.downloads, blocked)
        self.downloads = Downloads(rules, self.keep, self.report)
        self.kept: SavedSession | None = None
        """What was last written of it, to bring it back."""
        self.default_user_agent = ""
        self.browser = pb.BrowserBinary(name=chromium.binary.name, version=chromium.version.partition("/")[2])
        self.closing = False
        self.exit: ExitReport | None = None
        self.memory_bytes = 0
        """PSS of its processes, as last measured."""
        self.killed_for = ""
        """The limit for which a renderer of it, or all of it, was last ended."""
        self._reports = reports
        self._opening = 0
        self._claims: dict[str, tuple[str, asyncio.Future[Tab]]] = {}
        self._unclaimed: dict[str, target.AttachedToTarget] = {}
        self._initial: frozenset[str] = frozenset()
        self._tasks: set[asyncio.Task[None]] = set()

    @property
    def client(self) -> CdpClient:
        """The pipe to its Chromium."""
        return self.chromium.client

    @property
    def cdp(self) -> CdpSession:
        """The CDP session of the browser itself."""
        return self.client.browser

    async def start(self, timeout: float) -> None:
        """Prepare the browser for tabs. `timeout` in seconds. Raises CdpFault."""
        cdp = self.cdp
        cdp.on(target.AttachedToTarget, self._attached)
        self.requests.follow(cdp)
        attach = target.SetAutoAttach(auto_attach=True, wait_for_debugger_on_start=True, flatten=True, filter=_WANTED)
        version = cdp.post(browser.GetVersion(), timeout=timeout)
        initial = await cdp.send(target.GetTargets(), timeout=timeout)
        self._initial = frozenset(info.target_id for info in initial.target_infos)
        await cdp.send(attach, timeout=timeout)
        await self.downloads.start(cdp, timeout)
        self.default_user_agent = (await version).user_agent
        self.chromium.on_exit(self._exited)

    # state

    @property
    def status(self) -> pb.SessionStatus.ValueType:
        """Where it is in its life, derived."""
        if self.exit is not None:
            return pb.SESSION_STATUS_CLOSED if self.closing else pb.SESSION_STATUS_CRASHED
        if self.closing:
            return pb.SESSION_STATUS_CLOSING
        busy = any(tab.writes.locked() for tab in self.tabs.values())
        return pb.SESSION_STATUS_BUSY if busy else pb.SESSION_STATUS_READY

    @property
    def is_dying(self) -> bool:
        """Its pipe is gone, but not yet its Chromium."""
        return self.cdp.closed_reason is not None and self.exit is None and not self.closing

    def to_proto(self) -> pb.BrowserSession:
        """The session as callers see it."""
        settings = pb.SessionSettings()
        settings.CopyFrom(self.settings)
        for credentials in settings.http_credentials:
            credentials.password = ""
        return pb.BrowserSession(
            session_id=self.session_id,
            owner_agent_id=self.owner_agent_id,
            profile=self.profile,
            pid=self.chromium.pid,
            status=self.status,
            restart_count=self.restart_count,
            tabs=[tab.to_proto() for tab in self.tabs.values()],
            settings=settings,
            network_policy=self.policy,
            sandbox=self.chromium.sandbox,
            egress_isolation=self.chromium.isolation,
            browser=self.browser,
            created_at_ms=self.created_at_ms,
            updated_at_ms=self.updated_at_ms,
            tenant=self.tenant,
            network_requests=self.requests.total,
            memory_bytes=self.memory_bytes,
        )

    @property
    def owners_requests(self) -> int:
        """Requests that it sent since its present owner has it."""
        return max(0, self.requests.total - self.requests_before_owner)

    def check_usable(self) -> None:
        """Refuse what cannot be done now."""
        if self.exit is not None and not self.closing:
            raise Refusal(
                ErrorCode.ERROR_CODE_SESSION_CRASHED,
                f"the Chromium of {self.session_id} died: {self.exit}",
                details={"session_id": self.session_id},
            )
        if self.closing:
            raise Refusal(
                ErrorCode.ERROR_CODE_WRONG_STATE,
                f"{self.session_id} is closed",
                details={"session_id": self.session_id},
            )

    def report(self, category: str, subject: str, data: Mapping[str, JsonValue] | None = None) -> None:
        """Leave an event that has no caller. A URL in it goes without its credentials."""
        facts = dict(data or {})
        if isinstance(url := facts.get("url"), str):
            facts["url"] = without_credentials(url)
        self._reports.add(Report(category, subject, self.tenant, self.session_id, self.owner_agent_id, facts))

    async def keep(
        self, kind: ArtifactKind.ValueType, content_type: str, data: bytes | AsyncIterator[bytes]
    ) -> Artifact:
        """Store what the current operation made. Raises Refusal unavailable."""
        operation = operation_or_none()
        new = NewArtifact(
            kind=kind,
            content_type=content_type,
            tenant=self.tenant,
            operation_id=operation.operation_id if operation else "",
            session_id=self.session_id,
            agent_id=self.owner_agent_id,
        )
        return await self.artifacts.put(data, new)

    def open_private(self, rule: Rule) -> None:
        """Let a private `host:port` be reached: a person's call named it (SPEC §5)."""
        self.proxy.open_rule(rule)
        if str(rule) not in self.opened:
            self.opened.append(str(rule))

    def snapshot(self, cookies: tuple[CookieParam, ...]) -> SavedSession:
        """What brings it back as it is now."""
        tabs = [
            SavedTab(tab.tab_id, tab.page.url, tab.opener_tab_id, tab.created_at_ms)
            for tab in self.tabs.values()
            if not tab.closing
        ]
        return SavedSession(
            session_id=self.session_id,
            tenant=self.tenant,
            owner_agent_id=self.owner_agent_id,
            profile=self.profile,
            settings=self.settings.SerializeToString(),
            policy=self.policy.SerializeToString(),
            created_at_ms=self.created_at_ms,
            restart_count=self.restart_count,
            opened_tabs=self.opened_tabs,
            next_ref=(self.refs.next // REF_STEP + 2) * REF_STEP,
            opened=tuple(self.opened),
            tabs=tuple(tabs),
            cookies=cookies,
            network_requests=self.requests.total,
            requests_before_owner=self.requests_before_owner,
        )

    # tabs

    async def open_tab(self, tab_id: str) -> Tab:
        """A new tab on about:blank. Raises Refusal resource_exhausted, CdpFault, TimeoutError."""
        if len(self.tabs) + self._opening >= MOST_TABS:
            raise Refusal(
                ErrorCode.ERROR_CODE_RESOURCE_EXHAUSTED,
                f"{self.session_id} has {MOST_TABS} tabs",
                hint="Close one with close_tab.",
                details={"tabs": len(self.tabs), "limit": MOST_TABS},
            )
        budget = current_budget()
        claim: asyncio.Future[Tab] = asyncio.get_running_loop().create_future()
        creating = self.cdp.post(target.CreateTarget(url="about:blank"), timeout=budget.remaining())
        self._opening += 1
        creating.add_done_callback(lambda _: self._created(creating, tab_id, claim))
        try:
            # Shielded: whoever gives up must not lose the answer, by which the new target is known and closed.
            await asyncio.shield(creating)
            async with budget.limit(ATTACH_SECONDS):
                return await claim
        finally:
            claim.cancel()

    def _created(
        self, creating: asyncio.Future[target.CreateTargetResult], tab_id: str, claim: asyncio.Future[Tab]
    ) -> None:
        self._opening -= 1
        if not creating.cancelled() and creating.exception() is None:
            self._claims[creating.result().target_id] = (tab_id, claim)
        self._sort_unclaimed()

    def _attached(self, event: target.AttachedToTarget) -> None:
        if event.target_info.type in WORKERS:
            return  # heard by the count of requests, which lets it run
        if event.target_info.target_id in self._initial:
            # The page that Chromium starts with is nobody's tab.
            self.cdp.post(target.CloseTarget(target_id=event.target_info.target_id), timeout=CLOSE_SECONDS)
            return
        self._unclaimed[event.target_info.target_id] = event
        self._sort_unclaimed()

    def _sort_unclaimed(self) -> None:
        """Make tabs of attached targets: those that a call waits for under its id, the others as a page's own.

        A target attaches before or after the answer to the command that made it, so while such an answer is due
        an unknown target without an opener waits.
        """
        for target_id, event in list(self._unclaimed.items()):
            claim = self._claims.pop(target_id, None)
            if claim is None and self._opening and event.target_info.opener_id is None:
                continue
            del self._unclaimed[target_id]
            if claim is not None and claim[1].cancelled():
                self.cdp.post(target.CloseTarget(target_id=target_id), timeout=CLOSE_SECONDS)
            else:
                self._make_tab(event, claim)

    def _make_tab(self, event: target.AttachedToTarget, claim: tuple[str, asyncio.Future[Tab]] | None) -> None:
        cdp, info = self.client.session(event.session_id), event.target_info
        if cdp is None:
            return  # gone again
        opener = next((tab for tab in self.tabs.values() if tab.target_id == info.opener_id), None)
        tab_id, waiting = claim or (new_id("tab"), None)
        tab = Tab(self, tab_id, info.target_id, cdp, opener.tab_id if opener else "", self.clock.now_ms())
        self.tabs[tab_id] = tab
        self.opened_tabs += 1
        tab.number = self.opened_tabs
        self.updated_at_ms = tab.created_at_ms
        task = asyncio.create_task(self._start_tab(tab, waiting), name=f"start of {tab_id}")
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _start_tab(self, tab: Tab, attached: asyncio.Future[Tab] | None) -> None:
        try:
            await tab.start(ATTACH_SECONDS)
        except (CdpFault, TimeoutError) as error:
            if attached is not None and not attached.done():
                attached.set_exception(error)
            log.warning("tab_start_failed", tab_id=tab.tab_id, session_id=self.session_id, error=str(error))
            await released(tab, CLOSE_SECONDS)
            return
        if attached is not None and attached.cancelled():
            tab.closing = True
            await released(tab, CLOSE_SECONDS)
        elif attached is not None and not attached.done():
            attached.set_result(tab)
        if attached is None:
            self.report("browser.tab.opened", tab.tab_id, {"opener_tab_id": tab.opener_tab_id, "url": tab.page.url})

    def tab_gone(self, tab: Tab) -> None:
        """A tab's target is gone, however that came about."""
        if self.cdp.closed_reason is not None and not self.closing:
            return  # the browser died: its tabs were closed by nobody, and come back with it
        if self.tabs.pop(tab.tab_id, None) is not None:
            self.updated_at_ms = self.clock.now_ms()
            if not self.closing and not tab.closing:
                self.report("browser.tab.closed", tab.tab_id, {"url": tab.page.url, "by": "page"})

    # the end

    def _exited(self, report: ExitReport) -> None:
        self.exit = report
        self.updated_at_ms = self.clock.now_ms()
        self.owner.ended(self)

    async def close(self) -> None:
        """End Chromium and everything in the session, and wait for it; also when it has died already."""
        self.closing = True
        await self.discard()

    async def discard(self) -> None:
        """Give back what it holds: processes, files, sockets."""
        self.downloads.close()
        for task in list(self._tasks):
            task.cancel()
        # The proxy first: it listens on a socket that Chromium's end closes.
        await self.proxy.close()
        await self.chromium.close()
