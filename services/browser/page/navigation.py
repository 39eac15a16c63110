"""What a page's frames load: begun, committed, ended without a document. Nothing here waits by time.

For each kind of navigation the order of events was measured (Chromium 156): a renderer says FrameRequestedNavigation
before it acknowledges the input that caused it; then FrameStartedNavigating with a loader id, and either
FrameNavigated, or FrameStoppedLoading alone (204, download, stopped), or NavigatedWithinDocument.
"""

from __future__ import annotations

from collections import OrderedDict, deque
from dataclasses import dataclass

from hyperkitty.browser.v1 import targets_pb2 as pb

from services.browser.cdp.domains import page as cdp_page
from services.browser.cdp.session import CdpSession
from services.browser.page.conditions import Conditions
from services.browser.page.traffic import Traffic

MOST_ENDED = 100
MOST_LOADERS = 50

_NO_CONTENT = frozenset({204, 205})


@dataclass(slots=True)
class Pending:
    """A navigation that is under way in a frame."""

    number: int
    url: str
    loader_id: str = ""


@dataclass(frozen=True, slots=True)
class Ended:
    """A navigation that is over."""

    number: int
    frame_id: str
    loader_id: str
    outcome: pb.NavigationOutcome.ValueType
    url: str
    http_status: int = 0
    net_error: str = ""

    def to_proto(self) -> pb.Navigation:
        """As results tell it."""
        return pb.Navigation(url=self.url, outcome=self.outcome, http_status=self.http_status, net_error=self.net_error)


