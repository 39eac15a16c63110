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
        session.on(cdp_page.FrameAttached, self._attached)
        session.on(cdp_page.FrameNavigated, lambda event: self._navigated(event.frame))
        session.on(cdp_page.FrameDetached, lambda event: self._detached(event.frame_id))
        session.on(cdp_page.NavigatedWithinDocument, self._moved)

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

    def load(self, tree: cdp_page.FrameTree) -> None:
        """Take over the frames that are there at the start."""
        self._navigated(tree.frame)
        for child in tree.child_frames or []:
            self.load(child)

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

    def _attached(self, event: cdp_page.FrameAttached) -> None:
        parent = self._frames.get(event.parent_frame_id)
        if parent is not None and event.frame_id not in self._frames:
            self._add(event.frame_id, parent)

    def _add(self, frame_id: str, parent: Frame | None) -> Frame | None:
        if len(self._frames) >= MOST_FRAMES:
            self.ignored += 1
            return None
        frame = self._frames[frame_id] = Frame(self._wire, self._session, frame_id, parent)
        return frame

    def _navigated(self, document: cdp_page.Frame) -> None:
        frame = self._frames.get(document.id)
        if frame is None:
            frame = self._add(document.id, self._frames.get(document.parent_id or ""))
            if frame is None:
                return
        frame.loader_id = document.loader_id
        frame.url = document.unreachable_url or document.url + (document.url_fragment or "")
        for child in [child for child in self._frames.values() if child.parent is frame]:
            self._detached(child.id)
        if frame.parent is None:
            frame.world.renew(_WORLD_SECONDS)
        else:
            frame.world.forget()
        self._changed()

    def _detached(self, frame_id: str) -> None:
        if frame_id not in self._frames or self._frames[frame_id].parent is None:
            return
        for child in [child for child in self._frames.values() if child.parent and child.parent.id == frame_id]:
            self._detached(child.id)
        del self._frames[frame_id]

    def _moved(self, event: cdp_page.NavigatedWithinDocument) -> None:
        frame = self._frames.get(event.frame_id)
        if frame is not None:
            frame.url = event.url
            if frame.parent is None:
                self._changed()
