"""A page: one target's frames, worlds, navigations and traffic. The tab owns it; operations read and act through it."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from hyperkitty.operations.v1.errors_pb2 import ErrorCode
from msgspec import Struct

from services.browser.cdp.domains import log as cdp_log
from services.browser.cdp.domains import network, runtime, target
from services.browser.cdp.domains import page as cdp_page
from services.browser.cdp.errors import CdpClosed, CdpFault
from services.browser.cdp.message import Command, Empty, JsonValue
from services.browser.cdp.session import CdpSession
from services.browser.page.authentication import Authentication
from services.browser.page.conditions import Conditions
from services.browser.page.console import Console
from services.browser.page.cursors import Cursors
from services.browser.page.frames import Frame, Frames
from services.browser.page.navigation import NavigationLog
from services.browser.page.outlines import Outlines
from services.browser.page.refs import RefEntry, RefNumbers
from services.browser.page.requests import Requests
from services.browser.page.results import Minting, PageState
from services.browser.page.scripts_bundle import WORLD, bundle
from services.browser.page.traffic import Traffic
from services.browser.page.wire import DialogInterrupted, Wire
from services.browser.page.world import ScriptFailed, ScriptRefused, WorldGone
from services.kit.deadlines import Budget, current_budget
from services.kit.errors import Refusal

log = logging.getLogger(__name__)

T = TypeVar("T", bound=Struct)
M = TypeVar("M", bound=Minting)

SILENT_SECONDS = 2.0
"""A main thread that says nothing for longer is unresponsive (SPEC §4, "Crashes")."""
TITLE_SECONDS = 1.0
FRAME_SECONDS = 10.0
_WANTED = [
    *(target.FilterEntry(type=each, exclude=False) for each in ("iframe", "worker")),
    target.FilterEntry(exclude=True),
]
MINIMUM_SECONDS = 0.05


class Page:
    """What can be asked of one page. `refs` is its session's, shared by all its pages."""

    def __init__(
        self, session: CdpSession, refs: RefNumbers, identity: Callable[[], Sequence[Command[Empty]]] = tuple
    ) -> None:
        """`identity`: what each process of the page's frames is told before it runs."""
        self.session = session
        self._identity = identity
        self.authentication = Authentication()
        self.refs = refs
        self.wire = Wire()
        self.conditions = Conditions()
        self.traffic = Traffic(self.conditions, time.monotonic)
        self.traffic.hear(session)
        self.console = Console()
        self.console.hear(session)
        self.requests = Requests()
        self.requests.hear(session)
        self._overrides: dict[str, Command[Any]] = {}
        self._sessions: set[CdpSession] = {session}
        self.navigation = NavigationLog(session, self.conditions, self.traffic)
        self.frames = Frames(self.wire, session, self._frames_changed)
        self.cursors = Cursors()
        self.outlines = Outlines()
        self.title = ""
        self.learned = 0
        """`navigation.number` when url and title were last read from the page."""
        self.learns = 0
        """How often they were."""
        self.synthetic_acts = 0
        """How often something was done by script because no input device can do it."""
        self._listeners: list[Callable[[], None]] = []
        self._reading_title: asyncio.Task[None] | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        session.on(cdp_page.LifecycleEvent, self._lifecycle)
        session.on_closed(lambda _: self._closed())

    async def start(self, timeout: float) -> None:
        """Enable what a page needs, and let its target run. `timeout` in seconds. Raises CdpFault."""
        tree = await self._prepare(self.session, timeout)
        self.navigation.begin(tree.frame)

    async def _prepare(self, session: CdpSession, timeout: float) -> cdp_page.FrameTree:
        """Enable what a process of the page's frames needs, let it run, take its frames over. Raises CdpFault."""
        commands: list[Command[Any]] = [
            *self.authentication.commands(session),
            cdp_page.Enable(),
            cdp_page.SetLifecycleEventsEnabled(enabled=True),
            runtime.Enable(),
            cdp_log.Enable(),
            # Bodies are not kept: only their ends are heard.
            network.Enable(max_total_buffer_size=0, max_resource_buffer_size=0),
            cdp_page.AddScriptToEvaluateOnNewDocument(source=bundle(), world_name=WORLD, run_immediately=True),
            target.SetAutoAttach(auto_attach=True, wait_for_debugger_on_start=True, flatten=True, filter=_WANTED),
        ]
        session.on(target.AttachedToTarget, lambda event: self._frame_process(session, event))
        sent: list[asyncio.Future[Any]] = [session.post(command, timeout=timeout) for command in commands]
        asked = session.post(cdp_page.GetFrameTree(), timeout=timeout)
        # Commands run in order, so it is prepared before it runs. What they do in a renderer may have to wait for it:
        # a popup without an opener has none before it loads.
        sent.append(session.post(runtime.RunIfWaitingForDebugger(), timeout=timeout))
        tree = (await asked).frame_tree
        self.frames.load(session, tree)
        await asyncio.gather(*sent)
        return tree

    def _frame_process(self, session: CdpSession, event: target.AttachedToTarget) -> None:
        """A frame went to a process of its own, which waits until it is prepared."""
        child, info = session.child(event.session_id), event.target_info
        if child is None or info.type != "iframe":
            return
        self.frames.adopt(child, info.target_id, info.parent_frame_id or "")
        self.navigation.hear(child)
        self.traffic.hear(child)
        self.console.hear(child)
        self.requests.hear(child)
        self._sessions.add(child)
        child.on_closed(lambda _: self._sessions.discard(child))
        task = asyncio.create_task(self._run_frame(child), name=f"frame {info.target_id}")
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _run_frame(self, child: CdpSession) -> None:
        try:
            told = [
                child.post(command, timeout=FRAME_SECONDS) for command in (*self._identity(), *self._overrides.values())
            ]
            await self._prepare(child, FRAME_SECONDS)
            await asyncio.gather(*told)
        except CdpFault as error:
            # It went away while it was prepared, as frames do.
            log.debug("frame not prepared: %s", error)

    async def tell(self, commands: Sequence[Command[Empty]]) -> None:
        """Change what each process of the page's frames is told of its machine, now and later. Raises CdpFault."""
        seconds = current_budget().remaining()
        self._overrides.update({command.METHOD: command for command in commands})
        sent = [self.wire.post(session, command, seconds) for session in self._sessions for command in commands]
        await asyncio.gather(*sent)

    def on_change(self, callback: Callable[[], None]) -> None:
        """Call `callback` when url, title or loading changed."""
        self._listeners.append(callback)

    def dialog_opened(self) -> None:
        """A dialog that waits for an answer opened: whoever waits for the page is told."""
        self.wire.interrupt()
        self.conditions.fail(DialogInterrupted())

    def dialog_closed(self) -> None:
        """It was answered."""
        self.wire.resume()
        self.conditions.resume()

    # state

    @property
    def url(self) -> str:
        """URL of the main frame's document; of an error page the URL that failed."""
        return (self.frames.main.url if self.frames.known else "") or "about:blank"

    @property
    def loading(self) -> bool:
        """Whether the main frame's document is still loading."""
        return self.navigation.loading

    @property
    def closed_alone(self) -> bool:
        """Whether the target is gone while its browser is there."""
        browser = self.session.parent
        return self.session.closed_reason is not None and browser is not None and browser.closed_reason is None

    def learn(self, state: PageState) -> None:
        """Take over url and title that a script told with its answer."""
        self.learned = self.navigation.number
        self.learns += 1
        if state.title != self.title:
            self.title = state.title
            self._changed()

    async def refresh(self, seconds: float) -> None:
        """Read url and title; all that the renderer said before is heard when this returns. Raises as `call` does."""
        self.learn(await self.frames.main.world.call("state", {}, PageState, seconds=seconds))

    # calls into frames

    async def call(
        self,
        frame: Frame,
        name: str,
        args: Mapping[str, JsonValue],
        kind: type[T],
        wait: float = 0.0,
        keep: float = 0.0,
    ) -> T:
        """Run a script in a frame; `wait` seconds are the script's own to spend, `keep` seconds are left of the budget.

        Raises WorldGone, DialogInterrupted; Refusal page_unresponsive, deadline_exceeded, invalid_arguments.
        """
        budget = current_budget()
        seconds = max(MINIMUM_SECONDS, min(wait + SILENT_SECONDS, budget.remaining() - keep))
        try:
            return await frame.world.call(name, args, kind, seconds=seconds)
        except TimeoutError as error:  # CdpTimeout among them
            raise self._silent(budget) from error
        except ScriptRefused as error:
            raise Refusal(ErrorCode.ERROR_CODE_INVALID_ARGUMENTS, str(error)) from error

    def _silent(self, budget: Budget) -> Exception:
        """Why a script was not answered in time."""
        if self.navigation.main_frame_id in self.navigation.pending:
            # Chromium holds a session's commands back while its main frame waits for another document.
            return WorldGone("the page is on its way to another document")
        if budget.left() <= 0.0:
            return budget.exceeded()
        return Refusal(
            ErrorCode.ERROR_CODE_PAGE_UNRESPONSIVE,
            f"the page did not answer within {SILENT_SECONDS:g} s",
            details={"url": self.url},
        )

    async def minting(
        self, frame: Frame, name: str, args: Mapping[str, JsonValue], kind: type[M], count: int, wait: float = 0.0
    ) -> M:
        """Run a script that may mint up to `count` refs, and enter them in the session's table."""
        first = self.refs.lend(count)
        loader_id = frame.loader_id
        result = await self.call(frame, name, {**args, "next": first, "count": count}, kind, wait)
        self.refs.settle(first, count, result.used)
        for ref, role, name_ in result.minted:
            self.refs.record(RefEntry(ref, frame.session.id or "", frame.id, loader_id, role, name_))
        return result

    # what happens meanwhile

    def _frames_changed(self) -> None:
        self.learned = 0
        self._changed()

    def _changed(self) -> None:
        self.conditions.happened()
        for listener in self._listeners:
            listener()

    def _lifecycle(self, event: cdp_page.LifecycleEvent) -> None:
        if event.name in ("DOMContentLoaded", "load") and event.frame_id == self.navigation.main_frame_id:
            self._changed()
            if self.frames.known and (self._reading_title is None or self._reading_title.done()):
                self._reading_title = asyncio.create_task(self._read_title(), name="title")

    async def _read_title(self) -> None:
        """What callers are shown of a page that nobody asks."""
        try:
            await self.refresh(TITLE_SECONDS)
        except (WorldGone, DialogInterrupted, TimeoutError, CdpFault, ScriptFailed) as error:
            log.debug("title not read: %s", error)

    def _closed(self) -> None:
        for task in (*self._tasks, *filter(None, [self._reading_title])):
            task.cancel()
        self.conditions.fail(CdpClosed("the page is gone"))
