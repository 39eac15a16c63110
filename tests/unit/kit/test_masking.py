"""Secrets never enter an event, a log line or an error (SPEC §9): URLs without their credentials."""

import pytest
from hyperkitty.agent.v1.grants_pb2 import Grant, NavigateScope
from hyperkitty.browser.v1.operations_pb2 import NavigateOperation
from hypothesis import given
from hypothesis import strategies as st

from services.kit.capabilities import operations
from services.kit.errors import Refusal
from services.kit.grants import check_grants, check_operation
from services.kit.masking import MASK, masked, without_credentials

URLS = {
    "http://me:secret@a.example/x": f"http://{MASK}@a.example/x",
    "https://secret@a.example": f"https://{MASK}@a.example",
    # What browsers take for the same.
    "http:secret@a.example/x": f"http:{MASK}@a.example/x",
    "http:\\\\me:secret@a.example\\x": f"http:\\\\{MASK}@a.example\\x",
    "ht\ntp://me:secret@a.example": f"http://{MASK}@a.example",
    "  HTTPS://me:secret@a.example": f"HTTPS://{MASK}@a.example",
    "http://me:se@secret@a.example": f"http://{MASK}@a.example",
    # No credentials: an @ elsewhere.
    "https://a.example/@user": "https://a.example/@user",
    "https://a.example?mail=a@b.example": "https://a.example?mail=a@b.example",
}


@pytest.mark.parametrize("url", list(URLS))
def test_credentials_are_masked(url: str) -> None:
    assert without_credentials(url) == URLS[url]
    assert "secret" not in str(masked(NavigateOperation(url=url)))


@given(st.text(alphabet="abc:/?#@\\ \t", max_size=20))
def test_what_stands_after_the_path_begins_is_kept(rest: str) -> None:
    assert without_credentials(f"https://a.example/{rest}").startswith("https://a.example/")


@pytest.mark.parametrize("url", [url for url in URLS if "secret" in url])
def test_a_refusal_by_grant_does_not_repeat_credentials(url: str) -> None:
    grants = [Grant(capability="navigate", navigate=NavigateScope(allowed_domains=["other.example"]))]
    with pytest.raises(Refusal) as refused:
        check_operation(grants, operations()["navigate"], NavigateOperation(url=url))
    assert "secret" not in f"{refused.value.message} {refused.value.details}"


def test_grants_are_refused_field_by_field() -> None:
    with pytest.raises(Refusal) as refused:
        check_grants([Grant(capability="navigate", navigate=NavigateScope(allowed_domains=["co.uk"]))])
    (field,) = refused.value.details["fields"]  # type: ignore[misc]
    assert field["field"] == "capabilities[0].navigate"  # type: ignore[index,call-overload]
