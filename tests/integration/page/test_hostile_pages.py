"""Pages that are broken, busy, hostile, or that go away."""

from __future__ import annotations

import time

import pytest
from hyperkitty.browser.v1 import operations_pb2 as pb
from hyperkitty.browser.v1 import targets_pb2
from hyperkitty.operations.v1.errors_pb2 import ErrorCode

from services.browser.cdp.domains import runtime
from services.kit.errors import Refusal
from tests.integration.page.driving import Driver


async def test_a_document_whose_properties_are_shadowed(driver: Driver) -> None:
    names = "title body documentElement activeElement querySelectorAll elementFromPoint getElementById createElement"
    await driver.show(
        "".join(f"<form name={name}></form>" for name in names.split())
        + "<form id=f name=forms><input name=attributes><input name=scrollIntoView><input name=isContentEditable>"
        "<input name=children></form><button id=b>Go</button><input aria-label=Name id=n>",
        recorded=False,
    )
    assert "button" in await driver.snapshot()
    await driver.click(role="button", name="Go")
    assert driver.changed.title == "Test"
    assert (await driver.type("x", role="textbox", name="Name")).value == "x"
    await driver.run(pb.ReadPageOperation(format=pb.PAGE_FORMAT_HTML))
    await driver.run(pb.ScrollOperation(target=targets_pb2.Target(selector="#f")))


async def test_a_page_that_replaced_the_dom_s_methods(driver: Driver) -> None:
    await driver.show(
        "<button id=b>Go</button><script>for (const c of [Element, Node, Document, EventTarget, Array, Map])"
        " for (const name of Object.getOwnPropertyNames(c.prototype)) try {"
        " if (typeof c.prototype[name] == 'function') c.prototype[name] = () => { throw Error('no') } } catch {}"
        "window.getComputedStyle = JSON.stringify = () => { throw Error('no') }</script>",
        recorded=False,
    )
    assert "Go" in await driver.snapshot()
    assert (await driver.click(selector="#b")).element.name == "Go"


async def test_a_busy_page_is_unresponsive_at_once(driver: Driver) -> None:
    await driver.show("<button id=b>Go</button>")
    busy = "{ const end = Date.now() + 6000; while (Date.now() < end); }"
    driver.tab.cdp.post(runtime.Evaluate(expression=busy), timeout=10)
    started = time.perf_counter()
    with pytest.raises(Refusal) as caught:
        await driver.click(selector="#b")
    assert caught.value.code == ErrorCode.ERROR_CODE_PAGE_UNRESPONSIVE
    assert time.perf_counter() - started < 4


async def test_a_page_that_closes_itself(driver: Driver) -> None:
    driver.site.put("/pop", "<button id=b onclick='window.close()'>Close</button>")
    await driver.show("<a id=a href=/pop target=_blank rel=opener>open</a>")
    await driver.click(selector="#a")
    [new] = driver.changed.new_tabs
    popup = Driver(driver.session, driver.site, driver.session.tabs[new.tab_id])
    await popup.click(selector="#b")
    assert new.tab_id not in driver.session.tabs


async def test_a_document_opened_again_is_guarded_too(driver: Driver) -> None:
    await driver.show("<p>first")
    await driver.page_says(
        "document.open(), document.write(\"<button id=b style='position:absolute;left:100px;top:50px'>Go</button>\"),"
        "document.close(), window.hits = 0,"
        "addEventListener('mousedown', () => { b.remove(); const t = b.cloneNode(true);"
        " t.onmouseup = t.onclick = () => hits++; document.body.append(t) }, true), 0"
    )
    with pytest.raises(Refusal) as caught:
        await driver.click(selector="#b")
    assert caught.value.code == ErrorCode.ERROR_CODE_OBSCURED
    assert await driver.page_says("hits") == 0


async def test_boxes_in_frames_are_in_the_main_viewport(driver: Driver) -> None:
    driver.site.put("/inner", "<body style='margin:0'><button style='position:absolute;left:10px;top:20px'>In</button>")
    await driver.show(
        "<body style='margin:0'><iframe src=/inner style='position:absolute;left:50px;top:60px;border:2px solid;"
        "transform:scale(2);transform-origin:0 0'></iframe>"
    )
    [found] = (await driver.run(pb.QueryElementOperation(target=targets_pb2.Target(text="In")))).elements
    assert (found.box.x, found.box.y) == (50 + 2 * 12, 60 + 2 * 22)
    clicked = await driver.click(ref=found.ref)
    assert found.box.x <= clicked.point.x <= found.box.x + found.box.width
