"""Browsers started in advance, for sessions that ask for nothing special (SPEC §4, "Sessions").

Each has its own user, directory, namespaces and a fresh profile like any other, has loaded nothing, and serves one
session or none. The pool fills while nothing else is being done, so that it slows no request.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass

from services.browser.chromium.binary import ChromiumNotFound, find
from services.browser.chromium.launch import Launcher, LaunchFailed, LaunchRequest
from services.browser.chromium.process import Chromium
from services.browser.limits import available_bytes
from services.kit import logs
from services.kit.clock import Clock
from services.kit.errors import Refusal
from services.kit.ids import new_id
from services.kit.settings import BrowserSettings

log = logs.get(__name__)

MOST_AGE_SECONDS = 600.0
QUIET_SECONDS = 0.25
"""A launch begins when nothing was done for this long…"""
PATIENCE_SECONDS = 30.0
"""…or when the pool has waited for that so long."""
LOOK_SECONDS = 0.25
BACK_OFF_SECONDS = (1.0, 60.0)
LEFT_FREE_BYTES = 1024 * 1024 * 1024
"""The pool does not grow where less than this would be free for sessions that are used."""


@dataclass(frozen=True, slots=True)
class _Warm:
    chromium: Chromium
    started: float


class WarmPool:
    """Keeps up to `settings.warm_pool` browsers ready, and no more than there are places for sessions.

    `places`: how many sessions could still be opened; `quiet`: seconds since anything was last done.
    """

    def __init__(
        self,
        launcher: Launcher,
        settings: BrowserSettings,
        clock: Clock,
        places: Callable[[], int],
        quiet: Callable[[], float],
    ) -> None:
        self._launcher = launcher
        self._settings = settings
        self._clock = clock
        self._places = places
        self._quiet = quiet
        self._ready: list[_Warm] = []
        self._filling: asyncio.Task[None] | None = None
        self._ending: set[asyncio.Task[object]] = set()
        self._changed = asyncio.Event()

    def __len__(self) -> int:
        return len(self._ready)

    def start(self) -> None:
        """Begin to fill, where there is to be a pool."""
        if self._settings.warm_pool and self._filling is None:
            self._filling = asyncio.create_task(self._fill(), name="warm pool")

    def take(self, session_id: str) -> Chromium | None:
        """A browser for a session, whose it is from now on; None when none is ready."""
        while self._ready:
            warm = self._ready.pop(0)
            self._changed.set()
            if self._is_fresh(warm):
                warm.chromium.directory.name_for(session_id)
                return warm.chromium
            self._end(warm)
        return None

    async def close(self) -> None:
        """End them all, and fill no more."""
        if self._filling is not None:
            self._filling.cancel()
            await asyncio.wait({self._filling})
        for warm in self._ready:
            self._end(warm)
        self._ready.clear()
        if self._ending:
            await asyncio.wait(self._ending)

    def _is_fresh(self, warm: _Warm) -> bool:
        alive = warm.chromium.exit_report is None and warm.chromium.client.browser.closed_reason is None
        return alive and self._clock.monotonic() - warm.started < MOST_AGE_SECONDS

    def _end(self, warm: _Warm) -> None:
        ending = asyncio.create_task(warm.chromium.close(), name="end of a warm browser")
        self._ending.add(ending)
        ending.add_done_callback(self._ending.discard)

    async def _fill(self) -> None:
        """Refill and renew for ever. A launch that fails is tried again later and later."""
        shortest, longest = BACK_OFF_SECONDS
        pause = shortest
        while True:
            await self._until_wanted()
            try:
                chromium = await self._launched()
                self._ready.append(_Warm(chromium, self._clock.monotonic()))
                pause = shortest
            except (LaunchFailed, ChromiumNotFound, Refusal, OSError) as error:
                log.warning("warm_browser_not_started", error=str(error)[:500], retry_seconds=pause)
                await self._changed_within(pause)
                pause = min(longest, pause * 2)

    async def _launched(self) -> Chromium:
        binary = find(self._settings.chromium, full=False)
        return await self._launcher.launch(LaunchRequest(new_id("sess"), binary))

    async def _until_wanted(self) -> None:
        since = self._clock.monotonic()
        while True:
            self._drop()
            if not self._has_room():
                since = self._clock.monotonic()
            elif self._quiet() >= QUIET_SECONDS or self._clock.monotonic() - since >= PATIENCE_SECONDS:
                return
            await self._changed_within(LOOK_SECONDS)

    def _drop(self) -> None:
        """End what is dead, too old, or has no place left to be used in."""
        keep = min(self._settings.warm_pool, self._places())
        fresh = [warm for warm in self._ready if self._is_fresh(warm)][:keep]
        for warm in self._ready:
            if warm not in fresh:
                self._end(warm)
        self._ready = fresh

    def _has_room(self) -> bool:
        wanted = min(self._settings.warm_pool, self._places())
        return len(self._ready) < wanted and available_bytes() >= LEFT_FREE_BYTES

    async def _changed_within(self, seconds: float) -> None:
        self._changed.clear()
        try:
            async with asyncio.timeout(seconds):
                await self._changed.wait()
        except TimeoutError:
            return
