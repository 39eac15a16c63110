from __future__ import annotations

import json

from google.protobuf import json_format
from hypothesis import given
from hypothesis import strategies as st

from services.kit.json_values import JsonValue, clean_text, from_struct, to_struct

VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**53), 2**53)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=15,
)


@given(st.dictionaries(st.text(), VALUES, max_size=6))
def test_what_goes_in_comes_out(value: dict[str, JsonValue]) -> None:
    assert from_struct(to_struct(value, 1_000_000)) == value


@given(st.dictionaries(st.text(alphabet=st.characters(), max_size=5), st.text(alphabet=st.characters()), max_size=5))
def test_any_text_of_a_page_can_be_stored(value: dict[str, str]) -> None:
    to_struct(value, 1_000_000).SerializeToString()


@given(st.dictionaries(st.text(max_size=20), st.text(max_size=400), max_size=30), st.integers(200, 4_000))
def test_the_limit_holds(value: dict[str, str], limit: int) -> None:
    struct = to_struct(value, limit)
    assert len(json.dumps(json_format.MessageToDict(struct), ensure_ascii=False).encode()) <= limit


def test_the_largest_is_cut_and_says_so() -> None:
    data = from_struct(to_struct({"big": "x" * 5_000, "small": "kept"}, 1_000))
    assert data["small"] == "kept"
    assert isinstance(data["big"], dict)
    assert data["big"]["cut"] is True


def test_what_json_cannot_hold() -> None:
    assert from_struct(to_struct({"nan": float("nan"), "inf": float("inf"), "bad": "\ud800a"}, 1_000)) == {
        "nan": "nan",
        "inf": "inf",
        "bad": "�a",
    }
    assert clean_text("\ud83d\ude00") == "😀"
    deep: JsonValue = "end"
    for _ in range(100):
        deep = [deep]
    to_struct({"deep": deep}, 10_000)
