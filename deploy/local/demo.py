"""`make demo`: start everything, let an agent find something on a small site, show one refusal, stop everything.

With `--stay` (`make run`): the same on the user's home, and stay up.

Exit code 0 only when every step gave the value it should.
"""

from __future__ import annotations

import base64
import http.client
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any
from urllib.parse import urlsplit

from deploy.local.demo_site import DemoSite
from deploy.local.home import default_root, home_hash

TREE = Path(__file__).resolve().parents[2]
SESSIONS = Path("/var/tmp")
READY_SECONDS = 30.0
STOP_SECONDS = 12.0
CALL_SECONDS = 60.0
FREE_PORTS = {"HYPERKITTY_REST_PORT": "0", "HYPERKITTY_GRPC_PORT": "0"}
ANSWER = "Shelf 7, row 1"
GRANTS = ["create_session", "open_tab", "read_page", "query_element", "click", "type", "screenshot", "extract_links"]

Json = dict[str, Any]


class StepFailed(Exception):
    """A step did not give what it should."""


class Api:
    """REST calls with the root token."""

    def __init__(self, url: str, token: str) -> None:
        parts = urlsplit(url)
        self._connection = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=CALL_SECONDS)
        self._headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}

    def call(self, method: str, path: str, body: Json | None = None) -> tuple[int, Json]:
        """Status and JSON of one call."""
        self._connection.request(method, path, None if body is None else json.dumps(body), self._headers)
        response = self._connection.getresponse()
        return response.status, json.loads(response.read())

    def close(self) -> None:
        """Give the connection back."""
        self._connection.close()

    def post(self, path: str, body: Json) -> Json:
        """The result of a call that must succeed."""
        status, answer = self.call("POST", path, body)
        if status != 200 or answer.get("status") != "succeeded":
            raise StepFailed(f"POST {path} answered {status}: {json.dumps(answer)[:600]}")
        return answer["result"]


