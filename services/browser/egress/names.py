"""Name look-ups of one session: remembered briefly, asked once however many connections wait for them."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

from services.kit.addresses import Address
from services.kit.dialer import Resolver

REMEMBERED_SECONDS = 30.0
MOST_NAMES = 512


@dataclass(slots=True)
class _LookUp:
    answer: asyncio.Task[list[Address]]
    fresh_until: float


class NameCache:
    """A `Resolver` that remembers. Its answers are judged anew at every use, so it opens no way around the policy."""

    def __init__(self, resolver: Resolver) -> None:
        self._resolver = resolver
        self._known: dict[str, _LookUp] = {}

    async def __call__(self, name: str, port: int) -> list[Address]:
        """The addresses of a name. The caller sets the deadline. Raises what the resolver raises."""
        now = asyncio.get_running_loop().time()
        known = self._known.get(name)
        if known is None or (known.answer.done() and (known.fresh_until < now or _failed(known.answer))):
            if len(self._known) >= MOST_NAMES:
                self._forget_oldest()
            answer = asyncio.ensure_future(self._look_up(name, port))
            known = self._known[name] = _LookUp(answer, now + REMEMBERED_SECONDS)
        # Shielded: the look-up is everybody's who waits, and one of them may give up.
        return await asyncio.shield(known.answer)

    def close(self) -> None:
        """Give up what is being looked up."""
        for known in self._known.values():
            known.answer.cancel()
        self._known.clear()

    async def _look_up(self, name: str, port: int) -> list[Address]:
        return await self._resolver(name, port)

    def _forget_oldest(self) -> None:
        oldest = next(iter(self._known))
        self._known.pop(oldest).answer.cancel()


def _failed(answer: asyncio.Task[list[Address]]) -> bool:
    return answer.cancelled() or answer.exception() is not None
