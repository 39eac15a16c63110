"""One tab: its target, its page, its dialog, and the order of what is done to it."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import TYPE_CHECKING

from hyperkitty.browser.v1 import sessions_pb2 as pb
from hyperkitty.operations.v1.errors_pb2 import ErrorCode

from services.browser.cdp.domains import emulation, inspector, page, security, target
from services.browser.cdp.errors import CdpClosed, CdpError
from services.browser.page.authentication import Authentication
from services.browser.page.page import Page
from services.kit.deadlines import current_budget
from services.kit.errors import Refusal

if TYPE_CHECKING:
    from collections.abc import Sequence

    from services.browser.cdp.message import Command, Empty
    from services.browser.cdp.session import CdpSession
    from services.browser.session import Session

DIALOG_KINDS = {
    "alert": pb.DIALOG_KIND_ALERT,
    "confirm": pb.DIALOG_KIND_CONFIRM,
    "prompt": pb.DIALOG_KIND_PROMPT,
    "beforeunload": pb.DIALOG_KIND_BEFOREUNLOAD,
}
DEFAULT_VIEWPORT = pb.Viewport(width=1280, height=720, device_scale_factor=1)
DIALOG_SECONDS = 5.0
CLOSE_AGAIN_SECONDS = 0.5


class Tab:
    """A page target of a session. Attached from the moment it exists; `start` lets it run."""

    def __init__(
        self, session: Session, tab_id: str, target_id: str, cdp: CdpSession, opener_tab_id: str, now_ms: int
    ) -> None:
        self.session = session
        self.tab_id = tab_id
        self.target_id = target_id
        self.cdp = cdp
        self.opener_tab_id = opener_tab_id
        self.number = 0
        """Its place among all tabs that the session ever had, from 1."""
        self.created_at_ms = now_ms
        self.updated_at_ms = now_ms
        self.page = Page(cdp, session.refs, self._identity)
        self.page.authentication = Authentication(session.settings.http_credentials)
        # A page's main frame has its target's id.
        self.page.navigation.main_frame_id = target_id
        self.emulated = pb.SessionSettings()
        """What its pages are told: the session's settings, and what calls changed for this tab."""
        self.emulated.CopyFrom(session.settings)
        self.dialog: pb.Dialog | None = None
        self.writes = asyncio.Lock()
        """Held by a write: one at a time, in arrival order (asyncio locks are first come, first served)."""
        self.gone = asyncio.Event()
        self.closing = False
        """A call is closing it."""
        self._running = False
        self._crashed = False
        self._listen()

    def _listen(self) -> None:
        self.cdp.on(page.JavascriptDialogOpening, self._dialog_opening)
        self.cdp.on(page.JavascriptDialogClosed, self._dialog_closed)
        self.cdp.on(inspector.TargetCrashed, lambda _: self._target_crashed())
        self.cdp.on(page.FrameNavigated, self._frame_navigated)
        self.cdp.on_closed(lambda _: self._detached())
        self.page.on_change(self._touch)

    async def start(self, timeout: float) -> None:
        """Prepare the paused target and let it run. `timeout` in seconds. Raises CdpFault."""
        commands = [inspector.Enable(), *self._emulation()]
        prepared = [self.cdp.post(command, timeout=timeout) for command in commands]
        started = asyncio.ensure_future(self.page.start(timeout))
        try:
            await asyncio.gather(started, *prepared)
        finally:
            started.cancel()
        self._running = True

    def _emulation(self) -> Sequence[Command[Empty]]:
        settings = self.session.settings
        viewport = settings.viewport if settings.HasField("viewport") else DEFAULT_VIEWPORT
        commands: list[Command[Empty]] = [
            # Without it a click in a background tab takes 5 s (DESIGN §10).
            emulation.SetFocusEmulationEnabled(enabled=True),
            emulation.SetDeviceMetricsOverride(
                width=viewport.width,
                height=viewport.height,
                device_scale_factor=viewport.device_scale_factor or 1,
                mobile=viewport.mobile,
            ),
        ]
        if settings.ignore_certificate_errors:
            commands.append(security.SetIgnoreCertificateErrors(ignore=True))
        if viewport.touch:
            commands.append(emulation.SetTouchEmulationEnabled(enabled=True, max_touch_points=5))
        return [*commands, *self._identity()]

    def _identity(self) -> Sequence[Command[Empty]]:
        """What pages are told of the browser and its place; each process of a page's frames is told it."""
        settings = self.session.settings
        commands: list[Command[Empty]] = []
        if settings.user_agent or settings.locale:
            commands.append(
                emulation.SetUserAgentOverride(
                    user_agent=settings.user_agent or self.session.default_user_agent,
                    accept_language=settings.locale or None,
                )
            )
        if settings.locale:
            commands.append(emulation.SetLocaleOverride(locale=settings.locale))
        if settings.timezone:
            commands.append(emulation.SetTimezoneOverride(timezone_id=settings.timezone))
        if settings.HasField("geolocation"):
            place = settings.geolocation
            commands.append(
                emulation.SetGeolocationOverride(
                    latitude=place.latitude, longitude=place.longitude, accuracy=place.accuracy or 10
                )
            )
        return commands

    # state

    @property
    def status(self) -> pb.TabStatus.ValueType:
        """Where it is in its life, derived."""
        if self.gone.is_set():
            return pb.TAB_STATUS_CLOSED
        if self._crashed:
            return pb.TAB_STATUS_CRASHED
        if not self._running:
            return pb.TAB_STATUS_OPENING
        return pb.TAB_STATUS_LOADING if self.page.loading else pb.TAB_STATUS_IDLE

    def to_proto(self) -> pb.BrowserTab:
        """The tab as callers see it."""
        tab = pb.BrowserTab(
            tab_id=self.tab_id,
            session_id=self.session.session_id,
            url=self.page.url,
            title=self.page.title,
            status=self.status,
            opener_tab_id=self.opener_tab_id,
            created_at_ms=self.created_at_ms,
            updated_at_ms=self.updated_at_ms,
        )
        if self.dialog is not None:
            tab.dialog.CopyFrom(self.dialog)
        return tab

    def check_usable(self, *, reviving: bool = False) -> None:
        """Refuse what cannot be done now; `reviving`: the operation brings a crashed tab back."""
        if self.gone.is_set():
            raise Refusal(ErrorCode.ERROR_CODE_NOT_FOUND, f"{self.tab_id} is closed", details={"id": self.tab_id})
        if self._crashed and not reviving:
            raise Refusal(
                ErrorCode.ERROR_CODE_TAB_CRASHED, f"the renderer of {self.tab_id} died", details={"tab_id": self.tab_id}
            )
        if self.dialog is not None:
            raise Refusal(
                ErrorCode.ERROR_CODE_DIALOG_OPEN,
                f"{pb.DialogKind.Name(self.dialog.kind)[12:].lower()} dialog is open: {self.dialog.message[:200]!r}",
                details={"tab_id": self.tab_id, "message": self.dialog.message[:2000]},
            )

    def new_tabs_since(self, mark: int) -> list[Tab]:
        """Tabs of the session that opened after it had opened `mark` tabs."""
        return [tab for tab in self.session.tabs.values() if tab.number > mark and tab is not self]

    # acts

    async def close(self, *, run_beforeunload: bool) -> None:
        """Close it, and wait until it is gone. Raises Refusal deadline_exceeded."""
        self.closing = True
        budget = current_budget()
        if run_beforeunload:
            await self.cdp.send(page.Close(), timeout=budget.remaining())
        else:
            # A dialog holds the renderer back; closing the target does not ask it.
            await self._close_target()
        async with budget.limit():
            await self.gone.wait()

    async def _close_target(self) -> None:
        """Ask until it is gone: Chromium forgets a close that meets the commit of a navigation."""
        budget = current_budget()
        while not self.gone.is_set():
            try:
                await self.session.cdp.send(target.CloseTarget(target_id=self.target_id), timeout=budget.remaining())
            except CdpError:
                return  # it is gone already, and only the word of it is still under way
            with suppress(TimeoutError):
                async with budget.limit(CLOSE_AGAIN_SECONDS):
                    await self.gone.wait()

    async def handle_dialog(self, *, accept: bool, prompt_text: str) -> pb.Dialog:
        """Answer the open dialog and return it. Raises Refusal wrong_state when none is open."""
        dialog = self.dialog
        if dialog is None:
            raise Refusal(ErrorCode.ERROR_CODE_WRONG_STATE, f"no dialog is open in {self.tab_id}")
        await self.cdp.send(
            page.HandleJavaScriptDialog(accept=accept, prompt_text=prompt_text or None),
            timeout=min(DIALOG_SECONDS, current_budget().remaining()),
        )
        return dialog

    # what the browser tells

    def _touch(self) -> None:
        self.updated_at_ms = self.session.clock.now_ms()

    def _dialog_opening(self, event: page.JavascriptDialogOpening) -> None:
        kind = DIALOG_KINDS.get(event.type, pb.DIALOG_KIND_ALERT)
        self.dialog = pb.Dialog(
            kind=kind, message=event.message, default_prompt=event.default_prompt or "", url=event.url
        )
        self._touch()
        self.session.report(
            "browser.dialog.opened",
            self.tab_id,
            {"kind": event.type, "message": event.message[:2000], "url": event.url},
        )
        policy = self.session.settings.dialogs
        if policy in (pb.DIALOG_POLICY_ACCEPT, pb.DIALOG_POLICY_DISMISS):
            accept = policy == pb.DIALOG_POLICY_ACCEPT
            self.cdp.post(page.HandleJavaScriptDialog(accept=accept), timeout=DIALOG_SECONDS)
        else:
            self.page.dialog_opened()

    def _dialog_closed(self, event: page.JavascriptDialogClosed) -> None:
        self.dialog = None
        self.page.dialog_closed()
        self._touch()
        self.session.report("browser.dialog.closed", self.tab_id, {"accepted": event.result})

    def _target_crashed(self) -> None:
        self._crashed = True
        self.dialog = None
        self.page.dialog_closed()
        self._touch()
        reason, self.session.killed_for = self.session.killed_for or "renderer", ""
        self.session.report("browser.tab.crashed", self.tab_id, {"url": self.page.url, "reason": reason})

    def _frame_navigated(self, event: page.FrameNavigated) -> None:
        if self._crashed and event.frame.parent_id is None:
            self._crashed = False
            self.session.report("browser.tab.restored", self.tab_id, {"url": event.frame.url})

    def _detached(self) -> None:
        self.gone.set()
        self.dialog = None
        self._touch()
        self.session.tab_gone(self)


async def released(tab: Tab, timeout: float) -> None:
    """Let a target that could not be prepared run or die, whatever state it is in."""
    try:
        await tab.session.cdp.send(target.CloseTarget(target_id=tab.target_id), timeout=timeout)
    except (CdpError, CdpClosed, TimeoutError):
        return
