"""The main job over REST, on every real part: an agent works on a page, and what is not granted does not happen."""

from __future__ import annotations

import base64
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.acting import ActingAgent, Person, grants_for
from tests.running_system import RunningSystem
from tests.site import Site
from tests.waiting import until

FORM = """<title>Form</title><form action=/done><label>Name <input name=who></label><button>Send</button></form>
<a href=/second>Second page</a> <a href=/second#again>Second page again</a>"""


@pytest.fixture
def form(site: Site) -> Site:
    site.put("/form", FORM)
    site.put("/done", "<title>Done</title><p>Thank you.</p>")
    site.put("/second", "<title>Second</title><p>The second page.</p>")
    return site


def test_an_agent_does_its_job_and_all_of_it_is_on_the_record(shared_system: RunningSystem, form: Site) -> None:
    agent = ActingAgent.create(shared_system.rest, grants_for(form)).start(form.url("/form"))
    snapshot = agent.on_tab("read_page", format="snapshot").result["content"]
    assert "Name" in snapshot
    assert "Send" in snapshot
    typed = agent.on_tab("type", target={"role": "textbox", "name": "Name"}, text="Ada Lovelace").result
    assert typed["value"] == "Ada Lovelace"
    links = agent.on_tab("extract_links").result["links"]
    assert [link["text"] for link in links] == ["Second page", "Second page again"]
    assert links[0]["url"] == form.url("/second")
    image = base64.b64decode(agent.on_tab("screenshot").result["image"])
    assert image.startswith(b"\x89PNG\r\n\x1a\n")
    clicked = agent.on_tab("click", target={"role": "button", "name": "Send"}).result
    assert clicked["changed"]["url"] == form.url("/done?who=Ada+Lovelace")
    assert [hit.query for hit in form.hits("/done")] == ["who=Ada+Lovelace"]
    assert agent.on_tab("read_page", format="text").result["content"].strip() == "Thank you."
    done = agent.rest.post(f"/api/agents/{agent.agent_id}/complete", {"result": {"thanked": True}}).result
    assert (done["state"], done["result"]) == ("completed", {"thanked": True})

    # Two events for a write, one for a read, and through an agent started and completed around them (SPEC §9).
    categories = agent.categories()
    assert categories[: categories.index("agent.completed") + 1] == [
        "agent.created",
        *("agent.action.started", "browser.action.started", "browser.session.created", "agent.action.completed"),
        *("agent.action.started", "browser.navigation.started", "browser.tab.opened", "agent.action.completed"),
        *("agent.action.started", "browser.page.read", "agent.action.completed"),
        *("agent.action.started", "browser.action.started", "browser.action.type", "agent.action.completed"),
        *("agent.action.started", "browser.links.extracted", "agent.action.completed"),
        *("agent.action.started", "browser.screenshot.captured", "agent.action.completed"),
        *("agent.action.started", "browser.action.started", "browser.action.click", "agent.action.completed"),
        *("agent.action.started", "browser.page.read", "agent.action.completed"),
        "agent.completed",
    ]
    sequences = [event["sequence"] for event in agent.events()]
    assert sequences == sorted(sequences)


def test_what_an_operation_did_is_on_the_log_before_its_answer(shared_system: RunningSystem, form: Site) -> None:
    person = Person.start(shared_system.rest, form.url("/form"))
    answer = person.act("click", target={"text": "Second page", "nth": 0})
    operation_id = answer.json["operation_id"]
    recent = shared_system.rest.get(f"/api/events/recent?subject={person.tab_id}&limit=2").json["events"]
    assert [(event["category"], event["operation_id"]) for event in recent] == [
        ("browser.action.click", operation_id),
        ("browser.action.started", operation_id),
    ]
    operation = shared_system.rest.get(f"/api/operations/{operation_id}").json
    assert (operation["kind"], operation["status"], operation["subject"]) == ("click", "succeeded", person.tab_id)
    person.close()


@pytest.mark.parametrize("host", ["localhost", "127.0.0.2"])
def test_a_refused_navigation_reaches_no_browser(shared_system: RunningSystem, form: Site, host: str) -> None:
    agent = ActingAgent.create(shared_system.rest, grants_for(form)).start(form.url("/form"))
    before = form.hits()
    refused = agent.on_tab("navigate", url=f"http://{host}:{form.port}/second")
    assert (refused.status, refused.error_code) == (403, "not_authorized")
    assert form.hits() == before
    assert agent.categories()[-1] == "agent.action.rejected"
    assert agent.get()["state"] == "planning"
    agent.rest.post(f"/api/agents/{agent.agent_id}/terminate")


def test_an_operation_without_a_grant_reaches_no_page(shared_system: RunningSystem, site: Site) -> None:
    page = "<title>T</title><button onclick=\"fetch('/clicked')\">Go</button>"
    grants = ["create_session", "open_tab", "read_page", {"navigate": {"allowed_domains": [f"127.0.0.1:{site.port}"]}}]
    agent = ActingAgent.create(shared_system.rest, grants).start(site.put("/page", page))
    refused = agent.on_tab("click", target={"role": "button", "name": "Go"})
    assert (refused.status, refused.error_code) == (403, "not_authorized")
    assert site.hits("/clicked") == []
    assert "browser.action.started" not in agent.categories()[-2:]
    agent.rest.post(f"/api/agents/{agent.agent_id}/terminate")


