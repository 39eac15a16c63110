"""Agents as a planner meets them: every transition, all five limits (SPEC §6)."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from tests.acting import CORE, ActingAgent, grants_for
from tests.rest_client import Reply, RestClient
from tests.running_system import RunningSystem
from tests.site import Site
from tests.waiting import until

_FOUR_PICTURES = "<title>Four</title>" + "".join(f"<img src='/picture-{each}'>" for each in range(4))


@pytest.fixture
def rest(shared_system: RunningSystem) -> RestClient:
    return shared_system.rest


@pytest.fixture
def agents(rest: RestClient) -> Iterator[list[ActingAgent]]:
    """What is put in is terminated afterwards, so that its sessions close."""
    made: list[ActingAgent] = []
    yield made
    for agent in made:
        rest.post(f"/api/agents/{agent.agent_id}/terminate")


def create(rest: RestClient, agents: list[ActingAgent], grants: list[object], **more: object) -> ActingAgent:
    agent = ActingAgent.create(rest, grants, **more)
    agents.append(agent)
    return agent


def assert_tripped(refused: Reply, agent: ActingAgent, which: str, limit: int) -> dict[str, Any]:
    """The call was refused by this limit, the agent has failed by it, the log says so; returns the error's details."""
    assert (refused.status, refused.error_code) == (429, "limit_exceeded"), refused.body
    details = refused.json["error"]["details"]
    assert (details["which"], details["limit"]) == (which, limit)
    assert details["value"] >= limit
    now = agent.get()
    assert now["state"] == "failed"
    assert which in now["failure_reason"]
    failed = [event for event in agent.events() if event["category"] == "agent.failed"]
    assert [event["data"]["which"] for event in failed] == [which]
    return details


# limits


def test_max_actions_fails_the_agent(rest: RestClient, agents: list[ActingAgent]) -> None:
    agent = create(rest, agents, ["message"], limits={"max_actions": 2})
    for _ in range(2):
        assert tell(agent).status == 200
    details = assert_tripped(tell(agent), agent, "max_actions", 2)
    assert details["value"] == 2
    assert agent.get()["usage"]["actions"] == 2


def tell(agent: ActingAgent, text: str = "hello", recipient: str = "user:somebody") -> Reply:
    action = {"tool": "message", "op": "send", "args": {"recipient": recipient, "payload": {"text": text}}}
    return agent.rest.post(f"/api/agents/{agent.agent_id}/actions", action)


def test_max_execution_ms_fails_the_agent(rest: RestClient, agents: list[ActingAgent]) -> None:
    agent = create(rest, agents, ["message"], limits={"max_execution_ms": 50})
    assert tell(agent).status == 200

    def elapsed() -> bool:
        return rest.get(f"/api/agents/{agent.agent_id}").json["usage"]["elapsed_ms"] >= 50

    until(elapsed, "the agent's time used up")
    assert_tripped(tell(agent), agent, "max_execution_ms", 50)


def test_max_network_requests_fails_the_agent(rest: RestClient, agents: list[ActingAgent], site: Site) -> None:
    # The document, four pictures, and a favicon perhaps: five at least.
    agent = create(rest, agents, grants_for(site), limits={"max_network_requests": 5})
    agent.start(site.put("/four", _FOUR_PICTURES))
    session = rest.get(f"/api/browser/sessions/{agent.session_id}").json
    assert session["network_requests"] >= 5 == len(site.hits())
    assert agent.get()["usage"]["network_requests"] == session["network_requests"]
    details = assert_tripped(agent.on_tab("read_page"), agent, "max_network_requests", 5)
    assert details["value"] == session["network_requests"]


def test_requests_are_those_that_the_network_saw(rest: RestClient, agents: list[ActingAgent], site: Site) -> None:
    """Redirect hops and a worker's requests count, answers of the cache do not."""
    headers = {"cache-control": "max-age=600"}
    site.put("/kept", "kept", content_type="text/css", headers=headers)
    site.put("/worker.js", "fetch('/by-worker').then(() => postMessage('done'))", content_type="text/javascript")
    site.put("/page", "<title>Page</title><link rel=icon href='data:,'><link rel=stylesheet href='/kept'>")
    working = "<title>busy</title><link rel=icon href='data:,'><script>new Worker('/worker.js').onmessage = "
    site.put("/working", f"{working}() => document.title = 'done'</script>")
    agent = create(rest, agents, grants_for(site))
    agent.start(site.url("/page"))
    assert agent.on_tab("navigate", url=site.url("/redirect?to=/page")).status == 200
    assert len(site.hits("/kept")) == 1
    assert agent.on_tab("navigate", url=site.url("/working"), wait_until="networkidle").status == 200
    until(lambda: agent.on_tab("read_page").result["title"] == "done", "the worker's request answered")
    assert agent.get()["usage"]["network_requests"] == len(site.hits()), [hit.path for hit in site.hits()]


