"""Who may call: bearer tokens, the auth table, Host and Origin."""

from __future__ import annotations

from pathlib import Path

import pytest
from google.protobuf.message import Message
from hyperkitty.agent.v1.agent_service_pb2 import ActRequest, ApproveActionRequest, GetAgentRequest, ListAgentsRequest
from hyperkitty.auth.v1.identity_pb2 import CallerIdentity, TokenScopes
from hyperkitty.auth.v1.token_service_pb2 import CreateTokenRequest
from hyperkitty.browser.v1.browser_service_pb2 import (
    BatchRequest,
    CreateSessionRequest,
    ExecuteRequest,
    ListBrowserOperationsRequest,
    ListSessionsRequest,
)
from hyperkitty.browser.v1.operations_pb2 import BrowserOperation, ClickOperation, HoverOperation, TypeOperation
from hyperkitty.operations.v1.errors_pb2 import ErrorCode

from gateway.access.origins import HostRules
from gateway.access.rights import AuthTable
from gateway.access.tokens import Authenticator, TokenError, digest_of, read_root_token
from gateway.contract import linked_services, rpcs
from gateway.transcoding import forms
from gateway.transcoding.forms import FormError
from services.kit.errors import Refusal
from tests.unit.gateway.widgets import widget_service

RPCS = rpcs(linked_services())
TABLE = AuthTable(RPCS)
BY_REQUEST = {rpc.method.input_type: rpc for rpc in RPCS}
AGENT = "agent_01ARZ3NDEKTSV4RRFFQ69G5FAV"
ROOT_SECRET = "hk_root_secret_of_the_tests"


def allowed(request: Message, scopes: TokenScopes, agent_id: str = "") -> bool:
    caller = CallerIdentity(tenant="default", token_id="tok_1", scopes=scopes, agent_id=agent_id)
    try:
        TABLE.check(BY_REQUEST[forms.type_of(request)], caller, request)
    except Refusal as refusal:
        return refusal.code != ErrorCode.ERROR_CODE_NOT_AUTHORIZED
    return True


CLICK = BrowserOperation(click=ClickOperation())
HOVER = BrowserOperation(hover=HoverOperation())
TYPE = BrowserOperation(type=TypeOperation())
CLICKER = TokenScopes(capabilities=["click"])

CASES = [
    (ListAgentsRequest(), TokenScopes(root=True), True),
    (ListAgentsRequest(), TokenScopes(), False),
    (ListAgentsRequest(), TokenScopes(services=["agent"]), True),
    (ListAgentsRequest(), TokenScopes(services=["browser"]), False),
    (ListAgentsRequest(), TokenScopes(capabilities=["click"]), False),
    (ListSessionsRequest(), CLICKER, False),
    (ExecuteRequest(operation=CLICK), CLICKER, True),
    (ExecuteRequest(operation=HOVER), CLICKER, True),
    (ExecuteRequest(operation=TYPE), CLICKER, False),
    (ExecuteRequest(operation=TYPE), TokenScopes(services=["browser"]), True),
    (ExecuteRequest(), CLICKER, False),
    (BatchRequest(operations=[CLICK, HOVER]), CLICKER, True),
    (BatchRequest(operations=[CLICK, TYPE]), CLICKER, False),
    (BatchRequest(), CLICKER, False),
    (CreateSessionRequest(), CLICKER, False),
    (CreateSessionRequest(), TokenScopes(capabilities=["create_session"]), True),
    (ApproveActionRequest(), TokenScopes(services=["agent"]), False),
    (ApproveActionRequest(), TokenScopes(approve=True), True),
    (CreateTokenRequest(), TokenScopes(services=["auth"], approve=True, metrics=True), False),
    (CreateTokenRequest(), TokenScopes(root=True), True),
    (ListBrowserOperationsRequest(), TokenScopes(), True),
]


@pytest.mark.parametrize(("request_message", "scopes", "expected"), CASES, ids=range(len(CASES)))
def test_scopes(request_message: Message, scopes: TokenScopes, expected: bool) -> None:
    assert allowed(request_message, scopes) is expected


def test_a_token_bound_to_an_agent_acts_only_through_its_actions() -> None:
    assert allowed(ActRequest(agent_id=AGENT), TokenScopes(), AGENT)
    assert not allowed(ActRequest(agent_id=AGENT[:-1] + "W"), TokenScopes(services=["agent"]), AGENT)
    assert not allowed(ExecuteRequest(operation=CLICK), TokenScopes(services=["browser"]), AGENT)
    assert not allowed(CreateTokenRequest(), TokenScopes(root=True), AGENT)
    assert allowed(ListAgentsRequest(), TokenScopes(services=["agent"]), AGENT)
    assert not allowed(ListAgentsRequest(), TokenScopes(), AGENT)
    assert allowed(GetAgentRequest(agent_id=AGENT), TokenScopes(), AGENT)
    assert not allowed(GetAgentRequest(agent_id="agent_other"), TokenScopes(), AGENT)


