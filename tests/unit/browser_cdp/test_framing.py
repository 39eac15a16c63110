"""The pipe's framing, whatever pieces the bytes arrive in."""

from __future__ import annotations

import json
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.browser.cdp.framing import Deframer, MessageTooLarge, without_lone_surrogates

MESSAGES = st.lists(st.binary(min_size=1, max_size=300).map(lambda data: data.replace(b"\0", b"\1")), max_size=20)


@given(
    messages=MESSAGES, cuts=st.lists(st.integers(min_value=0, max_value=6000), max_size=30), tail=st.binary(max_size=9)
)
def test_messages_arrive_whole_and_in_order_however_the_stream_is_cut(
    messages: list[bytes], cuts: list[int], tail: bytes
) -> None:
    stream = b"".join(message + b"\0" for message in messages) + tail.replace(b"\0", b"")
    places = [0, *sorted(min(cut, len(stream)) for cut in cuts), len(stream)]
    deframer = Deframer(1000)
    arrived: list[bytes] = []
    for start, end in pairwise(places):
        arrived += deframer.feed(stream[start:end])
    assert arrived == messages


@pytest.mark.parametrize("pieces", [[b"x" * 101], [b"x" * 60, b"x" * 60], [b"x" * 101 + b"\0"], [b"a\0" + b"x" * 101]])
def test_a_message_over_the_limit_is_refused_finished_or_not(pieces: list[bytes]) -> None:
    deframer = Deframer(100)
    for piece in pieces[:-1]:
        deframer.feed(piece)
    with pytest.raises(MessageTooLarge):
        deframer.feed(pieces[-1])


def test_many_messages_at_once_are_not_taken_for_one_large_one() -> None:
    assert Deframer(10).feed(b"12345\0" * 100) == [b"12345"] * 100


@given(text=st.text(alphabet=st.characters(codec=None, exclude_categories=()), max_size=50))
def test_lone_surrogates_become_replacement_characters_and_all_else_stays(text: str) -> None:
    message = json.dumps({"value": text}).encode()
    cleaned = json.loads(without_lone_surrogates(message))["value"]
    assert cleaned == text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
