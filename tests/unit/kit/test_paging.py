"""Pages of a list."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.kit.errors import Refusal
from services.kit.paging import page_of


@given(st.sets(st.text(min_size=1, max_size=5), max_size=30), st.integers(1, 7), st.booleans())
def test_pages_together_are_the_list(keys: set[str], size: int, newest_first: bool) -> None:
    entries = sorted(keys, reverse=newest_first)
    seen: list[str] = []
    token = ""
    while True:
        page, token = page_of(entries, size, token, key=str, newest_first=newest_first)
        seen += page
        if not token:
            break
    assert seen == entries


def test_a_token_outlives_the_entry_it_names() -> None:
    page, token = page_of(["c", "b", "a"], 2, "", key=str)
    assert page == ["c", "b"]
    assert page_of(["c", "a"], 2, token, key=str) == (["a"], "")


@pytest.mark.parametrize("token", ["%%%", "a", "_w"])
def test_a_token_of_nobody_is_refused(token: str) -> None:
    with pytest.raises(Refusal, match="page_token"):
        page_of(["a"], 1, token, key=str)