class Demonstration:
    """The agent's run, step by step."""

    def __init__(self, api: Api, site: DemoSite) -> None:
        self._api = api
        self._site = site
        self.agent_id = ""
        self._session: Json = {}
        self._tab: Json = {}
        self._links: list[Json] = []

    def steps(self) -> list[tuple[str, Callable[[], str]]]:
        """Each step's name and what it does; it returns what to print, and raises StepFailed."""
        return [
            ("create an agent", self.create_agent),
            ("start a browser session", self.create_session),
            ("open the library's page", self.open_tab),
            ("read it as a snapshot", self.read_snapshot),
            ("type into the form", self.type_query),
            ("press its button", self.press_search),
            ("list the links found", self.list_links),
            ("follow the first", self.follow_link),
            ("read the answer", self.read_answer),
            ("take a picture", self.take_picture),
            ("ask for what is not granted", self.be_refused),
            ("complete", self.complete),
            ("read the record", self.read_record),
        ]

    def act(self, op: str, **args: Any) -> Json:
        """One action of the agent."""
        return self._api.post(f"/api/agents/{self.agent_id}/actions", {"tool": "browser", "op": op, "args": args})

    def on_tab(self, op: str, **args: Any) -> Json:
        """One action on its tab."""
        return self.act(op, session_id=self._tab["session_id"], tab_id=self._tab["tab_id"], **args)

    def create_agent(self) -> str:
        grants = [*GRANTS, {"navigate": {"allowed_domains": [self._site.host]}}]
        agent = self._api.post(
            "/api/agents",
            {"capabilities": grants, "objective": {"description": "Find where The Book of Tides stands."}},
        )
        self.agent_id = agent["agent_id"]
        expect(agent["state"], "ready")
        return self.agent_id

    def create_session(self) -> str:
        self._session = self.act("create_session")
        expect(self._session["status"], "ready")
        expect(self._session["owner_agent_id"], self.agent_id)
        browser = self._session["browser"]
        held = f"sandbox {self._session['sandbox']}, egress by {self._session['egress_isolation']}"
        return f"{browser['name']} {browser['version']}, {held}"

    def open_tab(self) -> str:
        self._tab = self.act("open_tab", session_id=self._session["session_id"], url=f"http://{self._site.host}/")
        expect(self._tab["title"], "Harbour Library")
        return self._tab["url"]

    def read_snapshot(self) -> str:
        content = self.on_tab("read_page", format="snapshot")["content"]
        for wanted in ("textbox", "Search the catalogue", "button"):
            expect(wanted in content, True)
        return f"{len(content)} characters"

    def type_query(self) -> str:
        target = {"role": "textbox", "name": "Search the catalogue"}
        result = self.on_tab("type", target=target, text="tides")
        expect(result["value"], "tides")
        return f"the control holds {result['value']!r}"

    def press_search(self) -> str:
        changed = self.on_tab("click", target={"role": "button", "name": "Search"})["changed"]
        expect(changed["url"], f"http://{self._site.host}/search?q=tides")
        expect(changed["navigation"]["http_status"], 200)
        return changed["url"]

    def list_links(self) -> str:
        self._links = self.on_tab("extract_links")["links"]
        expect([link["text"] for link in self._links], ["The Book of Tides", "Back"])
        return ", ".join(link["url"] for link in self._links)

    def follow_link(self) -> str:
        changed = self.on_tab("click", target={"text": "The Book of Tides"})["changed"]
        expect(changed["url"], self._links[0]["url"])
        expect(changed["navigation"]["http_status"], 200)
        return changed["url"]

    def read_answer(self) -> str:
        content = self.on_tab("read_page", format="text")["content"]
        lines = [line for line in content.splitlines() if line.startswith("Location: ")]
        expect(lines, [f"Location: {ANSWER}"])
        return lines[0]

    def take_picture(self) -> str:
        picture = self.on_tab("screenshot")
        image = base64.b64decode(picture["image"])
        expect(image[:8], b"\x89PNG\r\n\x1a\n")
        return f"{picture['width']} × {picture['height']}, {len(image)} bytes"

    def be_refused(self) -> str:
        before = len(self._site.hits)
        outside = f"http://localhost:{self._site.host.partition(':')[2]}/book/ink"
        status, answer = self._api.call(
            "POST",
            f"/api/agents/{self.agent_id}/actions",
            {"tool": "browser", "op": "navigate", "args": {"tab_id": self._tab["tab_id"], "url": outside}},
        )
        expect((status, answer["error"]["code"]), (403, "not_authorized"))
        expect(len(self._site.hits), before)
        return f"refused: {answer['error']['message']}"

    def complete(self) -> str:
        result = {"answer": ANSWER}
        agent = self._api.post(f"/api/agents/{self.agent_id}/complete", {"result": result})
        expect((agent["state"], agent["result"]), ("completed", result))
        return "completed"

    def read_record(self) -> str:
        status, answer = self._api.call("GET", f"/api/events/recent?subject={self.agent_id}&limit=200")
        expect(status, 200)
        seen = [event["category"] for event in reversed(answer["events"])]
        for category in ("agent.created", "agent.action.rejected", "browser.action.click", "agent.completed"):
            expect(category in seen, True)
        return f"{len(seen)} events"


def expect(value: object, wanted: object) -> None:
    """Raises StepFailed unless they are equal."""
    if value != wanted:
        raise StepFailed(f"expected {wanted!r}, got {value!r}"[:1_000])


def run_steps(demonstration: Demonstration) -> bool:
    """Run and print every step; stop at the first that fails."""
    for name, step in demonstration.steps():
        begun = time.monotonic()
        try:
            said, good = step(), True
        except (StepFailed, KeyError, ValueError, OSError, http.client.HTTPException) as failure:
            said, good = f"{type(failure).__name__}: {failure}", False
        milliseconds = (time.monotonic() - begun) * 1000
        print(f"  {'ok  ' if good else 'FAIL'} {milliseconds:7.0f} ms  {name}: {said}", flush=True)
        if not good:
            return False
    return True


def start(home: Path, ports: dict[str, str]) -> subprocess.Popen[bytes]:
    """`up` on a home. `ports` are used where the environment sets none.

    In a session of its own: a Ctrl-C in the terminal reaches this process alone, which passes on what it means.
    """
    command = [sys.executable, "-m", "deploy.local", "up", "--home", str(home)]
    return subprocess.Popen(command, cwd=TREE, env={**ports, **os.environ}, start_new_session=True)


