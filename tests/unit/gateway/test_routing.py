"""Routes and request messages from google.api.http rules."""

from __future__ import annotations

import pytest
from hyperkitty.operations.v1.errors_pb2 import ErrorCode
from hypothesis import given
from hypothesis import strategies as st

from gateway.contract import linked_services, rpcs
from gateway.routing.router import Router
from gateway.routing.routes import JSON_LIMIT, UPLOAD_LIMIT, Kind, Route, router_of, routes
from gateway.routing.template import parse_template
from gateway.transcoding.encode import encoder
from gateway.transcoding.forms import FormError
from gateway.transcoding.mismatch import Mismatch
from services.kit.errors import Refusal
from tests.unit.gateway.widgets import widget_service

SESSION, TAB = "sess_01ARZ3NDEKTSV4RRFFQ69G5FAV", "tab_01ARZ3NDEKTSV4RRFFQ69G5FAV"
ACTIONS = f"/api/browser/sessions/{SESSION}/tabs/{TAB}/actions"
TABLE = routes(rpcs(linked_services()))
ROUTER = router_of(TABLE)


def find(verb: str, path: str, router: Router[Route] = ROUTER) -> tuple[Route, tuple[str, ...]]:
    match = router.find(path.encode())
    assert match is not None, path
    return match.by_method[verb], match.values


def read(verb: str, path: str, query: list[tuple[str, str]] | None = None, body: object = None) -> object:
    route, values = find(verb, path)
    message = route.reader.read(values, query or [], {} if body is None and route.reader.takes_body else body)
    return encoder(route.rpc.method.input_type)(message)


SPEC_ROUTES = """
GET /api/health | GET /api/agents | POST /api/agents | GET /api/agents/a | GET /api/agents/a/history
POST /api/agents/a/objective | POST /api/agents/a/actions | POST /api/agents/a/approve | POST /api/agents/a/complete
POST /api/agents/a/fail | POST /api/agents/a/terminate | GET /api/browser/sessions | POST /api/browser/sessions
GET /api/browser/sessions/s | POST /api/browser/sessions/s/close | POST /api/browser/sessions/s/owner
POST /api/browser/sessions/s/control | POST /api/browser/sessions/s/tabs | POST /api/browser/sessions/s/tabs/t/close
POST /api/browser/sessions/s/tabs/t/navigate | POST /api/browser/sessions/s/tabs/t/actions
GET /api/browser/operations | GET /api/search | POST /api/search | GET /api/search/j | GET /api/search/j/result
GET /api/search/j/documents/d | POST /api/search/j/cancel | GET /api/messages | POST /api/messages
POST /api/messages/m/read | GET /api/events/recent | GET /api/events/export | GET /api/operations
GET /api/operations/o | GET /api/artifacts/a | GET /api/tokens | POST /api/tokens | DELETE /api/tokens/t
POST /api/view-session | GET /api/secrets/n | PUT /api/secrets/n | DELETE /api/secrets/n
""".replace("\n", "|").split("|")
SPEC_SOCKETS = ["/api/events/stream", "/api/messages/stream", "/api/browser/sessions/s/tabs/t/live"]


@pytest.mark.parametrize("line", [line.strip() for line in SPEC_ROUTES if line.strip()])
def test_every_route_of_the_spec_is_there(line: str) -> None:
    verb, path = line.split()
    route, _ = find(verb, path)
    assert route.kind is not Kind.WEBSOCKET


@pytest.mark.parametrize("path", SPEC_SOCKETS)
def test_every_websocket_of_the_spec_is_there(path: str) -> None:
    assert find("GET", path)[0].kind is Kind.WEBSOCKET


def test_kinds_and_limits() -> None:
    assert find("GET", "/api/events/export")[0].kind is Kind.NDJSON
    assert find("GET", "/api/artifacts/a")[0].kind is Kind.DOWNLOAD
    assert find("POST", ACTIONS)[0].body_limit == UPLOAD_LIMIT
    assert find("POST", "/api/agents/a/actions")[0].body_limit == UPLOAD_LIMIT
    assert find("POST", "/api/messages")[0].body_limit == JSON_LIMIT


def test_literals_come_before_variables() -> None:
    router = Router[str]()
    router.add("GET", parse_template("/a/{b}/c"), "variable")
    router.add("GET", parse_template("/a/b"), "literal")
    router.add("GET", parse_template("/a/b/{c}"), "below the literal")
    found = {path: router.find(path.encode()) for path in ("/a/b", "/a/x/c", "/a/b/c", "/a/x")}
    assert {path: match and match.by_method["GET"] for path, match in found.items()} == {
        "/a/b": "literal",
        "/a/x/c": "variable",
        "/a/b/c": "below the literal",
        "/a/x": None,
    }