class NavigationLog:
    """Follows the navigations of a page. `number` rises with everything that happens; marks are taken of it."""

    def __init__(self, session: CdpSession, conditions: Conditions, traffic: Traffic) -> None:
        self._conditions = conditions
        self._traffic = traffic
        self.number = 0
        self.main_frame_id = ""
        self.loader_id = ""
        """The main frame's present document."""
        self.loading = False
        self.pending: dict[str, Pending] = {}
        self.ended: deque[Ended] = deque(maxlen=MOST_ENDED)
        self.downloads: deque[tuple[int, cdp_page.DownloadWillBegin]] = deque(maxlen=MOST_ENDED)
        self.windows_opened = 0
        self._leaving = False
        self._lifecycle: OrderedDict[str, set[str]] = OrderedDict()
        self.hear(session)

    def hear(self, session: CdpSession) -> None:
        """Follow the frames that a session reaches."""
        session.on(cdp_page.FrameRequestedNavigation, self._requested)
        session.on(cdp_page.FrameStartedNavigating, self._started)
        session.on(cdp_page.FrameNavigated, self._committed)
        session.on(cdp_page.NavigatedWithinDocument, self._moved)
        session.on(cdp_page.FrameStartedLoading, lambda event: self._loading(event.frame_id, True))
        session.on(cdp_page.FrameStoppedLoading, self._stopped)
        session.on(cdp_page.FrameDetached, lambda event: self._drop(event.frame_id))
        session.on(cdp_page.LifecycleEvent, self._reached)
        session.on(cdp_page.DownloadWillBegin, self._download)
        session.on(cdp_page.WindowOpen, self._window)
        session.on(cdp_page.JavascriptDialogOpening, self._asked)
        session.on(cdp_page.JavascriptDialogClosed, self._told)

    def begin(self, document: cdp_page.Frame) -> None:
        """Take over the document that is there at the start, unless another was heard of meanwhile."""
        self.main_frame_id, self.loader_id = document.id, self.loader_id or document.loader_id
        self._lifecycle.setdefault(document.loader_id, set())

    def _happened(self) -> int:
        self.number += 1
        self._conditions.happened()
        return self.number

    # questions

    def reached(self, name: str) -> bool:
        """Whether the main frame's present document reached a lifecycle event (`load`, `DOMContentLoaded`)."""
        return name in self._lifecycle.get(self.loader_id, ())

    def busy(self) -> bool:
        """Whether the main frame is on its way to a document, or still loading the one it has."""
        return self.loading or self.main_frame_id in self.pending

    def begun_since(self, mark: int) -> bool:
        """Whether a navigation that began after the mark is still under way, in any frame."""
        return any(pending.number > mark for pending in self.pending.values())

    def main_since(self, mark: int) -> Ended | None:
        """The last navigation of the main frame that ended after the mark."""
        found = None
        for ended in self.ended:
            if ended.number > mark and ended.frame_id == self.main_frame_id:
                found = ended
        return found

    def download_since(self, mark: int) -> cdp_page.DownloadWillBegin | None:
        """The last download that began after the mark."""
        return next((event for number, event in reversed(self.downloads) if number > mark), None)

    # what the browser tells

    def _requested(self, event: cdp_page.FrameRequestedNavigation) -> None:
        if event.disposition == "currentTab" and event.reason != "initialFrameNavigation":
            self.pending[event.frame_id] = Pending(self.number + 1, event.url)
            self._happened()

    def _started(self, event: cdp_page.FrameStartedNavigating) -> None:
        if event.navigation_type.lower().endswith("samedocument"):
            return
        known = self.pending.get(event.frame_id)
        if known is not None:
            known.loader_id, known.url = event.loader_id, event.url
        elif event.frame_id == self.main_frame_id:
            self.pending[event.frame_id] = Pending(self.number + 1, event.url, event.loader_id)
        self._happened()

    def _committed(self, event: cdp_page.FrameNavigated) -> None:
        frame = event.frame
        self.pending.pop(frame.id, None)
        if frame.id == self.main_frame_id:
            self.loader_id = frame.loader_id
            self._lifecycle[frame.loader_id] = set()
            if len(self._lifecycle) > MOST_LOADERS:
                self._lifecycle.popitem(last=False)
        answer = self._traffic.document(frame.loader_id)
        failed = frame.unreachable_url is not None
        self._end(
            Ended(
                self.number + 1,
                frame.id,
                frame.loader_id,
                pb.NAVIGATION_OUTCOME_FAILED if failed else pb.NAVIGATION_OUTCOME_COMMITTED,
                frame.unreachable_url or frame.url + (frame.url_fragment or ""),
                answer.status,
                (answer.net_error or "net::ERR_FAILED") if failed else "",
            )
        )

    def _moved(self, event: cdp_page.NavigatedWithinDocument) -> None:
        known = self.pending.get(event.frame_id)
        if known is not None and not known.loader_id:
            del self.pending[event.frame_id]
        self._end(
            Ended(self.number + 1, event.frame_id, self.loader_id, pb.NAVIGATION_OUTCOME_SAME_DOCUMENT, event.url)
        )

    def _stopped(self, event: cdp_page.FrameStoppedLoading) -> None:
        known = self.pending.get(event.frame_id)
        if known is not None and known.loader_id and known.loader_id != self.loader_id:
            answer = self._traffic.document(known.loader_id)
            if answer.net_error or answer.status:
                del self.pending[event.frame_id]
                self._end(self._without_document(event.frame_id, known))
        self._loading(event.frame_id, False)

    def _without_document(self, frame_id: str, pending: Pending) -> Ended:
        answer = self._traffic.document(pending.loader_id)
        if answer.status in _NO_CONTENT:
            outcome, error = pb.NAVIGATION_OUTCOME_NO_CONTENT, ""
        elif answer.status and answer.cancelled:
            outcome, error = pb.NAVIGATION_OUTCOME_DOWNLOAD, ""
        else:
            outcome, error = pb.NAVIGATION_OUTCOME_FAILED, answer.net_error or "net::ERR_ABORTED"
        return Ended(self.number + 1, frame_id, pending.loader_id, outcome, pending.url, answer.status, error)

    def _end(self, ended: Ended) -> None:
        self.ended.append(ended)
        self._happened()

    def _loading(self, frame_id: str, loading: bool) -> None:
        if frame_id == self.main_frame_id:
            self.loading = loading
        self._happened()

    def _drop(self, frame_id: str) -> None:
        self.pending.pop(frame_id, None)
        self._happened()

    def _reached(self, event: cdp_page.LifecycleEvent) -> None:
        reached = self._lifecycle.get(event.loader_id)
        if reached is not None and event.frame_id == self.main_frame_id:
            reached.add(event.name)
            self._happened()

    def _download(self, event: cdp_page.DownloadWillBegin) -> None:
        self.downloads.append((self.number + 1, event))
        self._happened()

    def _window(self, _: cdp_page.WindowOpen) -> None:
        self.windows_opened += 1
        self._happened()

    def _asked(self, event: cdp_page.JavascriptDialogOpening) -> None:
        self._leaving = event.type == "beforeunload"

    def _told(self, event: cdp_page.JavascriptDialogClosed) -> None:
        """Who stays has no navigation under way."""
        if self._leaving and not event.result:
            for frame_id in [frame_id for frame_id, pending in self.pending.items() if not pending.loader_id]:
                self._drop(frame_id)
        self._leaving = False
