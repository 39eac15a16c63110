"""Operations beyond the core over REST, on every real part: recorded, granted, and several in one round trip."""

from __future__ import annotations

import base64
from typing import Any

from tests.acting import ActingAgent, Person, grants_for
from tests.running_system import RunningSystem
from tests.site import Site


def batch(person: Person, *operations: tuple[str, dict[str, Any]]) -> Any:
    body = {"tab_id": person.tab_id, "operations": [{"op": op, "args": args} for op, args in operations]}
    reply = person.rest.post(f"/api/browser/sessions/{person.session_id}/batch", body)
    assert reply.status == 200, reply.body
    return reply.result


def categories(system: RunningSystem, subject: str) -> list[str]:
    recent = system.rest.get(f"/api/events/recent?subject={subject}&limit=100").json["events"]
    return [event["category"] for event in reversed(recent)]


def test_a_batch_stops_at_the_first_failure_and_tells_why(shared_system: RunningSystem, site: Site) -> None:
    page = "<title>T</title><label>A <input id=a></label><label><input type=checkbox id=c> C</label>"
    person = Person.start(shared_system.rest, site.put("/page", page))
    fields = [{"target": {"selector": "#a"}, "value": "Ada"}, {"target": {"selector": "#c"}, "value": "true"}]
    done = batch(person, ("fill_form", {"fields": fields}), ("find_text", {"text": "C"}))
    assert done["failed_index"] == -1
    assert [field["value"] for field in done["results"][0]["fields"]] == ["Ada", "true"]
    assert done["results"][1]["total"] == 1
    failed = batch(
        person,
        ("press_key", {"key": "Escape"}),
        ("check", {"target": {"ref": "e999999"}, "checked": True}),
        ("press_key", {"key": "Enter"}),
    )
    assert (failed["failed_index"], len(failed["results"]), failed["error"]["code"]) == (1, 1, "not_found")
    told = categories(shared_system, person.tab_id)
    assert told[-4:] == [
        "browser.action.started", "browser.action.press_key", "browser.action.started", "browser.action.failed",
    ]  # fmt: skip
    person.close()


def test_a_dialog_a_download_and_cookies(shared_system: RunningSystem, site: Site) -> None:
    person = Person.start(
        shared_system.rest, site.put("/page", "<button onclick='alert(1)'>A</button><a href=/download>D</a>")
    )
    opened = person.act("click", target={"role": "button", "name": "A"}).result["changed"]["dialog"]
    assert (opened["kind"], opened["message"]) == ("alert", "1")
    assert person.act("find_text", text="A").error_code == "dialog_open"
    assert person.act("handle_dialog", accept=True).result["dialog"]["message"] == "1"
    assert person.act("handle_dialog", accept=True).error_code == "wrong_state"
    download = person.act("click", target={"role": "link", "name": "D"}).result["changed"]["download"]
    assert (download["state"], download["bytes"]) == ("completed", 1000)
    got = person.act("get_download", artifact_id=download["artifact_id"]).result
    assert base64.b64decode(got["content"]) == b"x" * 1000
    assert "browser.download.completed" in categories(shared_system, person.session_id)
    cookie = {"name": "a", "value": "s3cret", "domain": "127.0.0.1"}
    assert person.act("set_cookies", cookies=[cookie]).result["count"] == 1
    assert person.act("get_cookies").result["cookies"][0]["value"] == "s3cret"
    events = shared_system.rest.get(f"/api/events/recent?subject={person.session_id}&limit=100")
    assert "s3cret" not in str(events.json)
    person.close()


def test_an_agent_has_what_its_grants_cover(shared_system: RunningSystem, site: Site) -> None:
    page = "<title>T</title><button id=b>B</button><script>document.cookie = 'a=s3cret'</script>"
    agent = ActingAgent.create(shared_system.rest, [*grants_for(site), "get_cookies"]).start(site.put("/page", page))
    assert agent.on_tab("hover", target={"role": "button", "name": "B"}).result["element"]["name"] == "B"
    cookies = agent.act("get_cookies", session_id=agent.session_id).result["cookies"]
    assert [(cookie["name"], cookie["value"]) for cookie in cookies] == [("a", "")]
    refused = agent.on_tab("upload_file", target={"selector": "#b"}, files=[{"name": "a", "content": "YQ=="}])
    assert (refused.status, refused.error_code) == (403, "not_authorized")
    agent.rest.post(f"/api/agents/{agent.agent_id}/terminate")
