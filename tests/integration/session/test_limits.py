"""Over a limit the largest tab goes, and then the session."""

from __future__ import annotations

import os

import pytest
from hyperkitty.operations.v1.errors_pb2 import ErrorCode

from services.browser import limits
from services.browser.limits import Measured, Watch, check_free_memory, measure
from services.browser.session import Session
from services.kit.errors import Refusal
from tests.integration.session.started import Place
from tests.integration.session.test_session import at, evaluated, opened
from tests.site import Site
from tests.waiting import async_until

pytestmark = pytest.mark.real_chromium


class Registry:
    def __init__(self, session: Session) -> None:
        self._session = session
        self.ended: list[str] = []

    def live(self) -> list[Session]:
        return [self._session]

    async def end_over_limit(self, session: Session, limit: str) -> None:
        self.ended.append(limit)
        await session.discard()


@pytest.mark.parametrize("limit", ["memory", "processes"])
async def test_the_largest_tab_goes_and_then_the_session(here: Place, site: Site, limit: str) -> None:
    session = await here.start(f"127.0.0.1:{site.port}", f"localhost:{site.port}")
    small, large = await opened(session), await opened(session)
    await at(small, site.put("/small", "<title>small</title>"))
    await at(large, site.put("/large", "<title>large</title>").replace("127.0.0.1", "localhost"))
    await evaluated(large, "window.kept = new Uint8Array(150e6).fill(7), 1")

    def is_measured() -> bool:
        real = measure(session.chromium.launcher_pid)
        return real.memory_bytes > 150e6 and len(real.renderers) >= 2

    await async_until(is_measured, "the large tab's memory is counted", 30)

    def over(launcher_pid: int) -> Measured:
        real = measure(launcher_pid)
        assert 3 < real.processes < 40
        many = (limits.MOST_BYTES + 1, real.processes) if limit == "memory" else (real.memory_bytes, 401)
        return Measured(*many, real.renderers)

    registry = Registry(session)
    watch = Watch(registry, over)
    await watch.look()
    await async_until(lambda: here.reports.of("browser.tab.crashed"), "a tab is ended")
    (crash,) = here.reports.of("browser.tab.crashed")
    assert (crash.subject, crash.data["reason"]) == (large.tab_id, limit)
    with pytest.raises(Refusal) as caught:
        large.check_usable()
    assert caught.value.code == ErrorCode.ERROR_CODE_TAB_CRASHED
    small.check_usable()
    assert not registry.ended
    await watch.look()
    assert registry.ended == [limit]
    watch.close()


async def test_what_is_within_its_limits_is_only_measured(here: Place) -> None:
    session = await here.start()
    registry = Registry(session)
    watch = Watch(registry)
    await watch.look()
    assert 20 * 1024**2 < session.to_proto().memory_bytes < limits.MOST_BYTES
    assert not registry.ended
    watch.close()


def test_free_memory_is_read_and_too_little_refused() -> None:
    available = limits.available_bytes()
    assert 0 < available <= os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    check_free_memory(limits.LEAST_FREE_BYTES)
    with pytest.raises(Refusal) as caught:
        check_free_memory(limits.LEAST_FREE_BYTES - 1)
    assert caught.value.code == ErrorCode.ERROR_CODE_RESOURCE_EXHAUSTED
    assert caught.value.details["needed_bytes"] == limits.LEAST_FREE_BYTES
