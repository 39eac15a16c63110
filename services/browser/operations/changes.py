"""What a write changed (SPEC §4, "Acting" and "Waiting"): where the tab is, what it loads, what it opened.

A navigation that began before the renderer acknowledged the write has committed when this is told; a later one is
told by the next result. Nothing that did not begin is waited for.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass

from hyperkitty.browser.v1 import targets_pb2 as pb

from services.browser.cdp.domains import target
from services.browser.cdp.errors import CdpClosed
from services.browser.downloads import safe_name
from services.browser.page.wire import DialogInterrupted
from services.browser.page.world import WorldGone
from services.browser.tab import Tab
from services.kit.deadlines import current_budget

STATE_SECONDS = 2.0
WINDOW_SECONDS = 2.0
DOWNLOAD_SECONDS = 1.0
"""Most files are whole by then; of others the result says that they are in progress."""
PARSED_SECONDS = 0.5
"""A document that has committed is given so long to be parsed, for its title and for what is asked of it next."""
MARGIN_SECONDS = 0.2
"""Kept of the budget, so that an act whose navigation is slow is told with the navigation pending."""


@dataclass(frozen=True, slots=True)
class Mark:
    """Where a tab was before a write."""

    tab: Tab
    number: int
    learns: int
    opened_tabs: int
    windows: int
    synthetic_acts: int

    @classmethod
    def of(cls, tab: Tab) -> Mark:
        """Taken just before the write."""
        log = tab.page.navigation
        page = tab.page
        number = log.number
        if tab.dialog is not None and log.pending:
            # What a dialog held up goes on when it is answered.
            number = min(number, *(pending.number - 1 for pending in log.pending.values()))
        return cls(tab, number, page.learns, tab.session.opened_tabs, log.windows_opened, page.synthetic_acts)

    @classmethod
    def opened(cls, tab: Tab) -> Mark:
        """As if taken before the tab was opened."""
        return cls(tab, 0, tab.page.learns - 1, tab.number, 0, 0)

    async def changed(self) -> pb.Changed:
        """What changed since the mark."""
        page = self.tab.page
        if page.learns == self.learns and not self.tab.dialog:
            await self._refresh()
        await self._settle()
        if page.learned < page.navigation.number and not self.tab.dialog:
            await self._refresh()
        return self._told()

    async def _refresh(self) -> None:
        """Hear everything that the renderer said so far, and where the page is."""
        page = self.tab.page
        if page.navigation.main_frame_id in page.navigation.pending:
            return  # it would wait for the other document
        with suppress(WorldGone, DialogInterrupted, TimeoutError, CdpClosed):
            await page.refresh(min(STATE_SECONDS, max(0.01, current_budget().left())))

    async def _settle(self) -> None:
        """Wait for what began: commits, new tabs, downloads."""
        page, log = self.tab.page, self.tab.page.navigation
        left = max(0.0, current_budget().left() - MARGIN_SECONDS)
        with suppress(DialogInterrupted, TimeoutError, CdpClosed):
            await page.conditions.until(lambda: not log.begun_since(self.number), left)
            if log.windows_opened > self.windows:
                await self._new_tab(min(left, WINDOW_SECONDS))
            ended = log.main_since(self.number)
            if ended is not None and ended.outcome == pb.NAVIGATION_OUTCOME_COMMITTED:
                await page.conditions.until(
                    lambda: log.reached("DOMContentLoaded") or not log.busy(), min(left, PARSED_SECONDS)
                )
            if ended is not None and ended.outcome == pb.NAVIGATION_OUTCOME_DOWNLOAD:
                await page.conditions.until(
                    lambda: log.download_since(self.number) is not None, min(left, DOWNLOAD_SECONDS)
                )
            download = log.download_since(self.number)
            if download is not None:
                await self.tab.session.downloads.until_ended(download.guid, min(left, DOWNLOAD_SECONDS))

    async def _new_tab(self, seconds: float) -> None:
        """A window that opened becomes a tab once the browser attaches it. Raises TimeoutError."""
        conditions = self.tab.page.conditions
        unsubscribe = self.tab.session.cdp.on(target.AttachedToTarget, lambda _: conditions.happened())
        try:
            await conditions.until(lambda: self.tab.session.opened_tabs > self.opened_tabs, seconds)
        finally:
            unsubscribe()

    def _told(self) -> pb.Changed:
        page, log = self.tab.page, self.tab.page.navigation
        changed = pb.Changed(
            url=page.url,
            title=page.title,
            synthetic=page.synthetic_acts > self.synthetic_acts,
            new_tabs=[tab.to_proto() for tab in self.tab.new_tabs_since(self.opened_tabs)],
        )
        ended, pending = log.main_since(self.number), log.pending.get(log.main_frame_id)
        if pending is not None and pending.number > self.number:
            changed.navigation.CopyFrom(pb.Navigation(url=pending.url, outcome=pb.NAVIGATION_OUTCOME_PENDING))
        elif ended is not None:
            changed.navigation.CopyFrom(ended.to_proto())
        if self.tab.dialog is not None:
            changed.dialog.CopyFrom(self.tab.dialog)
        download = log.download_since(self.number)
        if download is not None:
            kept = self.tab.session.downloads.of(download.guid)
            changed.download.CopyFrom(
                kept
                or pb.Download(
                    url=download.url,
                    suggested_name=safe_name(download.suggested_filename),
                    state=pb.DOWNLOAD_STATE_IN_PROGRESS,
                )
            )
        return changed
