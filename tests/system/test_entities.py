"""Every entity as REST gives it, with all of its fields (SPEC §3)."""

from __future__ import annotations

from typing import Any

import pytest

from tests.acting import ActingAgent, grants_for
from tests.rest_client import RestClient
from tests.running_system import RunningSystem
from tests.site import Site

FIELDS = {
    "agent": "agent_id objective state capabilities limits usage action_count result failure_reason started_at_ms "
    "updated_at_ms tenant",
    "usage": "actions elapsed_ms network_requests search_iterations",
    "limits": "max_actions max_execution_ms max_network_requests max_search_iterations max_repeats",
    "objective": "objective_id agent_id description success_criteria created_at_ms",
    "action": "action_id agent_id tool op args outcome started_at_ms duration_ms event_sequences artifact_ids",
    "session": "session_id owner_agent_id profile pid status restart_count tabs settings network_policy sandbox "
    "egress_isolation browser memory_bytes created_at_ms updated_at_ms tenant",
    "tab": "tab_id session_id url title status opener_tab_id dialog created_at_ms updated_at_ms",
    "job": "job_id owner_agent_id query stage iteration max_iterations results answer failure created_at_ms "
    "updated_at_ms tenant",
    "result": "result_id job_id url normalized_url title snippet rank score source_document_id created_at_ms",
    "document": "document_id url fetched_at_ms content_type extracted_text citation_map",
    "message": "message_id sender recipient timestamp_ms conversation_id message_type payload status tenant",
    "operation": "operation_id parent_operation_id request_id kind status subject error created_at_ms updated_at_ms "
    "tenant",
    "event": "event_id sequence category subject actor agent_id session_id operation_id request_id data emitted_at_ms "
    "tenant",
    "artifact": "artifact_id session_id agent_id operation_id kind content_type bytes sha256 created_at_ms",
}


def check(kind: str, entity: Any) -> None:
    missing = set(FIELDS[kind].split()) - set(entity)
    assert missing == set(), f"{kind} has no {missing}: {sorted(entity)}"


@pytest.fixture
def rest(shared_system: RunningSystem) -> RestClient:
    return shared_system.rest


def test_agents_sessions_tabs_and_what_they_leave(rest: RestClient, site: Site) -> None:
    agent = ActingAgent.create(rest, grants_for(site), objective={"description": "look"})
    agent.start(site.put("/page", "<title>Page</title>"))
    picture = agent.on_tab("screenshot")
    whole = rest.get(f"/api/agents/{agent.agent_id}").json
    check("agent", whole)
    for part in ("usage", "limits", "objective"):
        check(part, whole[part])
    check("action", rest.get(f"/api/agents/{agent.agent_id}/history").json["actions"][0])
    session = rest.get(f"/api/browser/sessions/{agent.session_id}").json
    check("session", session)
    check("tab", session["tabs"][0])
    assert (session["owner_agent_id"], session["tabs"][0]["tab_id"]) == (agent.agent_id, agent.tab_id)
    check("artifact", picture.result["artifact"])
    check("operation", rest.get(f"/api/operations/{picture.json['operation_id']}").json)
    check("event", agent.events()[-1])
    rest.post(f"/api/agents/{agent.agent_id}/terminate")


def test_jobs_results_and_documents(rest: RestClient) -> None:
    job_id = rest.post("/api/search", {"query": "how browsers isolate pages"}).result["job_id"]
    outcome = rest.get(f"/api/search/{job_id}/result?wait_ms=30000")
    assert outcome.status == 200, outcome.body
    check("job", rest.get(f"/api/search/{job_id}").json)
    first = outcome.json["results"][0]
    check("result", first)
    check("document", rest.get(f"/api/search/{job_id}/documents/{first['source_document_id']}").json)


def test_messages(rest: RestClient) -> None:
    sent = rest.post("/api/messages", {"recipient": "user:somebody", "payload": {"text": "hello"}}).result
    check("message", sent)
    assert sent["message_type"] in ("user_to_agent", "agent_to_user", "agent_to_agent", "system")
