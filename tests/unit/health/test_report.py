"""What a report says of the whole (SPEC §13)."""

from pathlib import Path

import pytest
from hyperkitty.health.v1.health_pb2 import BusHealth, HealthStatus, ServiceHealth

from services.health import report, restarts
from services.health.parts import DEGRADED, HEALTHY, UNHEALTHY


def services(**states: HealthStatus.ValueType) -> list[ServiceHealth]:
    names = ("browser", "agent", "search", "messaging", "health", "gateway")
    return [ServiceHealth(name=name, status=states.get(name, HEALTHY), counts={"spool": 1}) for name in names]


@pytest.mark.parametrize(
    ("states", "bus", "expected"),
    [
        ({}, HEALTHY, HEALTHY),
        ({"search": UNHEALTHY}, HEALTHY, DEGRADED),
        ({"browser": DEGRADED}, HEALTHY, DEGRADED),
        ({"browser": UNHEALTHY}, HEALTHY, UNHEALTHY),
        ({"agent": UNHEALTHY}, HEALTHY, UNHEALTHY),
        ({}, DEGRADED, DEGRADED),
        ({}, UNHEALTHY, UNHEALTHY),
    ],
)
def test_the_worst_that_matters(
    states: dict[str, HealthStatus.ValueType], bus: HealthStatus.ValueType, expected: HealthStatus.ValueType
) -> None:
    assert report.overall(services(**states), BusHealth(status=bus)) == expected


def test_counts_are_summed_by_name() -> None:
    made = report.put_together(services(), BusHealth(status=HEALTHY), [], 5, "1")
    assert dict(made.counts) == {"spool": 6}
    assert (made.computed_at_ms, made.version) == (5, "1")


@pytest.mark.parametrize("content", [None, "", "[]", '{"processes": 1}', "{"])
def test_without_a_readable_file_no_restarts_are_told(tmp_path: Path, content: str | None) -> None:
    if content is not None:
        (tmp_path / "supervisor.json").write_text(content)
    assert restarts.read(tmp_path) == {}


def test_restarts_come_from_the_supervisors_file(tmp_path: Path) -> None:
    text = '{"pid": 1, "processes": {"browser": {"state": "ready", "restarts": 3}, "nats": {"restarts": 0}}}'
    (tmp_path / "supervisor.json").write_text(text)
    assert restarts.read(tmp_path) == {"browser": 3, "nats": 0}
