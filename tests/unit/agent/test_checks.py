"""What is refused before anything else hears of an action (SPEC §6)."""

import pytest
from hyperkitty.agent.v1.agents_pb2 import MessageToolOperation, SearchToolOperation, ToolCall
from hyperkitty.agent.v1.grants_pb2 import Grant, NavigateScope
from hyperkitty.browser.v1.operations_pb2 import (
    BrowserOperation,
    ClickOperation,
    CreateSessionOperation,
    FillFormOperation,
    FormField,
    NavigateOperation,
    OpenTabOperation,
    TypeOperation,
)
from hyperkitty.browser.v1.sessions_pb2 import NetworkPolicy
from hyperkitty.browser.v1.targets_pb2 import Target
from hyperkitty.messaging.v1.messages_pb2 import MessageFilter, OutgoingMessage
from hyperkitty.search.v1.search_pb2 import SearchQuery

from services.agent import checks, proposals
from services.kit.errors import Refusal, reason
from services.kit.ids import new_id
from services.kit.json_values import from_struct

AGENT = new_id("agent")
SESSION = new_id("sess")
TAB = new_id("tab")


def browser(**arm: object) -> ToolCall:
    return ToolCall(browser=BrowserOperation(**arm))  # type: ignore[arg-type]


def grants(*names: str, allowed: tuple[str, ...] = ()) -> list[Grant]:
    made = [Grant(capability=name) for name in names]
    return [*made, Grant(capability="navigate", navigate=NavigateScope(allowed_domains=allowed))] if allowed else made


def verdict(call: ToolCall, granted: list[Grant]) -> str:
    try:
        proposal = proposals.read(call)
        checks.check_grant(granted, proposal)
        checks.check_arguments(AGENT, granted, proposal)
    except Refusal as refusal:
        return reason(refusal.code)
    return "ok"


def test_no_tool_or_operation_is_an_invalid_argument() -> None:
    assert verdict(ToolCall(), grants("click")) == "invalid_arguments"
    assert verdict(browser(), grants("click")) == "invalid_arguments"


@pytest.mark.parametrize(
    ("call", "granted", "expected"),
    [
        (browser(click=ClickOperation(tab_id=TAB, target=Target(ref="e1"))), grants("click"), "ok"),
        (browser(click=ClickOperation(tab_id=TAB, target=Target(ref="e1"))), grants("type"), "not_authorized"),
        (browser(click=ClickOperation(tab_id="tab_1", target=Target(ref="e1"))), grants("click"), "invalid_arguments"),
        (browser(click=ClickOperation(tab_id=TAB)), grants("click"), "invalid_arguments"),
        (browser(type=TypeOperation(tab_id=TAB)), grants("type"), "invalid_arguments"),
        (browser(type=TypeOperation(tab_id=TAB, text="x" * 10_001)), grants("type"), "invalid_arguments"),
        (browser(navigate=NavigateOperation(tab_id=TAB, url="javascript:1")), grants("navigate"), "invalid_arguments"),
        (
            browser(navigate=NavigateOperation(tab_id=TAB, url="file:///etc/passwd")),
            grants("navigate"),
            "invalid_arguments",
        ),
        (browser(navigate=NavigateOperation(tab_id=TAB, url="https://a.org/")), grants("navigate"), "ok"),
        (
            browser(navigate=NavigateOperation(tab_id=TAB, url="https://a.org/")),
            grants(allowed=("b.org",)),
            "not_authorized",
        ),
        (browser(open_tab=OpenTabOperation(session_id=SESSION)), grants("open_tab"), "ok"),
        (
            browser(open_tab=OpenTabOperation(session_id=SESSION, url="https://a.org/")),
            grants("open_tab"),
            "not_authorized",
        ),
        # The grant comes first: whoever may not do it at all is not told what is wrong with the arguments.
        (browser(click=ClickOperation(tab_id="tab_1")), grants("type"), "not_authorized"),
        (ToolCall(search=SearchToolOperation(search=SearchQuery(query="x"))), grants("search"), "ok"),
        (ToolCall(search=SearchToolOperation(search=SearchQuery(query="x"))), grants("message"), "not_authorized"),
        (ToolCall(search=SearchToolOperation(search=SearchQuery())), grants("search"), "invalid_arguments"),
        (ToolCall(message=MessageToolOperation(list=MessageFilter())), grants("message"), "ok"),
        (
            ToolCall(message=MessageToolOperation(list=MessageFilter(recipient="user:x"))),
            grants("message"),
            "not_authorized",
        ),
    ],
)
def test_grant_then_arguments(call: ToolCall, granted: list[Grant], expected: str) -> None:
    assert verdict(call, granted) == expected


