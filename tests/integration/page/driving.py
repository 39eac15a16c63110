"""Drives a tab through the operations' handlers, as the dispatcher does, without gRPC and the event log around it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from google.protobuf.message import Message
from hyperkitty.browser.v1 import operations_pb2 as pb
from hyperkitty.browser.v1 import targets_pb2

from services.browser.cdp.domains import runtime
from services.browser.operations.changes import Mark
from services.browser.operations.registry import handler_of
from services.browser.session import Session
from services.browser.tab import Tab
from services.kit import deadlines
from services.kit.capabilities import operations
from services.kit.ids import new_id
from tests.site import Site

SECONDS = 30.0
CASES = Path(__file__).parents[2] / "cases"

# Put on every page: what the page itself sees of the pointer and the keys.
RECORDER = """<script>
window.seen = [];
for (const type of ['pointermove', 'pointerdown', 'mousedown', 'pointerup', 'mouseup', 'click', 'dblclick', 'auxclick',
  'contextmenu', 'keydown', 'keypress', 'beforeinput', 'input', 'keyup', 'wheel'])
  window.addEventListener(type, (e) => seen.push({type, trusted: e.isTrusted, x: e.clientX, y: e.clientY,
    id: e.target.id, key: e.key, code: e.code, button: e.button, detail: e.detail, data: e.data,
    ctrl: e.ctrlKey, shift: e.shiftKey}), true);
</script>"""


@dataclass
class Driver:
    """A tab. `changed` is what the last write changed."""

    session: Session
    site: Site
    tab: Tab
    changed: targets_pb2.Changed = field(default_factory=targets_pb2.Changed)

    @classmethod
    async def open(cls, session: Session, site: Site) -> Driver:
        with deadlines.within(SECONDS):
            return cls(session, site, await session.open_tab(new_id("tab")))

    async def close(self) -> None:
        with deadlines.within(SECONDS):
            for tab in list(self.session.tabs.values()):
                await tab.close(run_beforeunload=False)

    async def run(self, operation: Message, seconds: float = SECONDS) -> Any:
        """Run one operation; its result. Raises Refusal."""
        name = next(facts.name for facts in operations().values() if facts.message == operation.DESCRIPTOR.full_name)
        handler = handler_of(name)
        assert handler is not None, name
        with deadlines.within(seconds):
            mark = Mark.of(self.tab)
            result = await handler.call(self.tab if operations()[name].on_tab else self.session, operation)
            if operations()[name].write:
                self.changed = await mark.changed()
        return result

    async def show(self, body: str, path: str = "/", *, recorded: bool = True, head: str = "") -> None:
        """Put a page on the site and go there."""
        html = f"<!doctype html><meta charset=utf-8><title>Test</title>{head}{RECORDER if recorded else ''}{body}"
        await self.go(self.site.put(path, html))

    async def go(self, url: str) -> pb.NavigateResult:
        return await self.run(pb.NavigateOperation(url=url))

    async def case(self, name: str, query: str = "") -> None:
        """Go to the page of one of tests/cases."""
        html = (CASES / name / "page.html").read_text(encoding="utf-8")
        await self.go(self.site.put(f"/{name}/page.html", html) + query)

    async def page_says(self, expression: str) -> Any:
        """Evaluate in the page's own world: what the page knows."""
        with deadlines.within(SECONDS):
            result = await self.tab.cdp.send(
                runtime.Evaluate(expression=expression, return_by_value=True, await_promise=True), timeout=SECONDS
            )
        assert result.exception_details is None, result.exception_details
        raw = bytes(result.result.value or b"")
        return json.loads(raw) if raw else None

    async def seen(self, *types: str) -> list[Mapping[str, Any]]:
        """Events that the page recorded, in order; of the types given, or all."""
        events = await self.page_says("window.seen")
        return [event for event in events if not types or event["type"] in types]

    async def snapshot(self, **more: Any) -> str:
        result = await self.run(pb.ReadPageOperation(format=pb.PAGE_FORMAT_SNAPSHOT, **more))
        return result.content

    async def ref(self, role: str, name: str) -> str:
        """The ref of an element by role and name."""
        found = await self.run(pb.QueryElementOperation(target=targets_pb2.Target(role=role, name=name)))
        assert found.total == 1, found
        return found.elements[0].ref

    async def click(self, seconds: float = SECONDS, **target: Any) -> pb.ClickResult:
        return await self.run(pb.ClickOperation(target=targets_pb2.Target(**target)), seconds)

    async def type(self, text: str, *, clear: bool = False, submit: bool = False, **target: Any) -> pb.TypeResult:
        named = targets_pb2.Target(**target) if target else None
        return await self.run(pb.TypeOperation(target=named, text=text, clear=clear, submit=submit))
