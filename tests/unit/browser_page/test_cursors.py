"""Cursors: good for once, for their own form, and no more than a few of them."""

from __future__ import annotations

import pytest
from hyperkitty.operations.v1.errors_pb2 import ErrorCode

from services.browser.page.cursors import MOST_CURSORS, Cursors, Reading
from services.kit.errors import Refusal


def test_a_cursor_is_good_for_once_and_for_its_form() -> None:
    cursors = Cursors()
    reading = Reading("text")
    cursor = cursors.keep(reading)
    assert cursors.take(cursor, "text") is reading
    for wrong in (cursor, "", cursors.keep(Reading("html"))):
        with pytest.raises(Refusal) as caught:
            cursors.take(wrong, "text")
        assert caught.value.code == ErrorCode.ERROR_CODE_INVALID_ARGUMENTS


def test_the_oldest_are_forgotten() -> None:
    cursors = Cursors()
    kept = [cursors.keep(Reading("text")) for _ in range(MOST_CURSORS + 1)]
    with pytest.raises(Refusal):
        cursors.take(kept[0], "text")
    cursors.take(kept[1], "text")
