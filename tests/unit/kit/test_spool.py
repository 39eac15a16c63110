from __future__ import annotations

import asyncio
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.kit.spool import Spool, SpoolFull, SpoolItem


def item(number: int, size: int = 10) -> SpoolItem:
    return SpoolItem("event", f"evt_{number}", os.urandom(size))


def opened(path: Path, most_bytes: int = 10_000_000) -> Spool:
    spool = Spool(path, most_bytes)
    spool.open()
    return spool


async def drained(spool: Spool) -> list[SpoolItem]:
    taken: list[SpoolItem] = []

    async def take(each: SpoolItem) -> bool:
        taken.append(each)
        return True

    assert await spool.drain(take)
    return taken


async def test_what_is_appended_is_on_the_disk_and_comes_back_in_order(tmp_path: Path) -> None:
    path = tmp_path / "new" / "x.spool"
    spool = opened(path)
    items = [item(number) for number in range(20)]
    await asyncio.gather(*(spool.append([each]) for each in items))
    again = opened(path)
    assert len(again) == 20
    assert again.nonempty.is_set()
    assert await drained(again) == items
    assert again.emptied.is_set()
    assert path.stat().st_size == 0
    assert path.stat().st_mode & 0o777 == 0o600


async def test_one_that_is_not_taken_stays_first(tmp_path: Path) -> None:
    spool = opened(tmp_path / "x.spool")
    items = [item(number) for number in range(3)]
    await spool.append(items)
    taken: list[str] = []

    async def take_one(each: SpoolItem) -> bool:
        taken.append(each.item_id)
        return len(taken) < 2

    assert not await spool.drain(take_one)
    assert taken == ["evt_0", "evt_1"]
    assert len(spool) == 2
    # Until all are taken none leaves the disk: a crash sends the first again, as a repeat.
    assert len(opened(tmp_path / "x.spool")) == 3
    assert [each.item_id for each in await drained(spool)] == ["evt_1", "evt_2"]


async def test_what_comes_while_it_drains_comes_last(tmp_path: Path) -> None:
    spool = opened(tmp_path / "x.spool")
    await spool.append([item(0)])
    taken: list[str] = []

    async def take(each: SpoolItem) -> bool:
        taken.append(each.item_id)
        if each.item_id == "evt_0":
            await spool.append([item(1)])
        return True

    assert await spool.drain(take)
    assert taken == ["evt_0", "evt_1"]
    assert opened(tmp_path / "x.spool").is_empty


@given(cut=st.integers(0, 400))
def test_a_torn_tail_costs_only_what_is_torn(cut: int, tmp_path_factory: pytest.TempPathFactory) -> None:
    path = tmp_path_factory.mktemp("spool") / "x.spool"
    items = [item(number, 50) for number in range(5)]

    async def fill() -> None:
        await opened(path).append(items)

    asyncio.run(fill())
    data = path.read_bytes()
    path.write_bytes(data[: max(0, len(data) - cut)])
    spool = opened(path)
    kept = asyncio.run(drained(opened(path)))
    assert kept == items[: len(kept)]
    assert len(spool) == len(kept)
    assert (len(kept) == 5) == (cut == 0)


async def test_damage_in_the_middle_ends_reading_there(tmp_path: Path) -> None:
    path = tmp_path / "x.spool"
    await opened(path).append([item(number, 50) for number in range(3)])
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 0xFF
    path.write_bytes(data)
    assert len(opened(path)) == 1


async def test_a_full_spool_refuses_and_counts(tmp_path: Path) -> None:
    spool = opened(tmp_path / "x.spool", most_bytes=200)
    await spool.append([item(0, 50)])
    with pytest.raises(SpoolFull):
        await spool.append([item(1, 500)])
    assert spool.dropped == 1
    assert len(spool) == 1


async def test_a_directory_that_cannot_be_written_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(OSError):  # noqa: PT011 - which of them depends on the system
        opened(tmp_path / "file" / "x.spool")
