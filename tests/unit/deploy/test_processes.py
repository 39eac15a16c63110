"""The table of processes is whole."""

from __future__ import annotations

from deploy.processes import NATS, TABLE, StopStage


def test_names_are_unique_and_needs_come_first() -> None:
    seen: set[str] = set()
    for process in TABLE:
        assert process.name not in seen
        assert set(process.needs) <= seen, f"{process.name} needs what stands below it"
        seen.add(process.name)


def test_the_door_closes_first_and_the_store_last() -> None:
    stages = {process.name: process.stops for process in TABLE}
    assert stages.pop("gateway") is StopStage.DOOR
    assert stages.pop("nats") is StopStage.STORE
    assert set(stages.values()) == {StopStage.SERVICE}


def test_every_service_of_the_specification_is_there() -> None:
    assert [process.name for process in TABLE] == [
        NATS.name, "browser", "agent", "search", "messaging", "health", "gateway",
    ]  # fmt: skip
