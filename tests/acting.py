"""An agent and a person driven over REST, as a test's shorthand for the calls a user makes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from services.kit.capabilities import operations
from tests.rest_client import Reply, RestClient
from tests.site import Site

CORE = [facts.name for facts in operations().values() if facts.core and facts.name != "navigate"]


def grants_for(site: Site) -> list[object]:
    """Every core capability, with navigation on the site alone."""
    return [*CORE, {"navigate": {"allowed_domains": [f"127.0.0.1:{site.port}"]}}]


@dataclass
class ActingAgent:
    """An agent; `tab` is filled by `start`."""

    rest: RestClient
    agent_id: str
    session_id: str = ""
    tab_id: str = ""

    @classmethod
    def create(cls, rest: RestClient, grants: Sequence[object], **more: object) -> ActingAgent:
        agent = rest.post("/api/agents", {"capabilities": list(grants), **more}).result
        return cls(rest, agent["agent_id"])

    def start(self, url: str) -> ActingAgent:
        """A session and a tab on `url`."""
        self.session_id = self.act("create_session").result["session_id"]
        self.tab_id = self.act("open_tab", session_id=self.session_id, url=url).result["tab_id"]
        return self

    def act(self, op: str, **args: object) -> Reply:
        body = {"tool": "browser", "op": op, "args": args}
        return self.rest.post(f"/api/agents/{self.agent_id}/actions", body)

    def on_tab(self, op: str, **args: object) -> Reply:
        return self.act(op, session_id=self.session_id, tab_id=self.tab_id, **args)

    def get(self) -> Any:
        """The agent as it is, but for the time that it has used."""
        reply = self.rest.get(f"/api/agents/{self.agent_id}")
        assert reply.status == 200, reply.body
        agent = reply.json
        del agent["usage"]["elapsed_ms"]
        return agent

    def events(self) -> list[Any]:
        """Its events, oldest first."""
        reply = self.rest.get(f"/api/events/recent?subject={self.agent_id}&limit=1000")
        assert reply.status == 200, reply.body
        return list(reversed(reply.json["events"]))

    def categories(self) -> list[str]:
        return [event["category"] for event in self.events()]


@dataclass
class Person:
    """A session and a tab driven by the token itself."""

    rest: RestClient
    session_id: str
    tab_id: str

    @classmethod
    def start(cls, rest: RestClient, url: str) -> Person:
        session_id = rest.post("/api/browser/sessions").result["session_id"]
        tab = rest.post(f"/api/browser/sessions/{session_id}/tabs", {"url": url}).result
        return cls(rest, session_id, tab["tab_id"])

    @property
    def path(self) -> str:
        return f"/api/browser/sessions/{self.session_id}/tabs/{self.tab_id}"

    def act(self, op: str, **args: object) -> Reply:
        return self.rest.post(f"{self.path}/actions", {"op": op, "args": args})

    def close(self) -> None:
        closed = self.rest.post(f"/api/browser/sessions/{self.session_id}/close").result
        assert closed["status"] == "closed"
