"""Browsers started in advance: fresh, used once, gone with the pool."""

from __future__ import annotations

import os
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import pytest

from services.browser.chromium.launch import Launcher
from services.browser.pool import MOST_AGE_SECONDS, WarmPool
from services.kit.clock import ManualClock
from services.kit.ids import new_id
from services.kit.settings import BrowserSettings
from tests.integration.session.started import Place
from tests.process_table import appeared_since, descendants, is_running, parent_of
from tests.waiting import async_until

pytestmark = pytest.mark.real_chromium


@asynccontextmanager
async def pool_of(
    here: Place, size: int, clock: ManualClock, places: int = 16, quiet: float = 60.0
) -> AsyncGenerator[WarmPool]:
    settings = BrowserSettings.model_construct(warm_pool=size)
    pool = WarmPool(Launcher(here.directories), settings, clock, lambda: places, lambda: quiet)
    pool.start()
    try:
        yield pool
    finally:
        await pool.close()


async def test_a_warm_session_is_like_a_cold_one(here: Place) -> None:
    cold = await here.start()
    async with pool_of(here, 1, ManualClock()) as pool:
        await async_until(lambda: len(pool) == 1, "a browser is warm")
        here.pool = pool
        warm = await here.start()
        assert len(pool) == 0
        mine, other = warm.chromium.directory, cold.chromium.directory
        assert sorted(os.listdir(mine.path)) == sorted(os.listdir(other.path))
        assert os.stat(mine.path).st_uid == os.stat(f"/proc/{warm.chromium.pid}").st_uid
        if os.geteuid() == 0:
            assert os.stat(mine.path).st_uid != os.stat(other.path).st_uid
        named = here.directories.path / warm.session_id
        assert named.resolve() == mine.path
        told, expected = warm.to_proto(), cold.to_proto()
        assert (told.sandbox, told.egress_isolation, told.browser) == (
            expected.sandbox,
            expected.egress_isolation,
            expected.browser,
        )
        assert not warm.tabs
        await warm.close()
        assert not named.is_symlink()
        assert not mine.path.exists()


async def test_what_is_taken_is_not_given_twice_and_is_replaced(here: Place) -> None:
    async with pool_of(here, 1, ManualClock()) as pool:
        await async_until(lambda: len(pool) == 1, "a browser is warm")
        first = pool.take(new_id("sess"))
        assert first is not None
        assert pool.take(new_id("sess")) is None
        await async_until(lambda: len(pool) == 1, "another is warm")
        second = pool.take(new_id("sess"))
        assert second is not None
        assert second.pid != first.pid
        await first.close()
        await second.close()


async def test_the_old_and_the_dead_are_replaced(here: Place) -> None:
    clock = ManualClock()
    before = descendants(os.getpid())
    async with pool_of(here, 1, clock) as pool:
        await async_until(lambda: len(pool) == 1, "a browser is warm")
        launchers = [pid for pid in appeared_since(before) if parent_of(pid) == os.getpid()]
        assert launchers
        clock.advance(MOST_AGE_SECONDS + 1)
        assert pool.take(new_id("sess")) is None
        await async_until(lambda: len(pool) == 1 and not any(map(is_running, launchers)), "a younger one is warm")


@pytest.mark.parametrize(("size", "places", "quiet"), [(0, 16, 60.0), (2, 0, 60.0), (2, 16, 0.0)])
async def test_none_is_started_where_none_is_wanted(here: Place, size: int, places: int, quiet: float) -> None:
    before = descendants(os.getpid())
    async with pool_of(here, size, ManualClock(), places, quiet) as pool:
        cold = await here.start()
        await cold.close()
        assert len(pool) == 0
        assert appeared_since(before) == set()


async def test_closing_leaves_no_process_and_no_file(here: Place) -> None:
    before = descendants(os.getpid())
    async with pool_of(here, 2, ManualClock()) as pool:
        await async_until(lambda: len(pool) >= 1, "a browser is warm")
    assert appeared_since(before) == set()
    assert {entry.name for entry in here.directories.path.iterdir()} == {"home", "lock"}
