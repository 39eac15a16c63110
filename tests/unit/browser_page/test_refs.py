"""Numbers of refs: whatever calls lend and give back, none is given twice."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from services.browser.page.refs import MOST_KEPT, RefEntry, RefNumbers


@given(st.lists(st.tuples(st.integers(1, 20), st.integers(0, 20), st.booleans()), max_size=60))
def test_no_number_is_given_twice(calls: list[tuple[int, int, bool]]) -> None:
    refs = RefNumbers()
    given_out: list[int] = []
    waiting: list[tuple[int, int, int]] = []
    for count, used, overlaps in calls:
        first = refs.lend(count)
        waiting.append((first, count, min(used, count)))
        if overlaps:
            continue
        for start, lent, taken in waiting:
            given_out += range(start, start + taken)
            refs.settle(start, lent, start + taken)
        waiting.clear()
    assert len(given_out) == len(set(given_out))


def test_numbers_not_needed_come_back_when_nothing_was_lent_meanwhile() -> None:
    refs = RefNumbers()
    first = refs.lend(4096)
    refs.settle(first, 4096, first + 3)
    assert refs.lend(10) == first + 3
    again = refs.lend(5)
    refs.settle(first + 3, 10, first + 4)  # too late: others were lent since
    assert refs.lend(1) == again + 5


def test_a_failed_call_gives_nothing_back() -> None:
    refs = RefNumbers()
    assert refs.lend(100) == 1
    assert refs.lend(1) == 101


def test_the_table_is_bounded() -> None:
    refs = RefNumbers()
    for number in range(MOST_KEPT + 5):
        refs.record(RefEntry(f"e{number}", "s", "f", "l", "button", "x"))
    assert refs.dropped == 5
    assert refs.get("e4") is None
    assert refs.get(f"e{MOST_KEPT + 4}") is not None
