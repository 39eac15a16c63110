"""The record as its readers meet it: resuming, filters, tenants, the count cap, operations, idempotency keys."""

from __future__ import annotations

import json
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any
from urllib.parse import urlencode

import grpc
import pytest
from hyperkitty.client.connection import Connection
from hyperkitty.events.v1 import event_service_pb2 as pb
from websockets.sync.client import ClientConnection, connect

from tests.acting import Person
from tests.rest_client import RestClient
from tests.running_system import RunningSystem
from tests.site import Site
from tests.waiting import until

SECONDS = 15.0


@pytest.fixture
def rest(shared_system: RunningSystem) -> RestClient:
    return shared_system.rest


def make_agent(rest: RestClient) -> str:
    """An agent that was made and terminated: two events."""
    agent_id = rest.post("/api/agents", {"capabilities": ["message"]}).result["agent_id"]
    assert rest.post(f"/api/agents/{agent_id}/terminate").status == 200
    return agent_id


def sequences(rest: RestClient, subject: str) -> list[int]:
    events = rest.get(f"/api/events/recent?subject={subject}").json["events"]
    return sorted(event["sequence"] for event in events)


@contextmanager
def socket(rest: RestClient, url: str, **query: object) -> Generator[ClientConnection]:
    address = f"{url.replace('http', 'ws', 1)}/api/events/stream?{urlencode(query)}"
    headers = {"authorization": f"Bearer {rest.token}"}
    with connect(address, additional_headers=headers, open_timeout=SECONDS) as connection:
        yield connection


def received(connection: ClientConnection, number: int) -> list[dict[str, Any]]:
    """The next events, at least `number` of them."""
    events: list[dict[str, Any]] = []
    while len(events) < number:
        events += json.loads(connection.recv(SECONDS)).get("events", [])
    return events


# streams


def test_a_websocket_resumes_after_a_sequence(shared_system: RunningSystem, rest: RestClient) -> None:
    url = shared_system.state["rest_url"]
    first = make_agent(rest)
    seen = sequences(rest, first)
    with socket(rest, url, subject=first, after_sequence=0) as connection:
        assert [event["category"] for event in received(connection, 2)] == ["agent.created", "agent.terminated"]
    with socket(rest, url, subject=first, after_sequence=seen[0]) as connection:
        assert [event["sequence"] for event in received(connection, 1)] == seen[1:]
    # While nobody was connected something happened: a reader that resumes misses and repeats nothing.
    second = make_agent(rest)
    with socket(rest, url, category_prefix="agent", after_sequence=seen[1]) as connection:
        late = make_agent(rest)
        wanted = [*sequences(rest, second), *sequences(rest, late)]
        assert [event["sequence"] for event in received(connection, 4) if event["agent_id"] in (second, late)] == wanted


async def test_grpc_resumes_after_a_sequence(shared_system: RunningSystem, rest: RestClient) -> None:
    agent_id = make_agent(rest)
    seen = sequences(rest, agent_id)
    async with Connection(shared_system.state["grpc_target"], shared_system.state["token"]) as client:
        request = pb.StreamEventsRequest(subject=agent_id, after_sequence=seen[0])
        call = client.events.StreamEvents(request, timeout=SECONDS)
        found: list[int] = []
        async for part in call:
            found += [event.sequence for event in part.events]
            if found:
                break
        call.cancel()
    assert found == seen[1:]


def test_a_category_prefix_is_whole_tokens(rest: RestClient) -> None:
    agent_id = make_agent(rest)

    def categories(prefix: str) -> list[str]:
        reply = rest.get(f"/api/events/recent?category_prefix={prefix}&subject={agent_id}")
        assert reply.status == 200, reply.body
        return [event["category"] for event in reply.json["events"]]

    assert categories("agent") == categories("agent.") == ["agent.terminated", "agent.created"]
    assert categories("agent.created") == ["agent.created"]
    assert categories("agent.crea") == categories("age") == categories("browser") == []
    assert rest.get("/api/events/recent?category_prefix=Agent*").error_code == "invalid_arguments"
    assert rest.get("/api/events/recent?limit=1001").error_code == "invalid_arguments"


