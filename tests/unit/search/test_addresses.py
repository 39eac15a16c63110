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
        ("https://a.org/?q=a%26b=c", "https://a.org/?q=a&b=c"),
        ("https://a.org/?q=1%2B1", "https://a.org/?q=1+1"),
        ("https://a.org/?a", "https://a.org/?a="),
        ("https://a.org/?q=A", "https://a.org/?q=a"),
        ("https://a.org/?source=x", "https://a.org/?source=y"),
        ("corpus:///a.md", "corpus:///A.md"),
    ],
)
def test_what_may_differ_stays_apart(one: str, other: str) -> None:
    assert normalize_url(one) != normalize_url(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("https://a.org/?q=a+b", "https://a.org/?q=a%20b"),
        ("https://a.org/?a[]=1&a[]=2", "https://a.org/?a%5B%5D=1&a%5b%5D=2"),
        ("https://a.org/?q=caf%C3%A9", "https://a.org/?q=café"),
        ("https://a.org./x", "https://a.org/x"),
        ("https://a.org/x?&a=1&", "https://a.org/x?a=1"),
        ("https://a.org/x#:~:text=cats", "https://a.org/x"),
        ("https://a.org/x?hsa_cam=1&MTM_campaign=2&pk_kwd=3&_hsenc=4&UTM_ID=5", "https://a.org/x"),
        (" https://a.org/a\n", "https://a.org/a"),
        ("https://a.org/%7euser/~x", "https://a.org/~user/%7Ex"),
        ("https://0x7f.1/", "https://127.0.0.1/"),
    ],
)
def test_what_is_the_same_page_in_other_words(one: str, other: str) -> None:
    assert normalize_url(one) == normalize_url(other)


@given(st.text(alphabet="ab/.%2eE61?&=#!utm_sc~ é", max_size=40))
def test_normalising_twice_changes_nothing(rest: str) -> None:
    once = form(f"https://example.com/{rest}")
    if not once.startswith("none"):
        assert form(once) == once
