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


@dataclass
class Calls:
    """Every answer of a loop."""

    succeeded: list[str] = field(default_factory=list[str])
    """Operation ids."""
    refused: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    unreachable: int = 0
    longest_seconds: float = 0.0


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
            self._calls.refused.append(answer["error"])
        return status, answer


class Loop:
    """The demonstration in a thread, again and again until `stop`; a run ends at its first failed step."""

    def __init__(self, system: RunningSystem) -> None:
        self.calls = Calls()
        self.completed = 0
        self.failed = 0
        self.unexpected: list[str] = []
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

    def _run(self) -> None:
        site = DemoSite()
        site.start()
        try:
            while not self._stopping.is_set():
                self._once(site)
        finally:
            site.stop()

    def _once(self, site: DemoSite) -> None:
        state = self._system.state
        api = WatchedApi(state["rest_url"], state["token"], self.calls)
        run = Demonstration(api, site)
        try:
            if self._all_steps(run):
                self.completed += 1
            else:
                self.failed += 1
                self._end(run.agent_id)
        finally:
            api.close()

    def _all_steps(self, run: Demonstration) -> bool:
        refused, unreachable = len(self.calls.refused), self.calls.unreachable
        for name, step in run.steps():
            try:
                step()
            except Exception as failure:
                # The refusal that the demonstration shows is one; any more are the fault's.
                told = len(self.calls.refused) > refused or self.calls.unreachable > unreachable
                if not told:
                    self.unexpected.append(f"{name}: {type(failure).__name__}: {failure}")
                return False
        return True

    def _end(self, agent_id: str) -> None:
        """A run that broke off leaves an agent with an open session: people end those."""
        while agent_id and not self._stopping.wait(0.2):
            try:
                reply = self._system.rest.post(f"/api/agents/{agent_id}/terminate")
            except OSError:
                continue
            if reply.status in (200, 409):
                return