def test_a_bad_argument_is_refused_field_by_field_and_recorded(shared_system: RunningSystem, form: Site) -> None:
    agent = ActingAgent.create(shared_system.rest, grants_for(form)).start(form.url("/form"))
    refused = agent.on_tab("navigate", url="javascript:alert(1)")
    assert (refused.status, refused.error_code) == (400, "invalid_arguments")
    assert "url" in str(refused.json["error"]["details"])
    assert agent.categories()[-1] == "agent.action.rejected"
    agent.rest.post(f"/api/agents/{agent.agent_id}/terminate")


def test_max_actions_fails_the_agent_with_an_error(shared_system: RunningSystem) -> None:
    agent = ActingAgent.create(shared_system.rest, ["create_session"], limits={"max_actions": 1})
    assert agent.act("create_session").result["status"] == "ready"
    refused = agent.act("create_session")
    assert (refused.status, refused.error_code) == (429, "limit_exceeded")
    assert refused.json["error"]["details"]["limit"] == 1
    assert agent.get()["state"] == "failed"


def test_an_agent_cannot_use_another_agents_session(shared_system: RunningSystem, form: Site) -> None:
    owner = ActingAgent.create(shared_system.rest, grants_for(form)).start(form.url("/form"))
    other = ActingAgent.create(shared_system.rest, grants_for(form))
    refused = other.act("read_page", tab_id=owner.tab_id)
    assert (refused.status, refused.error_code) == (403, "not_authorized")
    owner.rest.post(f"/api/agents/{owner.agent_id}/terminate")


def test_a_loopback_page_needs_a_rule_for_a_persons_session_of_an_agent(
    shared_system: RunningSystem, form: Site
) -> None:
    agent = ActingAgent.create(shared_system.rest, ["create_session", "open_tab", "navigate"])
    session_id = agent.act("create_session").result["session_id"]
    refused = agent.act("open_tab", session_id=session_id, url=form.url("/form"))
    assert (refused.status, refused.error_code) == (403, "request_blocked")
    assert form.hits() == []
    agent.rest.post(f"/api/agents/{agent.agent_id}/terminate")


def test_two_actions_at_once_are_one_action_and_a_refusal(shared_system: RunningSystem, site: Site) -> None:
    agent = ActingAgent.create(shared_system.rest, grants_for(site)).start(site.put("/page", "<title>T</title>"))
    with ThreadPoolExecutor(1) as pool:
        slow = pool.submit(agent.on_tab, "navigate", url=site.url("/hold"))
        until(lambda: site.hits("/hold"), "the navigation under way")
        assert agent.get()["state"] == "waiting"
        second = agent.on_tab("read_page")
        assert (second.status, second.error_code) == (409, "wrong_state")
        site.release()
        assert slow.result(30).result["changed"]["url"] == site.url("/hold")
    agent.rest.post(f"/api/agents/{agent.agent_id}/terminate")


def test_a_session_is_given_to_an_agent_whose_grants_hold_it(shared_system: RunningSystem, form: Site) -> None:
    rest = shared_system.rest
    person = Person.start(rest, form.url("/form"))
    path = f"/api/browser/sessions/{person.session_id}/owner"
    narrow = ActingAgent.create(rest, ["read_page", {"navigate": {"allowed_domains": ["example.com"]}}])
    refused = rest.post(path, {"owner_agent_id": narrow.agent_id})
    assert (refused.status, refused.error_code) == (403, "not_authorized")
    wide = ActingAgent.create(rest, ["read_page", "navigate"])
    assert rest.post(path, {"owner_agent_id": wide.agent_id}).error_code == "not_authorized"

    scoped = {"allowed_domains": [f"127.0.0.1:{form.port}"]}
    session_id = rest.post("/api/browser/sessions", {"network_policy": scoped}).result["session_id"]
    tab_id = rest.post(f"/api/browser/sessions/{session_id}/tabs", {"url": form.url("/form")}).result["tab_id"]
    agent = ActingAgent.create(rest, grants_for(form))
    assert agent.act("read_page", tab_id=tab_id).error_code == "not_authorized"
    given = rest.post(f"/api/browser/sessions/{session_id}/owner", {"owner_agent_id": agent.agent_id}).result
    assert given["owner_agent_id"] == agent.agent_id
    assert agent.act("read_page", tab_id=tab_id).status == 200
    taken = rest.post(f"/api/browser/sessions/{session_id}/owner", {"owner_agent_id": ""}).result
    assert taken["owner_agent_id"] == ""
    assert agent.act("read_page", tab_id=tab_id).error_code == "not_authorized"
    assert rest.post(f"/api/browser/sessions/{session_id}/close").status == 200
    person.close()


def test_a_session_made_for_an_agent_is_as_narrow_as_its_grants(shared_system: RunningSystem, form: Site) -> None:
    rest = shared_system.rest
    agent = ActingAgent.create(rest, grants_for(form))
    made = rest.post("/api/browser/sessions", {"owner_agent_id": agent.agent_id}).result
    assert made["network_policy"]["allowed_domains"] == [f"127.0.0.1:{form.port}"]
    assert agent.act("open_tab", session_id=made["session_id"], url=form.url("/form")).status == 200
    wider = {"owner_agent_id": agent.agent_id, "network_policy": {"allowed_domains": ["example.com"]}}
    assert rest.post("/api/browser/sessions", wider).error_code == "not_authorized"
    nobody = {"owner_agent_id": agent.agent_id[:-4] + "0000"}
    assert rest.post("/api/browser/sessions", nobody).error_code == "not_found"
    assert rest.post(f"/api/browser/sessions/{made['session_id']}/close").status == 200