@pytest.mark.parametrize(
    ("timeout_ms", "expected"), [(45_000, "ok"), (45_001, "invalid_arguments"), (-1, "invalid_arguments")]
)
def test_the_deadline_through_an_agent(timeout_ms: int, expected: str) -> None:
    click = ClickOperation(tab_id=TAB, target=Target(ref="e1"), timeout_ms=timeout_ms)
    assert verdict(browser(click=click), grants("click")) == expected


def test_each_wrong_field_is_named() -> None:
    proposal = proposals.read(browser(click=ClickOperation(tab_id="x", target=Target(ref="e0"), count=9)))
    with pytest.raises(Refusal) as caught:
        checks.check_arguments(AGENT, grants("click"), proposal)
    told = str(caught.value.details["fields"])
    assert all(f"'{field}'" in told for field in ("args.tab_id", "args.target.ref", "args.count"))


def test_a_grant_that_asks_does_not_run_before_asking_is_served() -> None:
    asking = [Grant(capability="click", ask=True)]
    assert verdict(browser(click=ClickOperation(tab_id=TAB, target=Target(ref="e1"))), asking) == "unimplemented"


@pytest.mark.parametrize(
    ("policy", "granted", "expected"),
    [
        (NetworkPolicy(), grants("create_session"), "ok"),
        (NetworkPolicy(egress_domains=["example.com"]), grants("create_session"), "ok"),
        (NetworkPolicy(egress_domains=["127.0.0.1:3000"]), grants("create_session"), "not_authorized"),
        (NetworkPolicy(allowed_domains=["127.0.0.1:3000"]), grants("create_session"), "not_authorized"),
        (NetworkPolicy(egress_domains=["127.0.0.1:3000"]), grants("create_session", allowed=("127.0.0.1:3000",)), "ok"),
        (
            NetworkPolicy(egress_domains=["localhost:3000"]),
            grants("create_session", allowed=("127.0.0.1:3000",)),
            "not_authorized",
        ),
        (NetworkPolicy(blocked_domains=["127.0.0.1:3000"]), grants("create_session"), "ok"),
        (NetworkPolicy(egress_domains=["com"]), grants("create_session"), "invalid_arguments"),
    ],
)
def test_an_agent_opens_no_private_address_that_its_grant_does_not_name(
    policy: NetworkPolicy, granted: list[Grant], expected: str
) -> None:
    assert verdict(browser(create_session=CreateSessionOperation(network_policy=policy)), granted) == expected


def test_an_agent_makes_sessions_for_itself_only() -> None:
    mine = browser(create_session=CreateSessionOperation(owner_agent_id=AGENT))
    others = browser(create_session=CreateSessionOperation(owner_agent_id=new_id("agent")))
    assert verdict(mine, grants("create_session")) == "ok"
    assert verdict(others, grants("create_session")) == "not_authorized"


def test_an_agent_speaks_as_itself() -> None:
    message = OutgoingMessage(recipient="user:x", sender="user:boss")
    message.payload.update({"text": "hi"})
    call = ToolCall(message=MessageToolOperation(send=message))
    assert verdict(call, grants("message")) == "not_authorized"


def test_history_shows_no_secret_and_stays_small() -> None:
    fields = [FormField(target=Target(ref="e1"), value="hunter2" * 100) for _ in range(50)]
    form = proposals.read(browser(fill_form=FillFormOperation(tab_id=TAB, fields=fields)))
    assert "hunter2" not in str(from_struct(form.masked()))
    url = "https://a.org/" + "x" * 60_000
    assert form.masked().ByteSize() < 1_600
    assert proposals.read(browser(navigate=NavigateOperation(tab_id=TAB, url=url))).masked().ByteSize() < 1_600
