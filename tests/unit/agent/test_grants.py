"""What grants allow (SPEC §6), over the contract's own list of operations."""

import pytest
from google.protobuf.message import Message
from hyperkitty.agent.v1.grants_pb2 import CookieScope, Grant, NavigateScope
from hyperkitty.browser.v1.operations_pb2 import BrowserOperation, NavigateOperation, OpenTabOperation
from hyperkitty.operations.v1.errors_pb2 import ErrorCode
from hypothesis import given
from hypothesis import strategies as st

from services.kit.capabilities import OperationFacts, arm_of, capabilities, operations
from services.kit.errors import Refusal
from services.kit.grants import check_grants, check_operation

FACTS = operations()
NAMES = sorted(FACTS)


def bare(*names: str) -> list[Grant]:
    return [Grant(capability=name) for name in names]


def scoped(allowed: list[str], blocked: list[str] | None = None) -> Grant:
    return Grant(capability="navigate", navigate=NavigateScope(allowed_domains=allowed, blocked_domains=blocked or []))


def arm(name: str) -> Message:
    operation = BrowserOperation()
    getattr(operation, name).SetInParent()
    return arm_of(operation)


def allowed(grants: list[Grant], facts: OperationFacts, operation: Message) -> bool:
    try:
        check_operation(grants, facts, operation)
    except Refusal as refusal:
        if refusal.code != ErrorCode.ERROR_CODE_NOT_AUTHORIZED:
            raise
        return False
    return True


def test_the_closed_list_is_the_contracts_operations_and_two_tools() -> None:
    fields = {field.name for field in BrowserOperation.DESCRIPTOR.fields}
    assert capabilities() == fields | {"search", "message"}


@given(st.sampled_from(NAMES), st.lists(st.sampled_from([*NAMES, "search", "message"]), unique=True, max_size=12))
def test_an_operation_needs_its_own_grant_or_one_that_covers_it(name: str, granted: list[str]) -> None:
    facts = FACTS[name]
    assert allowed(bare(*granted), facts, arm(name)) == bool(facts.covering & set(granted))


def test_nothing_is_allowed_without_a_grant() -> None:
    for name, facts in FACTS.items():
        assert not allowed([], facts, arm(name))


def test_covering_is_not_passed_on() -> None:
    # open_tab covers close_tab and create_session covers close_session, not the other way round.
    assert allowed(bare("open_tab"), FACTS["close_tab"], arm("close_tab"))
    assert not allowed(bare("close_tab"), FACTS["open_tab"], arm("open_tab"))
    assert not allowed(bare("close_session"), FACTS["create_session"], arm("create_session"))
    assert allowed(bare("read_page"), FACTS["extract_links"], arm("extract_links"))


@given(st.text(max_size=30))
def test_names_outside_the_list_are_refused_at_creation(name: str) -> None:
    if name in capabilities():
        check_grants(bare(name))
        return
    with pytest.raises(Refusal) as caught:
        check_grants(bare("click", name))
    assert caught.value.code == ErrorCode.ERROR_CODE_INVALID_ARGUMENTS


@pytest.mark.parametrize(
    "grants",
    [
        [Grant(capability="click", navigate=NavigateScope(allowed_domains=["example.com"]))],
        [Grant(capability="navigate", get_cookies=CookieScope(values=True))],
        [scoped(["com"])],
        [scoped(["*.example.com"])],
        [scoped([], ["not a host"])],
        bare("click", "click"),
    ],
)
def test_scopes_that_cannot_be_understood_are_refused_at_creation(grants: list[Grant]) -> None:
    with pytest.raises(Refusal) as caught:
        check_grants(grants)
    assert caught.value.code == ErrorCode.ERROR_CODE_INVALID_ARGUMENTS


URLS_INSIDE = ["https://example.com/", "http://a.example.com:8080/x", "https://EXAMPLE.com./", "about:blank"]
URLS_OUTSIDE = [
    "https://example.org/",
    "https://notexample.com/",
    "https://example.com.evil.org/",
    "https://evil.org/?u=example.com",
    "https://example.com@evil.org/",
    "data:text/html,hello",
    "javascript:alert(1)",
    "about:blank#x",
    "",
]


@pytest.mark.parametrize("url", URLS_INSIDE)
def test_inside_the_scope(url: str) -> None:
    grants = [scoped(["example.com"])]
    assert allowed(grants, FACTS["navigate"], NavigateOperation(url=url))


@pytest.mark.parametrize("url", [url for url in URLS_OUTSIDE if url])
def test_outside_the_scope(url: str) -> None:
    grants = [scoped(["example.com"]), *bare("open_tab")]
    assert not allowed(grants, FACTS["navigate"], NavigateOperation(url=url))
    assert not allowed(grants, FACTS["open_tab"], OpenTabOperation(url=url))


def test_blocked_wins_over_allowed() -> None:
    grants = [scoped(["example.com"], ["=secret.example.com"])]
    assert not allowed(grants, FACTS["navigate"], NavigateOperation(url="https://secret.example.com/"))
    assert allowed(grants, FACTS["navigate"], NavigateOperation(url="https://x.secret.example.com/"))
    assert not allowed([scoped([], ["example.com"])], FACTS["navigate"], NavigateOperation(url="data:,x"))


def test_a_port_in_a_rule_is_that_port_alone() -> None:
    grants = [scoped(["127.0.0.1:3000"])]
    assert allowed(grants, FACTS["navigate"], NavigateOperation(url="http://127.0.0.1:3000/"))
    assert not allowed(grants, FACTS["navigate"], NavigateOperation(url="http://127.0.0.1:3001/"))
    assert not allowed(grants, FACTS["navigate"], NavigateOperation(url="http://localhost:3000/"))


@pytest.mark.parametrize("url", ["", "about:blank"])
def test_open_tab_without_a_document_needs_open_tab_alone(url: str) -> None:
    assert allowed(bare("open_tab"), FACTS["open_tab"], OpenTabOperation(url=url))


def test_open_tab_with_a_document_needs_both() -> None:
    operation = OpenTabOperation(url="https://example.com/")
    assert not allowed(bare("open_tab"), FACTS["open_tab"], operation)
    assert not allowed(bare("navigate"), FACTS["open_tab"], operation)
    assert allowed(bare("open_tab", "navigate"), FACTS["open_tab"], operation)
    assert allowed([*bare("open_tab"), scoped(["example.com"])], FACTS["open_tab"], operation)


@given(st.lists(st.sampled_from(NAMES), unique=True, max_size=8), st.sampled_from(NAMES), st.sampled_from(NAMES))
def test_more_grants_never_allow_less(granted: list[str], extra: str, name: str) -> None:
    if extra not in granted and allowed(bare(*granted), FACTS[name], arm(name)):
        assert allowed(bare(*granted, extra), FACTS[name], arm(name))