def test_requests_are_counted_on_after_a_crash(system: RunningSystem, site: Site) -> None:
    agent = ActingAgent.create(system.rest, grants_for(site)).start(site.put("/four", _FOUR_PICTURES))
    before = system.rest.get(f"/api/browser/sessions/{agent.session_id}").json["network_requests"]
    assert before >= 5
    killed = system.kill("browser")
    system.wait_healed("browser", killed)

    def restored() -> bool:
        reply = system.rest.get(f"/api/browser/sessions/{agent.session_id}")
        return reply.status == 200 and reply.json["status"] == "ready" and reply.json["network_requests"] > before

    until(restored, "the session back, its document's requests added to those before", 15)
    assert agent.on_tab("read_page").status == 200
    assert agent.get()["usage"]["network_requests"] > before


def test_max_search_iterations_fails_the_agent(rest: RestClient, agents: list[ActingAgent]) -> None:
    agent = create(rest, agents, ["search"], limits={"max_search_iterations": 1})
    search = {"tool": "search", "op": "search", "args": {"query": "how browsers isolate pages"}}
    path = f"/api/agents/{agent.agent_id}/actions"
    assert rest.post(path, search).status == 200
    assert agent.get()["usage"]["search_iterations"] == 1
    assert_tripped(rest.post(path, search), agent, "max_search_iterations", 1)


def test_max_repeats_warns_and_then_fails_the_agent(rest: RestClient, agents: list[ActingAgent], site: Site) -> None:
    agent = create(rest, agents, grants_for(site), limits={"max_repeats": 3})
    agent.start(site.put("/page", "<title>Still</title><p>Nothing changes here.</p>"))
    warnings = [agent.on_tab("read_page").json["warning"] for _ in range(3)]
    assert [bool(warning) for warning in warnings] == [False, True, False]
    assert "max_repeats" in warnings[1]
    details = assert_tripped(agent.on_tab("read_page"), agent, "max_repeats", 3)
    assert details["value"] == 3


def test_repeats_that_fail_count_and_another_action_breaks_the_row(
    rest: RestClient, agents: list[ActingAgent], site: Site
) -> None:
    agent = create(rest, agents, grants_for(site), limits={"max_repeats": 2})
    agent.start(site.put("/page", "<title>Still</title>"))
    missing = {"target": {"selector": "#missing"}, "timeout_ms": 200}
    assert "max_repeats" in agent.on_tab("click", **missing).json["error"]["details"]["warning"]
    assert agent.on_tab("read_page").status == 200
    assert "max_repeats" in agent.on_tab("click", **missing).json["error"]["details"]["warning"]
    assert "warning" not in agent.on_tab("click", **missing).json["error"]["details"]
    assert_tripped(agent.on_tab("click", **missing), agent, "max_repeats", 2)


# transitions


def test_created_becomes_ready_by_an_objective(rest: RestClient, agents: list[ActingAgent]) -> None:
    agent = create(rest, agents, ["message"])
    assert agent.get()["state"] == "created"
    given = rest.post(f"/api/agents/{agent.agent_id}/objective", {"description": "say hello"}).result
    assert (given["state"], given["objective"]["description"]) == ("ready", "say hello")
    assert tell(agent).status == 200
    assert agent.get()["state"] == "planning"
    assert agent.categories()[:3] == ["agent.created", "agent.objective.assigned", "agent.action.started"]


def test_an_agent_with_an_objective_is_made_ready(rest: RestClient, agents: list[ActingAgent]) -> None:
    objective = {"description": "say hello", "success_criteria": ["somebody was greeted"]}
    agent = create(rest, agents, ["message"], objective=objective)
    now = agent.get()
    assert now["state"] == "ready"
    assert now["objective"]["success_criteria"] == ["somebody was greeted"]


def test_created_acts_at_once(rest: RestClient, agents: list[ActingAgent]) -> None:
    agent = create(rest, agents, ["message"])
    assert tell(agent).status == 200
    assert agent.get()["state"] == "planning"


def test_a_created_agent_has_nothing_to_complete(rest: RestClient, agents: list[ActingAgent]) -> None:
    agent = create(rest, agents, ["message"])
    refused = rest.post(f"/api/agents/{agent.agent_id}/complete", {"result": {}})
    assert (refused.status, refused.error_code) == (409, "wrong_state")


def test_a_slow_action_is_waiting_and_then_planning(rest: RestClient, agents: list[ActingAgent], site: Site) -> None:
    agent = create(rest, agents, grants_for(site)).start(site.put("/page", "<title>Page</title>"))
    with ThreadPoolExecutor(1) as pool:
        slow = pool.submit(agent.on_tab, "navigate", url=site.url("/hold"))
        until(lambda: site.hits("/hold"), "the navigation under way")
        assert agent.get()["state"] == "waiting"
        site.release()
        assert slow.result(30).status == 200
    assert agent.get()["state"] == "planning"