def test_the_subject_filter_finds_agent_and_session(rest: RestClient) -> None:
    agent_id = rest.post("/api/agents", {"capabilities": ["create_session"]}).result["agent_id"]
    action = {"tool": "browser", "op": "create_session"}
    acted = rest.post(f"/api/agents/{agent_id}/actions", action)
    session_id, action_id = acted.result["session_id"], acted.json["action_id"]
    assert rest.post(f"/api/agents/{agent_id}/terminate").status == 200
    of_agent, of_session = set(sequences(rest, agent_id)), set(sequences(rest, session_id))
    assert of_session < of_agent | of_session
    assert set(sequences(rest, action_id)) < of_agent
    made = rest.get(f"/api/events/recent?category_prefix=browser.session.created&subject={session_id}").json["events"]
    assert [(event["agent_id"], event["session_id"]) for event in made] == [(agent_id, session_id)]


def test_export_is_the_whole_log_in_order(rest: RestClient) -> None:
    agent_id = make_agent(rest)
    reply = rest.get(f"/api/events/export?subject={agent_id}")
    lines = [json.loads(line) for line in reply.body.decode().splitlines()]
    assert [line["category"] for line in lines] == ["agent.created", "agent.terminated"]
    assert [line["sequence"] for line in lines] == sequences(rest, agent_id)
    since = f"/api/events/export?subject={agent_id}&after_sequence={lines[0]['sequence']}"
    assert [json.loads(line)["category"] for line in rest.get(since).body.decode().splitlines()] == ["agent.terminated"]


def test_a_tenant_sees_its_own_events(shared_system: RunningSystem, rest: RestClient) -> None:
    wanted = {"tenant": "elsewhere", "services": ["agent", "events", "operations"]}
    token = rest.post("/api/tokens", wanted).result["token"]
    other = RestClient(shared_system.state["rest_url"], token)
    ours, theirs = make_agent(rest), make_agent(other)
    assert sequences(other, ours) == []
    assert len(sequences(other, theirs)) == 2 == len(sequences(rest, theirs))
    assert {event["tenant"] for event in other.get("/api/events/recent").json["events"]} == {"elsewhere"}
    assert other.get(f"/api/agents/{ours}").error_code == "not_found"
    assert other.get(f"/api/operations?subject={ours}").json["operations"] == []
    assert [each["kind"] for each in other.get(f"/api/operations?subject={theirs}").json["operations"]] == [
        "terminate_agent",
        "create_agent",
    ]
    with socket(other, shared_system.state["rest_url"], after_sequence=0) as connection:
        assert {event["tenant"] for event in received(connection, 2)} == {"elsewhere"}


def test_the_log_keeps_no_more_than_its_count(tmp_path_factory: pytest.TempPathFactory) -> None:
    environment = {"HYPERKITTY_EVENTS_MAX_COUNT": "20"}
    system = RunningSystem(tmp_path_factory.mktemp("home"), environment=environment).wait_ready()
    try:
        rest = system.rest
        agents = [make_agent(rest) for _ in range(15)]
        until(lambda: len(recent(rest)) == 20, "the log at its count")
        newest = recent(rest)
        assert [event["subject"] for event in newest[:2]] == [agents[-1]] * 2
        assert newest[0]["sequence"] - newest[-1]["sequence"] == 19
        with socket(rest, system.state["rest_url"], after_sequence=1) as connection:
            gap = json.loads(connection.recv(SECONDS))["gap"]
            assert (gap["from_sequence"], gap["reason"]) == (2, "expired")
            assert received(connection, 1)[0]["sequence"] == gap["to_sequence"] + 1
    finally:
        system.stop()


def recent(rest: RestClient) -> list[dict[str, Any]]:
    return rest.get("/api/events/recent?limit=1000").json["events"]


# the browser's part of the catalogue, as a person works


def test_what_a_person_does_is_told_by_its_category(rest: RestClient, site: Site) -> None:
    person = Person.start(rest, site.put("/page", "<title>Page</title><p style='height: 4000px'>Long</p>"))
    assert person.act("query_element", target={"selector": "p"}).status == 200
    assert person.act("scroll", delta_y=400).status == 200
    nowhere = rest.post(f"/api/browser/sessions/{person.session_id}/tabs", {"url": "http://127.0.0.1:1/"})
    assert nowhere.error_code in ("navigation_failed", "request_blocked")
    assert rest.post(f"{person.path}/close").status == 200
    person.close()
    told = [
        event["category"]
        for event in rest.get(f"/api/events/recent?subject={person.session_id}&limit=1000").json["events"]
        if not event["category"].startswith("browser.request")
    ]
    wanted = [
        "browser.action.started",
        "browser.session.created",
        "browser.navigation.started",
        "browser.tab.opened",
        "browser.element.queried",
        "browser.action.started",
        "browser.action.scroll",
        "browser.navigation.started",
        "browser.tab.open_failed",
        "browser.action.started",
        "browser.tab.closed",
        "browser.action.started",
        "browser.session.closed",
    ]
    assert [each for each in reversed(told) if each in wanted] == wanted


