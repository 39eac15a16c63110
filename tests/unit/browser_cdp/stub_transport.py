"""A transport that keeps what the client writes, so that a test plays the browser."""

from __future__ import annotations

import asyncio
import json
from typing import Any

from services.browser.cdp.client import CdpClient


class StubTransport:
    """The far end of a client: `sent` is what it wrote, `say` what the browser answers."""

    def __init__(self, client: CdpClient) -> None:
        self._client = client
        self.sent: list[dict[str, Any]] = []
        self.raw: list[bytes] = []
        self.room = asyncio.Event()
        self.room.set()
        self.closed = False
        client.attach(self)

    @property
    def congested(self) -> bool:
        return not self.room.is_set()

    def write(self, message: bytes) -> None:
        self.raw.append(message)
        self.sent.append(json.loads(message))

    async def drained(self) -> None:
        await self.room.wait()

    def close(self) -> None:
        self.closed = True

    def say(self, **message: object) -> None:
        self._client.on_message(json.dumps(message).encode())

    def answer(self, index: int, result: dict[str, object] | None = None) -> None:
        """Answer the message of that place among those sent."""
        self.say(id=self.sent[index]["id"], result=result or {})

    def attach_target(self, session_id: str, parent: str | None = None, kind: str = "page") -> None:
        info = {"targetId": f"target-{session_id}", "type": kind, "title": "", "url": "", "attached": True}
        self.event("Target.attachedToTarget", parent, sessionId=session_id, targetInfo=info, waitingForDebugger=True)

    def event(self, method: str, session: str | None, /, **params: object) -> None:
        """An event on a session; None is the browser's."""
        self.say(method=method, params=params, **({} if session is None else {"sessionId": session}))
