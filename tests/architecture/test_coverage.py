"""docs/coverage.md names tests that exist."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import pytest

TREE = Path(__file__).resolve().parents[2]
PAGE = (TREE / "docs" / "coverage.md").read_text()
NAMED = sorted(set(re.findall(r"`(tests/[\w./]+)::(\w+)`", PAGE)))
_SECTIONS = 14


@cache
def names_in(path: str) -> frozenset[str]:
    """The tests that a file defines."""
    file = TREE / path
    return frozenset(re.findall(r"^(?:async )?def (test_\w+)", file.read_text(), re.MULTILINE) if file.exists() else ())


@pytest.mark.parametrize(("path", "name"), NAMED, ids=[f"{path}::{name}" for path, name in NAMED])
def test_a_named_test_exists(path: str, name: str) -> None:
    assert name in names_in(path)


def test_every_row_names_a_test_or_says_that_none_does() -> None:
    rows = [line for line in PAGE.splitlines() if line.startswith("| ") and not line.startswith("| What")]
    assert len(rows) > _SECTIONS
    assert [row for row in rows if "::" not in row and "not covered yet" not in row] == []
    # Nothing that looks like a test is written in a way that is not checked.
    assert PAGE.count("::") == len(re.findall(r"`tests/[\w./]+::\w+`", PAGE))


def test_every_section_is_there() -> None:
    assert re.findall(r"^## (\d+)\.", PAGE, re.MULTILINE) == [str(number) for number in range(1, _SECTIONS + 1)]