# operations


def test_operations_are_listed_with_filters(rest: RestClient) -> None:
    agent_id = make_agent(rest)
    refused = rest.post(f"/api/agents/{agent_id}/complete", {"result": {}})

    def listed(query: str) -> list[tuple[str, str]]:
        reply = rest.get(f"/api/operations?subject={agent_id}{query}")
        assert reply.status == 200, reply.body
        return [(each["kind"], each["status"]) for each in reply.json["operations"]]

    assert listed("") == [
        ("complete_agent", "failed"),
        ("terminate_agent", "succeeded"),
        ("create_agent", "succeeded"),
    ]
    assert listed("&status=failed") == [("complete_agent", "failed")]
    assert listed("&kind=create_agent") == [("create_agent", "succeeded")]
    assert listed("&kind=create_agent&status=failed") == []
    first = rest.get(f"/api/operations?subject={agent_id}&page_size=2").json
    second = rest.get(f"/api/operations?subject={agent_id}&page_token={first['next_page_token']}").json
    assert [each["kind"] for each in second["operations"]] == ["create_agent"]
    failed = rest.get(f"/api/operations/{refused.json['operation_id']}").json
    assert (failed["error"]["code"], failed["request_id"]) == ("wrong_state", refused.json["request_id"])
    assert rest.get("/api/operations/op_01ARZ3NDEKTSV4RRFFQ69G5FAV").error_code == "not_found"


# idempotency keys


def test_a_repeat_gets_the_first_answer(rest: RestClient) -> None:
    body = {"capabilities": ["message"], "objective": {"description": "once"}}
    key = {"idempotency-key": "make-once-1"}
    first = rest.post("/api/agents", body, key)
    repeat = rest.post("/api/agents", body, key)
    assert first.result == repeat.result
    assert first.json["operation_id"] == repeat.json["operation_id"]
    created = rest.get(f"/api/events/recent?category_prefix=agent.created&subject={first.result['agent_id']}").json
    assert len(created["events"]) == 1
    other = rest.post("/api/agents", {"capabilities": ["search"]}, key)
    assert (other.status, other.error_code) == (409, "already_exists")
    # Another method has keys of its own, and so has another key of the same method.
    assert rest.post("/api/agents", body, {"idempotency-key": "make-once-2"}).result != first.result
    path = f"/api/agents/{first.result['agent_id']}/terminate"
    assert rest.post(path, {"reason": "done"}, key).result["state"] == "terminated"
    assert rest.post(path, {"reason": "done"}, key).result["state"] == "terminated"
    assert rest.post(path, {"reason": "done"}).error_code == "wrong_state"


def test_a_refusal_is_repeated_as_well(rest: RestClient) -> None:
    agent_id = make_agent(rest)
    key = {"idempotency-key": "refused-once"}
    first = rest.post(f"/api/agents/{agent_id}/complete", {"result": {}}, key)
    again = rest.post(f"/api/agents/{agent_id}/complete", {"result": {}}, key)
    assert first.error_code == again.error_code == "wrong_state"
    assert first.json["operation_id"] == again.json["operation_id"]
    assert rest.post("/api/agents", {}, {"idempotency-key": "a b"}).error_code == "invalid_arguments"


async def test_a_wrong_filter_is_refused_over_grpc(shared_system: RunningSystem) -> None:
    async with Connection(shared_system.state["grpc_target"], shared_system.state["token"]) as client:
        with pytest.raises(grpc.aio.AioRpcError) as refused:
            await client.events.ListRecentEvents(pb.ListRecentEventsRequest(category_prefix="A*"), timeout=SECONDS)
    assert refused.value.code() == grpc.StatusCode.INVALID_ARGUMENT
