"""Who may start a session next (SPEC §4): at most so many at a time, then a bounded queue, fair between callers.

Tenants take turns, and within a tenant its agents: one caller's hundred requests delay another's one by one place.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict, deque
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager

from hyperkitty.operations.v1.errors_pb2 import ErrorCode

from services.kit.deadlines import current_budget
from services.kit.errors import Refusal

MOST_WAITING = 64
Waiter = asyncio.Future[None]
_Agents = OrderedDict[str, deque[Waiter]]


class Turns:
    """What waits, taken round robin by tenant, then by agent."""

    def __init__(self) -> None:
        self._tenants: OrderedDict[str, _Agents] = OrderedDict()
        self._count = 0

    def __len__(self) -> int:
        return self._count

    def add(self, tenant: str, agent_id: str, waiter: Waiter) -> None:
        """Put it behind its agent's others."""
        self._tenants.setdefault(tenant, OrderedDict()).setdefault(agent_id, deque()).append(waiter)
        self._count += 1

    def next(self) -> Waiter:
        """Take whose turn it is. There must be one."""
        tenant, agents = self._tenants.popitem(last=False)
        agent_id, waiters = agents.popitem(last=False)
        waiter = waiters.popleft()
        self._count -= 1
        # Whoever had a turn goes to the end.
        if waiters:
            agents[agent_id] = waiters
        if agents:
            self._tenants[tenant] = agents
        return waiter

    def remove(self, tenant: str, agent_id: str, waiter: Waiter) -> None:
        """Take out one that gave up; nothing when its turn has come."""
        agents = self._tenants.get(tenant, OrderedDict())
        waiters = agents.get(agent_id, deque())
        if waiter not in waiters:
            return
        waiters.remove(waiter)
        self._count -= 1
        if not waiters:
            del agents[agent_id]
        if not agents:
            del self._tenants[tenant]


class Admission:
    """Places for sessions. `used` says how many are taken by what no `place` block holds any more."""

    def __init__(self, limit: int, used: Callable[[], int], most_waiting: int = MOST_WAITING) -> None:
        self._limit = limit
        self._used = used
        self._most_waiting = most_waiting
        self._turns = Turns()
        self._held = 0

    @property
    def used(self) -> int:
        """Places that are taken."""
        return self._held + self._used()

    @property
    def waiting(self) -> int:
        """Calls in the queue."""
        return len(self._turns)

    @property
    def free(self) -> int:
        """Places that are left."""
        return max(0, self._limit - self.used)

    @asynccontextmanager
    async def place(self, tenant: str, agent_id: str) -> AsyncGenerator[None]:
        """Hold a place; waits for one. Raises Refusal resource_exhausted when the queue is full, deadline_exceeded."""
        await self._enter(tenant, agent_id)
        try:
            yield
        finally:
            self._held -= 1
            self.freed()

    async def _enter(self, tenant: str, agent_id: str) -> None:
        if self.free and not self._turns:
            self._held += 1
            return
        if len(self._turns) >= self._most_waiting:
            raise self._full()
        waiter: Waiter = asyncio.get_running_loop().create_future()
        self._turns.add(tenant, agent_id, waiter)
        try:
            async with current_budget().limit():
                await waiter
        except BaseException:
            self._turns.remove(tenant, agent_id, waiter)
            if waiter.done() and not waiter.cancelled():
                self._held -= 1  # its turn came as it gave up
                self.freed()
            raise

    def freed(self) -> None:
        """A place may have become free: let in who is next."""
        while self._turns and self.free:
            waiter = self._turns.next()
            if not waiter.done():
                self._held += 1
                waiter.set_result(None)

    def _full(self) -> Refusal:
        return Refusal(
            ErrorCode.ERROR_CODE_RESOURCE_EXHAUSTED,
            f"{self._limit} sessions are open, and {self._most_waiting} calls wait for one to end",
            details={
                "sessions": self.used,
                "limit": self._limit,
                "queued": len(self._turns),
                "queue_limit": self._most_waiting,
                "retry_after_ms": 5_000,
            },
        )