@pytest.mark.parametrize(
    "path",
    [b"", b"/", b"/api", b"/api/", b"/api/agents/", b"//api/agents", b"/api/agents//history", b"/api/agents/%ff"]
    + [b"/api/agents/" + b"a" * 3000, b"api/agents", b"/api/agents/a/history/x", b"/API/agents"],
)
def test_paths_without_a_route(path: bytes) -> None:
    assert ROUTER.find(path) is None


def test_an_encoded_slash_is_part_of_a_value() -> None:
    assert find("GET", "/api/agents/a%2Fb%20c")[1] == ("a/b c",)


@given(st.binary(max_size=40))
def test_no_path_breaks_the_router(path: bytes) -> None:
    ROUTER.find(path)
    ROUTER.find(b"/api/agents/" + path)


def test_path_and_body() -> None:
    opened = read("POST", f"/api/browser/sessions/{SESSION}/tabs", body={"url": "http://a/"})
    assert opened == {
        "operation": {"session_id": SESSION, "url": "http://a/", "wait_until": "unspecified", "timeout_ms": 0}
    }
    assert read("POST", f"/api/browser/sessions/{SESSION}/close") == {
        "operation": {"session_id": SESSION, "timeout_ms": 0}
    }
    acted = read("POST", "/api/agents/a/actions", body={"tool": "browser", "op": "create_session", "args": {}})
    assert isinstance(acted, dict)
    assert acted["agent_id"] == "a"


def test_query() -> None:
    listed = read("GET", "/api/agents", [("state", "waiting"), ("page_size", "3")])
    assert listed == {"state": "waiting", "page_size": 3, "page_token": ""}
    assert read("GET", "/api/search/j/result", [("wait_ms", "5")]) == {"job_id": "j", "wait_ms": 5}


BAD_QUERIES = [
    ("state", "WAITING"),
    ("state", ""),
    ("page_size", "3.0"),
    ("page_size", "99999999999"),
    ("sta\u0000te", "x"),
    ("agent_id", "x"),
]


@pytest.mark.parametrize(("name", "text"), BAD_QUERIES)
def test_bad_queries(name: str, text: str) -> None:
    with pytest.raises(Mismatch) as caught:
        read("GET", "/api/agents", [(name, text)])
    assert caught.value.path == name


def test_a_parameter_that_takes_one_value() -> None:
    with pytest.raises(Mismatch, match="given 2 times"):
        read("GET", "/api/agents", [("page_size", "1"), ("page_size", "2")])


def test_a_query_beside_a_body_is_refused() -> None:
    with pytest.raises(Mismatch, match="there are none here"):
        read("POST", "/api/agents", [("state", "ready")], {})


CONTRADICTIONS = [
    (f"/api/browser/sessions/{SESSION}/tabs", {"session_id": "other"}, "session_id"),
    (ACTIONS, {"op": "click", "args": {"tab_id": "other"}}, "args.tab_id"),
    (ACTIONS, {"op": "list_tabs", "args": {"session_id": "other"}}, "args.session_id"),
    ("/api/agents/a/objective", {"agent_id": "b", "description": "x"}, "agent_id"),
    ("/api/browser/sessions/s/batch", {"operations": [{"op": "list_tabs", "args": {"session_id": "x"}}]}, None),
]


@pytest.mark.parametrize(("path", "body", "field"), CONTRADICTIONS)
def test_path_and_body_must_agree(path: str, body: object, field: str | None) -> None:
    with pytest.raises(Mismatch, match=r"the body says .*, the path") as caught:
        read("POST", path, body=body)
    assert field is None or caught.value.path == field


def test_the_same_value_in_path_and_body_is_fine() -> None:
    read("POST", f"/api/browser/sessions/{SESSION}/tabs", body={"session_id": SESSION})
    read("POST", ACTIONS, body={"op": "click", "args": {"tab_id": TAB, "session_id": ""}})
    read("POST", "/api/agents/a/objective", body={"agent_id": "a", "description": "x"})


def test_a_body_of_null_is_none() -> None:
    route, values = find("POST", f"/api/browser/sessions/{SESSION}/tabs")
    with pytest.raises(Mismatch, match="expected object, got null"):
        route.reader.read(values, [], None)


def test_a_contract_built_at_run_time() -> None:
    router = router_of(routes(rpcs([widget_service()])))
    shape, values = find("POST", "/widgets/shelves/7/w%2F1/shape", router)
    assert values == ("7", "w/1")
    request = shape.reader.read(values, [("dry_run", "true")], {"size": 2**40, "facts": {"a": [1, None]}})
    assert encoder(shape.rpc.method.input_type)(request) == {
        "widget": {"widget_id": "w/1", "size": 2**40, "tags": [], "facts": {"a": [1, None]}},
        "shelf": 7,
        "dry_run": True,
    }
    found, _ = find("GET", "/widgets", router)
    query = [("tags", "a"), ("ratio", "-1.5e3"), ("tags", "b"), ("exact", "false"), ("token", "/wA=")]
    assert encoder(found.rpc.method.input_type)(found.reader.read((), query, None)) == {
        "tags": ["a", "b"],
        "ratio": -1500.0,
        "exact": False,
        "token": "/wA=",
    }
    assert find("GET", "/widgets/pour", router)[0].kind is Kind.NDJSON
    assert find("GET", "/old/widgets", router)[0].result(found.rpc.response_class()) == []


