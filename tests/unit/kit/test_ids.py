from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.kit import ids


def test_ids_have_the_form_of_the_contract_and_rise() -> None:
    made = [ids.new_id("sess") for _ in range(2_000)]
    assert made == sorted(made)
    assert len(set(made)) == len(made)
    assert all(ids.is_id("sess", each) for each in made)


def test_ids_rise_when_the_clock_goes_back() -> None:
    first = ids.ulid(now_ms=4_000_000_000_000)
    assert ids.ulid(now_ms=1) > first


@pytest.mark.parametrize(
    "text",
    [
        "",
        "sess_",
        "tab_01M8QFNCV10M1KP0AV1TX4QQ8W",
        "sess_01m8qfncv10m1kp0av1tx4qq8w",
        "sess_81M8QFNCV10M1KP0AV1TX4QQ8W",
        "sess_01M8QFNCV10M1KP0AV1TX4QQ8I",
        "sess_01M8QFNCV10M1KP0AV1TX4QQ8W\n",
        "sess_01M8QFNCV10M1KP0AV1TX4QQ8",
    ],
)
def test_other_forms_are_refused(text: str) -> None:
    assert not ids.is_id("sess", text)
    with pytest.raises(ValueError, match="sess_"):
        ids.check_id("sess", text)


@given(st.text(max_size=40))
def test_no_text_makes_it_raise(text: str) -> None:
    assert ids.is_id("op", text) in (True, False)


def test_unknown_prefixes_are_a_fault() -> None:
    with pytest.raises(ValueError, match="session"):
        ids.new_id("session")