def test_every_rpc_is_in_the_table_and_one_without_a_scope_is_a_fault() -> None:
    assert all(rpc in TABLE for rpc in RPCS)
    (rpc, *_) = rpcs([widget_service()])
    rpc.options.ClearField("scope")
    with pytest.raises(FormError, match="declares no scope"):
        AuthTable([rpc])


AUTHENTICATOR = Authenticator(digest_of(ROOT_SECRET))


def test_the_root_token() -> None:
    caller = AUTHENTICATOR.caller(f"Bearer {ROOT_SECRET}")
    assert caller == CallerIdentity(tenant="default", token_id="root", scopes=TokenScopes(root=True))
    assert AUTHENTICATOR.caller(f"bearer  {ROOT_SECRET} ") == caller


@pytest.mark.parametrize(
    "header",
    [None, "", "Bearer", "Bearer ", ROOT_SECRET, f"Basic {ROOT_SECRET}", f"Bearer {ROOT_SECRET}x", "Bearer \u2603"]
    + [f"Bearer {ROOT_SECRET} {ROOT_SECRET}", "Bearer " + "a" * 100_000, f"Bearer{ROOT_SECRET}"],
)
def test_other_tokens(header: str | None) -> None:
    with pytest.raises(Refusal) as caught:
        AUTHENTICATOR.caller(header)
    assert caught.value.code == ErrorCode.ERROR_CODE_UNAUTHENTICATED
    assert ROOT_SECRET not in caught.value.message


def test_reading_the_root_token(tmp_path: Path) -> None:
    with pytest.raises(TokenError, match="no root token in"):
        read_root_token(tmp_path)
    (tmp_path / "root.token").write_text("short\n")
    with pytest.raises(TokenError, match="shorter than"):
        read_root_token(tmp_path)
    (tmp_path / "root.token").write_text(f"{ROOT_SECRET}\n")
    assert read_root_token(tmp_path) == digest_of(ROOT_SECRET)


RULES = HostRules(["HyperKitty.example.com", ""])
GOOD_HOSTS = """localhost localhost:8420 LOCALHOST:1 127.0.0.1:8420 127.9.9.9 [::1]:8420 [::1] a.localhost
hyperkitty.example.com hyperkitty.example.com.:443""".split()
BAD_HOSTS = [
    *"example.com localhost.example.com 127.0.0.1.nip.io 8.8.8.8 [::2] 0.0.0.0 localhost:99999999 ::1 [::1".split(),
    *"localhost@evil evil/localhost localhost:80:80".split(),
    *("", "a b", "x" * 5000),
]


@pytest.mark.parametrize("host", GOOD_HOSTS)
def test_our_hosts(host: str) -> None:
    RULES.check(host, None)


@pytest.mark.parametrize("host", BAD_HOSTS, ids=range(len(BAD_HOSTS)))
def test_other_hosts(host: str) -> None:
    with pytest.raises(Refusal) as caught:
        RULES.check(host, None)
    assert caught.value.code == ErrorCode.ERROR_CODE_NOT_AUTHORIZED


ORIGINS = [
    ("localhost:8420", "http://localhost:8420", True),
    ("localhost:8420", "HTTP://LOCALHOST:8420", True),
    ("localhost", "http://localhost", True),
    ("localhost", "http://localhost:80", True),
    ("hyperkitty.example.com", "https://hyperkitty.example.com", True),
    ("hyperkitty.example.com:443", "https://hyperkitty.example.com", True),
    ("localhost:8420", "http://localhost:3000", False),
    ("localhost:8420", "http://127.0.0.1:8420", False),
    ("localhost:8420", "http://evil.example", False),
    ("localhost:8420", "null", False),
    ("localhost:8420", "", False),
    ("localhost:8420", "file://", False),
    ("localhost:8420", "http://localhost:8420/", False),
    ("localhost:8420", "chrome-extension://localhost:8420", False),
]


@pytest.mark.parametrize(("host", "origin", "expected"), ORIGINS)
def test_origins(host: str, origin: str, expected: bool) -> None:
    if expected:
        RULES.check(host, origin)
    else:
        with pytest.raises(Refusal, match="may not call this gateway"):
            RULES.check(host, origin)
