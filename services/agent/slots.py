"""What this process remembers of agents between calls: one lock each, what runs, the standing it last wrote."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from weakref import WeakValueDictionary

from hyperkitty.agent.v1.agents_pb2 import Agent

from services.agent.effects import Done
from services.agent.ledger import Standing
from services.agent.records import Claim
from services.agent.streaks import Streak
from services.kit.errors import Refusal

MOST_REMEMBERED = 4_096


class Running:
    """An action that this process runs. `agent`: as of its claim."""

    def __init__(self, agent: Agent, claim: Claim, streak: Streak) -> None:
        self.agent = agent
        self.claim = claim
        self.streak = streak
        """The repeats before it."""
        self.started = False
        """Its intent is on the log: the agent waits. Before, it executes."""
        self.stopped: Refusal | None = None
        self.settled = asyncio.Event()
        self._call: asyncio.Task[Done] | None = None

    async def wait_for(self, call: asyncio.Task[Done]) -> Done:
        """The result of the call to the tool; CancelledError where it was stopped."""
        self._call = call
        if self.stopped is not None:
            call.cancel()
        return await call

    def stop(self, why: Refusal) -> None:
        """Breaks the call off; the action ends with `why`."""
        self.stopped = self.stopped or why
        if self._call is not None:
            self._call.cancel()


class Slot:
    """One agent. `lock` is held while a call checks and writes its record, never while an action runs."""

    def __init__(self) -> None:
        self.lock = asyncio.Lock()
        self.running: Running | None = None
        self.standing: Standing | None = None
        """As last written here. A guess, since another replica may have written: compare-and-set decides."""
        self.told = ""
        """The action whose claim may or may not have been written: its failure is on the record already."""


class Slots:
    """Slots by agent: all that somebody holds, and the 4,096 last used."""

    def __init__(self, most: int = MOST_REMEMBERED) -> None:
        self._most = most
        self._held: WeakValueDictionary[str, Slot] = WeakValueDictionary()
        self._recent: OrderedDict[str, Slot] = OrderedDict()

    def of(self, agent_id: str) -> Slot:
        """The agent's slot: the same one for everybody who holds it at the same time."""
        slot = self._held.get(agent_id)
        if slot is None:
            slot = self._held[agent_id] = Slot()
        self._recent[agent_id] = slot
        self._recent.move_to_end(agent_id)
        if len(self._recent) > self._most:
            self._recent.popitem(last=False)
        return slot

    def present(self, agent_id: str) -> Slot | None:
        """The agent's slot where it is remembered."""
        return self._held.get(agent_id)

    def running(self) -> int:
        """How many actions run now."""
        return sum(1 for slot in self._held.values() if slot.running is not None)
