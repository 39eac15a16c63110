"""The demonstration agent's run, over and over, and what each call of it was answered."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass, field
from typing import Any

from deploy.local.demo import Api, Demonstration
from deploy.local.demo_site import DemoSite
from tests.running_system import RunningSystem

# The longest that one call may take: an agent's action has 45 s (SPEC §4), and its answer 250 ms more.
CALL_SECONDS = 46.0
# An agent whose run broke off is terminated by a person, as soon as it can be.
END_SECONDS = 30.0
REFUSED_STEP = "ask for what is not granted"


@dataclass
class Calls:
    """Every answer of a loop."""

    succeeded: list[str] = field(default_factory=list[str])
    """Operation ids."""
    refused: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    """Errors as they were answered, but for the refusal that each run shows."""
    unreachable: int = 0
    longest_seconds: float = 0.0

    @property
    def failures(self) -> int:
        return len(self.refused) + self.unreachable


class WatchedApi(Api):
    """The demonstration's client, which notes what it was answered."""

    def __init__(self, url: str, token: str, calls: Calls) -> None:
        super().__init__(url, token)
        self._calls = calls

    def call(self, method: str, path: str, body: dict[str, Any] | None = None) -> tuple[int, dict[str, Any]]:
        begun = time.monotonic()
        try:
            status, answer = super().call(method, path, body)
        except OSError:
            self._calls.unreachable += 1
            raise
        finally:
            self._calls.longest_seconds = max(self._calls.longest_seconds, time.monotonic() - begun)
        if answer.get("status") == "succeeded":
            self._calls.succeeded.append(answer["operation_id"])
        elif "error" in answer:
            self._calls.refused.append({**answer["error"], "http_status": status})
        return status, answer


@dataclass(frozen=True)
class Run:
    """One run, ended. `hits` are the requests that reached its site, in order."""

    agent_id: str
    begun: float
    completed: bool
    hits: list[str]


class Loop:
    """The demonstration in a thread, again and again inside the `with`; a run ends at its first failed step."""

    def __init__(self, system: RunningSystem) -> None:
        self.calls = Calls()
        self.runs: list[Run] = []
        self.unexpected: list[str] = []
        self.step = ""
        """The one under way."""
        self._system = system
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> Loop:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stopping.set()
        self._thread.join(CALL_SECONDS * 2)
        assert not self._thread.is_alive(), "a run of the demonstration hangs"

    def completed_since(self, moment: float) -> int:
        """How many runs that began after `moment` (monotonic seconds) went well to their end."""
        return sum(run.completed for run in self.runs if run.begun >= moment)

    def _run(self) -> None:
        site = DemoSite()
        site.start()
        try:
            while not self._stopping.is_set():
                self.runs.append(self._once(site))
        finally:
            site.stop()

    def _once(self, site: DemoSite) -> Run:
        begun, earlier = time.monotonic(), len(site.hits)
        state = self._system.state
        api = WatchedApi(state["rest_url"], state["token"], self.calls)
        demonstration = Demonstration(api, site)
        try:
            completed = self._all_steps(demonstration)
            if not completed:
                self._end(demonstration.agent_id)
        finally:
            api.close()
        return Run(demonstration.agent_id, begun, completed, site.hits[earlier:])

    def _all_steps(self, demonstration: Demonstration) -> bool:
        for name, step in demonstration.steps():
            failures, self.step = self.calls.failures, name
            try:
                step()
            except Exception as failure:
                # A step that failed without having been told so found something else than it should.
                if self.calls.failures == failures:
                    self.unexpected.append(f"{name}: {type(failure).__name__}: {failure}")
                return False
            if name == REFUSED_STEP:
                self.calls.refused.pop()
        return True

    def _end(self, agent_id: str) -> None:
        """A run that broke off leaves an agent that is at work: people end those."""
        deadline = time.monotonic() + END_SECONDS
        answered = "nothing"
        while agent_id and time.monotonic() < deadline:
            try:
                reply = self._system.rest.post(f"/api/agents/{agent_id}/terminate")
            except OSError as failure:
                answered = str(failure)
            else:
                if reply.status in (200, 409):
                    return
                answered = f"{reply.status} {reply.body.decode(errors='replace')}"
            self._stopping.wait(0.2)
        if agent_id:
            self.unexpected.append(f"{agent_id} could not be terminated: {answered}")