def test_terminate_breaks_a_running_action_off(rest: RestClient, agents: list[ActingAgent], site: Site) -> None:
    agent = create(rest, agents, grants_for(site)).start(site.put("/page", "<title>Page</title>"))
    with ThreadPoolExecutor(1) as pool:
        slow = pool.submit(agent.on_tab, "navigate", url=site.url("/hold"))
        until(lambda: site.hits("/hold"), "the navigation under way")
        ended = rest.post(f"/api/agents/{agent.agent_id}/terminate", {"reason": "enough"}).result
        assert (ended["state"], ended["failure_reason"]) == ("terminated", "enough")
        assert slow.result(30).error_code == "cancelled"
    until(lambda: agent.categories().count("agent.action.failed") == 1, "the action's outcome on the log")


_ENDS: dict[str, tuple[str, dict[str, object]]] = {
    "completed": ("complete", {"result": {"found": 1}}),
    "failed": ("fail", {"reason": "no luck"}),
    "terminated": ("terminate", {"reason": "enough"}),
}


@pytest.mark.parametrize("state", list(_ENDS))
def test_what_has_ended_refuses_everything_but_reading(rest: RestClient, agents: list[ActingAgent], state: str) -> None:
    agent = create(rest, agents, ["message"], objective={"description": "end"})
    assert tell(agent).status == 200
    verb, body = _ENDS[state]
    assert rest.post(f"/api/agents/{agent.agent_id}/{verb}", body).result["state"] == state
    assert f"agent.{state}" in agent.categories()
    for path, sent in (
        ("actions", {"tool": "message", "op": "list"}),
        ("objective", {"description": "more"}),
        *_ENDS.values(),
    ):
        refused = rest.post(f"/api/agents/{agent.agent_id}/{path}", sent)
        assert (refused.status, refused.error_code) == (409, "wrong_state"), path
        assert refused.json["error"]["details"]["state"] == state
    ended = agent.get()
    assert ended["state"] == state
    assert (ended["result"], ended["failure_reason"]) == {
        "completed": ({"found": 1}, ""),
        "failed": (None, "no luck"),
        "terminated": (None, "enough"),
    }[state]
    assert rest.get(f"/api/agents/{agent.agent_id}/history").json["actions"][0]["outcome"] == "ok"


def test_agents_are_listed_by_state(rest: RestClient, agents: list[ActingAgent]) -> None:
    agent = create(rest, agents, ["message"])
    assert agent.agent_id in listed(rest, "created")
    rest.post(f"/api/agents/{agent.agent_id}/terminate")
    assert agent.agent_id not in listed(rest, "created")
    assert agent.agent_id in listed(rest, "terminated")


def listed(rest: RestClient, state: str) -> list[str]:
    reply = rest.get(f"/api/agents?state={state}&page_size=200")
    assert reply.status == 200, reply.body
    return [agent["agent_id"] for agent in reply.json["agents"]]


# the worked example of the source document's section 6, in this product's shape


def test_an_action_goes_the_whole_way_step_by_step(rest: RestClient, agents: list[ActingAgent], site: Site) -> None:
    """A navigation: limits, grant, arguments, started, navigation, outcome; and each way of being refused."""
    url = site.put("/there", "<title>There</title>")
    rule = f"127.0.0.1:{site.port}"
    agent = create(rest, agents, [*CORE, {"navigate": {"allowed_domains": [rule]}}], limits={"max_actions": 3})
    session_id = agent.act("create_session").result["session_id"]
    tab_id = agent.act("open_tab", session_id=session_id).result["tab_id"]
    before = len(agent.events())

    # Not granted: rejected, no browser hears of it, the agent is where it was.
    elsewhere = agent.act("navigate", tab_id=tab_id, url=f"http://localhost:{site.port}/there")
    assert (elsewhere.status, elsewhere.error_code) == (403, "not_authorized")
    # Not an argument: the same.
    scripted = agent.act("navigate", tab_id=tab_id, url="javascript:alert(1)")
    assert (scripted.status, scripted.error_code) == (400, "invalid_arguments")
    assert agent.categories()[before:] == ["agent.action.rejected"] * 2
    assert [event["data"]["code"] for event in agent.events()[before:]] == ["not_authorized", "invalid_arguments"]
    assert site.hits() == []
    assert (agent.get()["state"], agent.get()["action_count"]) == ("planning", 2)

    # Granted and well-formed: started, the browser's own pair, completed, and planning again.
    went = agent.act("navigate", tab_id=tab_id, url=url)
    assert went.result["changed"]["url"] == url
    assert agent.categories()[before + 2 :] == [
        "agent.action.started",
        "browser.navigation.started",
        "browser.navigation.completed",
        "agent.action.completed",
    ]
    events = agent.events()[before + 2 :]
    assert {event["session_id"] for event in events[1:3]} == {session_id}
    assert events[0]["subject"] == events[3]["subject"] == went.json["action_id"]
    assert {event["request_id"] for event in events} == {went.json["request_id"]}
    assert (events[3]["data"]["op"], events[3]["data"]["outcome"]) == ("navigate", "ok")
    assert len(site.hits("/there")) == 1

    # A limit: the agent fails, and its caller hears an error.
    assert_tripped(agent.act("navigate", tab_id=tab_id, url=url), agent, "max_actions", 3)
    assert len(site.hits("/there")) == 1
