"""Putting right what an earlier process left behind (SPEC §6, §9); safe to run again at any time."""

from __future__ import annotations

import asyncio

from hyperkitty.auth.v1.identity_pb2 import CallerIdentity

from services.agent import states
from services.agent.aftermath import aftermath
from services.agent.closing import Closing
from services.agent.ledger import Left
from services.agent.lives import Lives
from services.kit import logs
from services.kit.errors import Refusal
from services.kit.recorder import Recorder

log = logs.get(__name__)

_AT_ONCE = 8
# The record of an action that ended longer ago than this was written or is beyond help.
_RECENT_MS = 24 * 3_600_000


class Recovery:
    """Settles interrupted actions before the service is ready; tells owed outcomes and closes left sessions after."""

    def __init__(self, lives: Lives, closing: Closing, recorder: Recorder, identity: CallerIdentity) -> None:
        self._lives = lives
        self._closing = closing
        self._recorder = recorder
        self._identity = identity
        self._left: list[Left] = []

    async def settle(self) -> None:
        """Every action that an earlier process of this instance began and did not end: `interrupted`."""
        self._left = await self._lives.ledger.left()
        running = [each for each in self._left if each.entry is None]
        turn = asyncio.Semaphore(_AT_ONCE)

        async def one(left: Left) -> None:
            async with turn:
                await self._lives.look(self._identity, left.agent.agent_id)

        await asyncio.gather(*(one(each) for each in running if each.claim is not None))
        if running:
            log.info("recovered", agents=len(running))

    async def tidy(self) -> None:
        """What may take a while, as a background task: one thing that fails keeps nothing else from being done."""
        left, self._left = self._left, []
        recent = self._lives.clock.now_ms() - _RECENT_MS
        for each in left:
            if each.entry is not None and each.entry.action.started_at_ms > recent:
                await self._tell(each)
            if each.agent.state in states.TERMINAL and each.sessions:
                await self._closing.try_close_all(each.agent)

    async def _tell(self, left: Left) -> None:
        """Writes the outcome of an action that was decided, where the log does not have it."""
        if left.claim is None or left.entry is None:
            return
        action = left.entry.action
        try:
            if not await self._lives.outcome_is_told(left.agent, left.claim):
                await self._recorder.write(*aftermath(left.agent, left.claim, action, self._lives.clock.now_ms()))
        except Refusal as refusal:
            log.warning("outcome_not_checked", action_id=action.action_id, reason=str(refusal))
