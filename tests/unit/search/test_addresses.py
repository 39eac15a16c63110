"""One form for what is one page (case 41: search results repeated under several addresses)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TypedDict

import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.search.addresses import NotAnAddress, normalize_url


class Group(TypedDict):
    """Addresses of one page, or of as many pages as there are addresses."""

    same: bool
    urls: list[str]


CASE = Path(__file__).parents[2] / "cases" / "41-url-dedup" / "groups.json"
GROUPS: list[Group] = json.loads(CASE.read_text())


def form(url: str) -> str:
    try:
        return normalize_url(url)
    except NotAnAddress:
        return f"none: {url}"


@pytest.mark.parametrize("group", GROUPS, ids=lambda group: group["urls"][0])
def test_the_groups_of_the_case(group: Group) -> None:
    forms = {form(url) for url in group["urls"]}
    assert len(forms) == (1 if group["same"] else len(group["urls"]))


@pytest.mark.parametrize(
    "url", ["javascript:alert(1)", "", "data:,x", "ftp://a.org/", "https://u:p@a.org/", "//a.org", "http://"]
)
def test_what_is_no_address_of_a_page(url: str) -> None:
    with pytest.raises(NotAnAddress):
        normalize_url(url)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("http://a.org/", "https://a.org/"),
        ("https://www.a.org/", "https://a.org/"),
        ("https://a.org/x", "https://a.org/x/"),
        ("https://a.org/%2e%2e/x", "https://a.org/y"),
        ("https://a.org:8443/", "https://a.org/"),
        ("https://a.org/#/one", "https://a.org/#/two"),
    ],
)
def test_what_may_differ_stays_apart(one: str, other: str) -> None:
    assert normalize_url(one) != normalize_url(other)


@given(st.text(alphabet="ab/.%2eE61?&=#!utm_sc~ é", max_size=40))
def test_normalising_twice_changes_nothing(rest: str) -> None:
    once = form(f"https://example.com/{rest}")
    if not once.startswith("none"):
        assert form(once) == once
