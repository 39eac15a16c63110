"""Restarting: 0.5 to 30 s apart, and down after ten exits in a minute (SPEC section 2)."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from deploy.local.backoff import Backoff


def test_the_first_wait_is_half_a_second_and_waits_grow_to_thirty() -> None:
    backoff, now = Backoff(), 0.0
    waits: list[float] = []
    for _ in range(30):
        delay = backoff.exited(now, served_seconds=0.0)
        waits.append(delay)
        # Spread out, so that no ten fall into one minute.
        now += delay + 20.0
    assert waits[0] == 0.5
    assert waits == sorted(waits)
    assert waits[-1] == 30.0


def test_a_part_that_ends_at_once_reaches_ten_exits_within_the_minute() -> None:
    backoff, now = Backoff(), 0.0
    for exits in range(1, 11):
        now += 0.5
        delay = backoff.exited(now, served_seconds=0.0)
        assert backoff.is_down(now) == (exits == 10)
        now += delay


def test_a_part_that_served_for_long_starts_over() -> None:
    backoff = Backoff()
    for second in range(5):
        backoff.exited(float(second), served_seconds=0.0)
    assert backoff.exited(100.0, served_seconds=90.0) == 0.5


def test_a_part_that_is_down_is_tried_every_thirty_seconds_and_comes_back() -> None:
    backoff = Backoff()
    delays = [backoff.exited(tenth / 10, served_seconds=0.0) for tenth in range(10)]
    assert delays[-1] == 30.0
    assert backoff.is_down(1.0)
    assert not backoff.is_down(61.0)


@given(st.lists(st.tuples(st.floats(0, 100), st.floats(0, 100)), max_size=50))
def test_every_wait_is_within_the_bounds(steps: list[tuple[float, float]]) -> None:
    backoff, now = Backoff(), 0.0
    for passed, served in steps:
        now += passed
        assert 0.5 <= backoff.exited(now, served) <= 30.0