def wait_for_state(home: Path, process: subprocess.Popen[bytes]) -> Json:
    """state.json, once the system is ready. Raises StepFailed."""
    deadline = time.monotonic() + READY_SECONDS
    while time.monotonic() < deadline:
        if process.poll() is not None:
            raise StepFailed(f"the system ended with exit code {process.returncode}")
        state = _state(home)
        # Another system of this home may be running: its state is not what is waited for.
        if state is not None and state["pid"] == process.pid:
            return state
        time.sleep(0.02)
    raise StepFailed(f"the system was not ready after {READY_SECONDS:g} s; see {home}/logs")


def _state(home: Path) -> Json | None:
    try:
        return json.loads((home / "state.json").read_text())
    except FileNotFoundError:
        return None


def stop(process: subprocess.Popen[bytes]) -> None:
    """SIGTERM, and wait. Raises StepFailed."""
    if process.poll() is None:
        process.send_signal(signal.SIGTERM)
    try:
        process.wait(STOP_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        raise StepFailed(f"the system did not stop within {STOP_SECONDS:g} s") from None


def demonstrate(home: Path) -> int:
    """The whole demonstration on a home; returns the exit code."""
    begun = time.monotonic()
    # Told to stop, it takes its system with it, as a Ctrl-C does.
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, _end)
    process = start(home, FREE_PORTS)
    good = False
    try:
        state = wait_for_state(home, process)
        print(f"ready after {time.monotonic() - begun:.1f} s: {state['rest_url']}", flush=True)
        good = run_against(state)
    except StepFailed as failure:
        print(f"FAIL: {failure}", file=sys.stderr)
    finally:
        good = _stopped(process) and good
    if good:
        print(f"The Book of Tides stands on: {ANSWER}  ({time.monotonic() - begun:.1f} s in all)")
    return 0 if good else 1


def _end(_number: int, _frame: FrameType | None) -> None:
    sys.exit(1)


def run_against(state: Json) -> bool:
    """The agent's run against a running system, on a site of its own; whether every step went well."""
    site, api = DemoSite(), Api(state["rest_url"], state["token"])
    site.start()
    try:
        return run_steps(Demonstration(api, site))
    finally:
        api.close()
        site.stop()


def _stopped(process: subprocess.Popen[bytes]) -> bool:
    try:
        stop(process)
    except StepFailed as failure:
        print(f"FAIL: {failure}", file=sys.stderr)
        return False
    return True


def stay(home: Path) -> int:
    """`make run`: start, demonstrate, stay up until Ctrl-C; returns the system's exit code."""
    process = start(home, {})
    told_to_stop = threading.Event()

    # The system ends by itself, and is waited for here; a second Ctrl-C makes it hurry.
    def pass_on(number: int, _frame: FrameType | None) -> None:
        told_to_stop.set()
        process.send_signal(number)

    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, pass_on)
    try:
        state = wait_for_state(home, process)
    except StepFailed as failure:
        print(f"make run: {failure}", file=sys.stderr)
        _stopped(process)
        return process.returncode or 1
    print("A demonstration: an agent looks something up on a small site.", flush=True)
    good = run_against(state)
    if process.poll() is None and not told_to_stop.is_set():
        if not good:
            print("The demonstration failed; the system stays up.", file=sys.stderr)
        print(f"\nDashboard: {state['rest_url']}/  (token: {home}/root.token)   Ctrl-C stops everything.", flush=True)
    return process.wait()


def main() -> int:
    """Entry point."""
    if sys.argv[1:] == ["--stay"]:
        return stay(default_root())
    given = os.environ.get("HYPERKITTY_HOME")
    if given:
        return demonstrate(Path(given).resolve())
    with tempfile.TemporaryDirectory(prefix="hyperkitty-demo-", ignore_cleanup_errors=True) as scratch:
        home = Path(scratch).resolve() / "home"
        try:
            return demonstrate(home)
        finally:
            # A home of one use: what marks its place for sessions goes with it.
            shutil.rmtree(SESSIONS / f"hyperkitty-{home_hash(home)}", ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main())
