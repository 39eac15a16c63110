"""Reciprocal rank fusion."""

from __future__ import annotations

from services.search.providers.fan_out import fuse
from services.search.providers.provider import Hit


def hit(path: str, *found_by: str) -> Hit:
    return Hit(f"https://example.com/{path}", path, "", found_by)


def test_what_several_give_comes_before_what_one_gives() -> None:
    fused = fuse([("one", [hit("a"), hit("b"), hit("c")]), ("two", [hit("d"), hit("b")])])
    assert [each.title for each in fused] == ["b", "a", "d", "c"]
    assert fused[0].found_by == ("one", "two")


def test_a_list_that_repeats_a_page_counts_it_once() -> None:
    fused = fuse([("one", [hit("a"), hit("b"), hit("b?utm_source=x"), hit("b#x")]), ("two", [hit("a")])])
    assert [each.title for each in fused] == ["a", "b"]


def test_engines_are_kept_and_what_is_no_address_is_not() -> None:
    fused = fuse([("one", [hit("a", "google"), Hit("javascript:x", "", "")]), ("two", [hit("a", "bing", "google")])])
    assert [each.found_by for each in fused] == [("google", "bing")]
    assert fuse([]) == []