@pytest.mark.parametrize(
    ("name", "rule", "message"),
    [
        ("ShapeWidget", 'post: "/w/{widget}" body: "*"', "is a message and cannot be a parameter"),
        ("ShapeWidget", 'post: "/w/{widget.nothing}" body: "*"', "has no field nothing"),
        ("ShapeWidget", 'post: "/w/{widget.tags}" body: "*"', "is a list"),
        ("ShapeWidget", 'post: "/w/{widget.widget_id=**}" body: "*"', "is not supported"),
        ("ShapeWidget", 'post: "/w/{shelf}/{shelf}" body: "*"', "names a variable twice"),
        ("ShapeWidget", 'post: "w" body: "*"', "must begin with /"),
        ("ShapeWidget", 'post: "/w" body: "nothing"', "has no field nothing"),
        ("ShapeWidget", 'post: "/w"', "nothing can set"),
        ("ShapeWidget", 'get: "/w" body: "*"', "GET takes no body"),
        ("ShapeWidget", 'custom { kind: "LOCK" path: "/w" } body: "*"', "is not supported"),
        ("FindWidgets", 'get: "/w" response_body: "nothing"', "has no field nothing"),
        ("FindWidgets", 'get: "/widgets/pour"', "bound twice"),
    ],
)
def test_a_rule_that_cannot_be_served_as_it_is_written_is_a_fault(name: str, rule: str, message: str) -> None:
    with pytest.raises(FormError, match=message):
        router_of(routes(rpcs([widget_service({name: rule})])))


FIELDS = [
    ("POST", f"/api/browser/sessions/{SESSION}/tabs", "operation.url", "url"),
    ("POST", "/api/browser/sessions", "operation.settings.http_credentials[2].origin", None),
    ("POST", ACTIONS, "operation.click.target.ref", "args.target.ref"),
    ("POST", ACTIONS, "click.target.ref", "args.target.ref"),
    ("POST", ACTIONS, "session_id", "session_id"),
    ("POST", ACTIONS, "operation.upload_file.files[3].name", "args.files[3].name"),
    ("POST", "/api/agents/a/actions", "action.browser.click.target", "args.target"),
    ("POST", "/api/agents/a/actions", "args.target.ref", "args.target.ref"),
    ("POST", "/api/browser/sessions/s/batch", "operations[1].click.target.ref", "operations[1].args.target.ref"),
    ("POST", "/api/agents", "capabilities[0].capability", "capabilities[0].capability"),
    ("GET", "/api/agents", "page_size", "page_size"),
    ("POST", ACTIONS, "nothing.of.ours", "nothing.of.ours"),
    # As a service names them that runs the operation.
    ("POST", ACTIONS, "key", "args.key"),
    ("POST", ACTIONS, "network_policy.egress_domains", "args.network_policy.egress_domains"),
    ("POST", "/api/agents/a/actions", "delta_y", "args.delta_y"),
    ("POST", "/api/browser/sessions", "network_policy.egress_domains", "network_policy.egress_domains"),
    ("POST", ACTIONS, "", ""),
]


@pytest.mark.parametrize(("verb", "path", "field", "written"), FIELDS, ids=range(len(FIELDS)))
def test_fields_are_named_as_the_caller_wrote_them(verb: str, path: str, field: str, written: str | None) -> None:
    expected = field.removeprefix("operation.") if written is None else written
    assert find(verb, path)[0].names.as_written(field) == expected


def test_only_complaints_about_fields_are_translated() -> None:
    names = find("POST", ACTIONS)[0].names
    code = ErrorCode.ERROR_CODE_INVALID_ARGUMENTS
    complaint = Refusal(code, "click.count: too many", details={"fields": [{"field": "click.count", "problem": "x"}]})
    translated = names.translate(complaint)
    assert translated.message == "args.count: too many"
    assert translated.details == {"fields": [{"field": "args.count", "problem": "x"}]}
    assert translated.hint == complaint.hint
    for other in (Refusal(code, "click.count: x"), Refusal(code, "x", details={"fields": "odd"})):
        assert names.translate(other).message == other.message
    stale = Refusal(ErrorCode.ERROR_CODE_STALE_REF, "click.count: x", details={"fields": [{"field": "click"}]})
    assert names.translate(stale) is stale
