from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.kit.tokens import check_key, encode_token

TOKEN = re.compile(r"[A-Za-z0-9_=-]{1,128}")


@given(st.text(max_size=300))
def test_every_text_becomes_one_safe_token(text: str) -> None:
    assert TOKEN.fullmatch(encode_token(text))
    assert check_key(f"a.{encode_token(text)}")


@given(st.lists(st.text(max_size=60), unique=True, max_size=40))
def test_different_texts_have_different_tokens(texts: list[str]) -> None:
    assert len({encode_token(text) for text in texts}) == len(texts)


def test_ids_stay_as_they_are_and_nothing_is_an_underscore() -> None:
    assert encode_token("sess_01M8QFNCV10M1KP0AV1TX4QQ8W") == "sess_01M8QFNCV10M1KP0AV1TX4QQ8W"
    assert encode_token("") == "_"
    assert encode_token("_") == "=5F"
    assert encode_token("a.b") == "a=2Eb"
    assert encode_token("=2E") != encode_token(".")


@pytest.mark.parametrize("key", ["", "a..b", "a.", "a b", "a.*", "a.>", "a/b"])
def test_keys_that_are_none(key: str) -> None:
    with pytest.raises(ValueError, match="not a key"):
        check_key(key)
