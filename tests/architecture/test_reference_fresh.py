"""The generated reference says what its sources say."""

from __future__ import annotations

import pytest

from docs.reference.generate import HEAD, HERE, pages


@pytest.mark.parametrize("name", pages())
def test_a_page_is_fresh(name: str) -> None:
    assert (HERE / name).read_text() == HEAD + pages()[name], "run `python -m docs.reference.generate`"
