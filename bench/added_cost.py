"""What HyperKitty adds over a bare CDP client: `python -m bench.added_cost [rounds]`.

One run, the same Chromium, the same page; the two sides take turns, so that a noisy machine is noisy for both. Bare is
the product's own CDP client sending what an act needs and nothing more: where the element is, the input events, and
where the page is afterwards. The other side is a REST call to its answer, events acknowledged.
"""

from __future__ import annotations

import asyncio
import http.client
import json
import statistics
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from urllib.parse import urlsplit

import uvloop

from deploy.local.demo import FREE_PORTS, start, stop, wait_for_state
from services.browser.cdp.client import CdpClient
from services.browser.cdp.domains import input as cdp_input
from services.browser.cdp.domains import page, runtime, target
from services.browser.cdp.session import CdpSession
from services.browser.chromium.binary import find
from services.browser.chromium.directories import SessionDirectories
from services.browser.chromium.launch import Launcher, LaunchRequest
from services.kit.ids import new_id

ROUNDS = 200
SECONDS = 10.0
TEXT = "twenty characters ok"
HTML = (
    "<title>Bench</title><h1>Bench</h1><p>Some text to read.</p><input id=i aria-label=Field>"
    '<button id=b onclick="this.dataset.n=(+this.dataset.n||0)+1">Press</button>'
)
URL = f"data:text/html,{HTML}"

Act = Callable[[], Awaitable[None]]


class Bare:
    """The same acts with nothing but CDP commands."""

    def __init__(self, session: CdpSession) -> None:
        self._session = session

    async def _evaluate(self, expression: str) -> bytes:
        command = runtime.Evaluate(expression=expression, return_by_value=True)
        return bytes((await self._session.send(command, timeout=SECONDS)).result.value)

    async def _centre(self, selector: str) -> tuple[float, float]:
        box = f"(r=>[r.x+r.width/2,r.y+r.height/2])(document.querySelector('{selector}').getBoundingClientRect())"
        x, y = json.loads(await self._evaluate(box))
        return x, y

    async def click(self, selector: str = "#b") -> None:
        x, y = await self._centre(selector)
        kinds = ("mouseMoved", "mousePressed", "mouseReleased")
        events = [
            cdp_input.DispatchMouseEvent(
                type=kind, x=x, y=y, button="left" if kind != "mouseMoved" else "none", click_count=1
            )
            for kind in kinds
        ]
        await asyncio.gather(*(self._session.post(event, timeout=SECONDS) for event in events))
        await self._evaluate("[location.href, document.title]")

    async def read(self) -> None:
        await self._evaluate("document.body.innerText")

    async def type(self) -> None:
        await self.click("#i")
        events = [
            cdp_input.DispatchKeyEvent(type=kind, key=letter, text=letter if kind == "keyDown" else None)
            for letter in TEXT
            for kind in ("keyDown", "keyUp")
        ]
        await asyncio.gather(*(self._session.post(event, timeout=SECONDS) for event in events))
        await self._evaluate("document.activeElement.value")


class Product:
    """The same acts as REST calls of a person."""

    def __init__(self, rest_url: str, token: str) -> None:
        parts = urlsplit(rest_url)
        self._connection = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=60)
        self._headers = {"Authorization": f"Bearer {token}"}
        session = self._post("/api/browser/sessions", {})
        tabs = f"/api/browser/sessions/{session['session_id']}/tabs"
        tab = self._post(tabs, {"url": URL})
        self._actions = f"{tabs}/{tab['tab_id']}/actions"

    def _post(self, path: str, body: object) -> dict[str, str]:
        self._connection.request("POST", path, json.dumps(body), self._headers)
        answer = json.loads(self._connection.getresponse().read())
        if answer["status"] != "succeeded":
            raise RuntimeError(f"{path}: {answer}")
        return answer["result"]

    async def click(self) -> None:
        self._post(self._actions, {"op": "click", "args": {"target": {"selector": "#b"}}})

    async def read(self) -> None:
        self._post(self._actions, {"op": "read_page", "args": {}})

    async def type(self) -> None:
        self._post(self._actions, {"op": "type", "args": {"target": {"selector": "#i"}, "text": TEXT}})


async def timed(act: Act) -> float:
    """Milliseconds of one act."""
    begun = time.perf_counter()
    await act()
    return (time.perf_counter() - begun) * 1000


async def compare(bare: Bare, product: Product, rounds: int) -> None:
    """Print medians of each act on both sides, taken in turns."""
    pairs = [
        ("click", bare.click, product.click, rounds),
        ("read text", bare.read, product.read, rounds),
        ("type 20 characters", bare.type, product.type, rounds // 4),
    ]
    print(f"{'':20} {'bare CDP':>9} {'REST':>9} {'added':>9}   (median ms)")
    for name, one, other, times in pairs:
        ours: list[float] = []
        theirs: list[float] = []
        for _ in range(times):
            theirs.append(await timed(one))
            ours.append(await timed(other))
        low, high = statistics.median(theirs), statistics.median(ours)
        print(f"{name:20} {low:9.2f} {high:9.2f} {high - low:9.2f}", flush=True)


async def run(rounds: int) -> None:
    """The whole comparison, in a home of its own."""
    with tempfile.TemporaryDirectory(prefix="hyperkitty-bench-") as scratch:
        home = Path(scratch) / "home"
        process = start(home, FREE_PORTS)
        directories = SessionDirectories(Path(scratch) / "bare")
        directories.claim()
        chromium = await Launcher(directories).launch(LaunchRequest(new_id("sess"), find(None)))
        try:
            state = await asyncio.to_thread(wait_for_state, home, process)
            bare = Bare(await attached(chromium.client))
            await compare(bare, Product(state["rest_url"], state["token"]), rounds)
        finally:
            await chromium.close()
            await asyncio.to_thread(directories.release)
            await asyncio.to_thread(stop, process)


async def attached(client: CdpClient) -> CdpSession:
    """A page of the bare browser, on the bench's document."""
    browser = client.browser
    found: asyncio.Future[str] = asyncio.get_running_loop().create_future()
    browser.on(target.AttachedToTarget, lambda event: found.done() or found.set_result(event.session_id))
    created = await browser.send(target.CreateTarget(url="about:blank"), timeout=SECONDS)
    await browser.send(target.AttachToTarget(target_id=created.target_id, flatten=True), timeout=SECONDS)
    session = client.session(await found)
    if session is None:
        raise RuntimeError("the bare browser's page went away")
    loaded = asyncio.Event()
    session.on(page.LifecycleEvent, lambda event: loaded.set() if event.name == "load" else None)
    await session.send(page.Enable(), timeout=SECONDS)
    await session.send(page.SetLifecycleEventsEnabled(enabled=True), timeout=SECONDS)
    await session.send(page.Navigate(url=URL), timeout=SECONDS)
    async with asyncio.timeout(SECONDS):
        await loaded.wait()
    return session


if __name__ == "__main__":
    uvloop.run(run(int(sys.argv[1]) if len(sys.argv) > 1 else ROUNDS))
