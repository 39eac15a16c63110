"""The frames of a page: which there are, which document each holds, and the world of each.

Frames of other processes have CDP sessions of their own; a frame knows the session it is reached through.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from services.browser.cdp.domains import dom
from services.browser.cdp.domains import page as cdp_page
from services.browser.cdp.errors import CdpError
from services.browser.cdp.session import CdpSession
from services.browser.page.wire import Wire
from services.browser.page.world import World, WorldGone

MOST_FRAMES = 1000
_WORLD_SECONDS = 30.0


class Frame:
    """One frame and its present document."""

    def __init__(self, wire: Wire, session: CdpSession, frame_id: str, parent: Frame | None) -> None:
        self.id = frame_id
        self.parent = parent
        self.loader_id = ""
        self.url = ""
        self.world = World(wire, session, frame_id)
        self.placed_in = ""
        """The parent's loader id in whose world this frame's owner element is known."""

    @property
    def session(self) -> CdpSession:
        """The CDP session that reaches it."""
        return self.world.session


class Frames:
    """All frames of a page, in the order they came. Bounded: frames beyond MOST_FRAMES are ignored (counted)."""

    def __init__(self, wire: Wire, session: CdpSession, changed: Callable[[], None]) -> None:
        self._wire = wire
        self._session = session
        self._changed = changed
        self._frames: dict[str, Frame] = {}
        self.ignored = 0
        self.hear(session)

    def hear(self, session: CdpSession) -> None:
        """Follow the frames that a session reaches: the page's own, and those of its frames in other processes."""
        session.on(cdp_page.FrameAttached, lambda event: self._attached(session, event))
        session.on(cdp_page.FrameNavigated, lambda event: self._navigated(session, event.frame))
        session.on(cdp_page.FrameDetached, self._detached)
        session.on(cdp_page.NavigatedWithinDocument, self._moved)

    def adopt(self, session: CdpSession, frame_id: str, parent_id: str) -> None:
        """A frame is in another process now, and reached through a session of its own."""
        known = self._frames.get(frame_id)
        parent = known.parent if known is not None else self._frames.get(parent_id)
        if parent is None:
            return
        self._drop_below(frame_id)
        if self._put(session, frame_id, parent) is not None:
            self.hear(session)
            session.on_closed(lambda _: self._left(session, frame_id))

    def _left(self, session: CdpSession, frame_id: str) -> None:
        """The other process has it no more; where it is now is told by the session that reaches it there."""
        frame = self._frames.get(frame_id)
        if frame is not None and frame.session is session:
            self._drop_below(frame_id)
            del self._frames[frame_id]

    @property
    def main(self) -> Frame:
        """The main frame."""
        return next(iter(self._frames.values()))

    @property
    def known(self) -> bool:
        """Whether the frames were read once."""
        return bool(self._frames)

    def all(self) -> list[Frame]:
        """Every frame, the main one first."""
        return list(self._frames.values())

    def get(self, frame_id: str) -> Frame | None:
        """A frame that is there."""
        return self._frames.get(frame_id)

    def load(self, session: CdpSession, tree: cdp_page.FrameTree) -> None:
        """Take over the frames that a session reaches at its start; what was heard of one meanwhile is newer."""
        known = self._frames.get(tree.frame.id)
        if known is None or known.session is not session or not known.loader_id:
            self._navigated(session, tree.frame)
        for child in tree.child_frames or []:
            self.load(session, child)

    async def place(self, seconds: float) -> None:
        """Make each frame's owner element known in its parent's world. Frames that go away meanwhile are left out."""
        lost = [frame for frame in self._frames.values() if frame.parent and frame.placed_in != frame.parent.loader_id]
        if lost:
            await asyncio.gather(*(self._place(frame, seconds) for frame in lost))

    async def _place(self, frame: Frame, seconds: float) -> None:
        parent = frame.parent
        if parent is None:
            return
        loader = parent.loader_id
        try:
            owner = await self._wire.send(parent.session, dom.GetFrameOwner(frame_id=frame.id), seconds)
            await parent.world.own_frame(owner.backend_node_id, frame.id, seconds)
        except (CdpError, WorldGone):
            return
        frame.placed_in = loader

    # what the browser tells

    def _attached(self, session: CdpSession, event: cdp_page.FrameAttached) -> None:
        parent = self._frames.get(event.parent_frame_id)
        if parent is not None and event.frame_id not in self._frames:
            self._put(session, event.frame_id, parent)

    def _put(self, session: CdpSession, frame_id: str, parent: Frame | None) -> Frame | None:
        if frame_id not in self._frames and len(self._frames) >= MOST_FRAMES:
            self.ignored += 1
            return None
        frame = self._frames[frame_id] = Frame(self._wire, session, frame_id, parent)
        return frame

    def _navigated(self, session: CdpSession, document: cdp_page.Frame) -> None:
        frame = self._frames.get(document.id)
        if frame is None or frame.session is not session:
            # New, or back from another process.
            parent = frame.parent if frame is not None else self._frames.get(document.parent_id or "")
            frame = self._put(session, document.id, parent)
            if frame is None:
                return
        frame.loader_id = document.loader_id
        frame.url = document.unreachable_url or document.url + (document.url_fragment or "")
        self._drop_below(frame.id)
        if frame.parent is None:
            frame.world.renew(_WORLD_SECONDS)
        else:
            frame.world.forget()
        self._changed()

    def _detached(self, event: cdp_page.FrameDetached) -> None:
        frame = self._frames.get(event.frame_id)
        # "swap": it goes on in another process, under the same id.
        if frame is not None and frame.parent is not None and event.reason != "swap":
            self._drop_below(frame.id)
            del self._frames[frame.id]

    def _drop_below(self, frame_id: str) -> None:
        for child in [child for child in self._frames.values() if child.parent and child.parent.id == frame_id]:
            self._drop_below(child.id)
            self._frames.pop(child.id, None)

    def _moved(self, event: cdp_page.NavigatedWithinDocument) -> None:
        frame = self._frames.get(event.frame_id)
        if frame is not None:
            frame.url = event.url
            if frame.parent is None:
                self._changed()
