"""Frames in processes of their own, as full Chromium puts every other site's: read, clicked, typed into, followed."""

from __future__ import annotations

import pytest
from hyperkitty.browser.v1 import operations_pb2 as pb
from hyperkitty.operations.v1.errors_pb2 import ErrorCode

from services.kit.errors import Refusal
from tests.integration.page.driving import Driver

INNER = (
    "<title>Inner</title><body style='margin:0'><div style='height:400px'>Inside</div><button id=b>Pay</button>"
    "<input id=n aria-label=Card><script>window.hits = [];"
    "b.onclick = (e) => { hits.push(e.isTrusted); parent.postMessage('clicked', '*') };"
    "n.oninput = (e) => parent.postMessage(n.value + e.isTrusted, '*')</script>"
)


async def show(driver: Driver) -> None:
    driver.site.put("/inner", INNER)
    await driver.show(
        "<script>window.got = []; onmessage = (e) => got.push(e.data)</script><p>Before</p>"
        f"<iframe title=Pay src=http://localhost:{driver.site.port}/inner style='margin:20px;border:3px solid'>"
        "</iframe><button>After</button>"
    )


async def test_they_are_in_the_tree_in_their_place(full_driver: Driver) -> None:
    driver = full_driver
    await show(driver)
    main, inner = driver.tab.page.frames.all()
    assert inner.session is not main.session
    lines = (await driver.snapshot()).splitlines()
    assert [line.strip().split()[0] for line in lines] == ['"Before"', "frame", '"Inside"', "button", "button"]
    text = (await driver.run(pb.ReadPageOperation())).content
    assert text.split() == ["Before", "Inside", "Pay", "After"]


async def test_clicked_and_typed_into_at_the_right_place(full_driver: Driver) -> None:
    driver = full_driver
    await show(driver)
    await driver.click(role="button", name="Pay")
    assert (await driver.type("4111", role="textbox", name="Card")).value == "4111"
    assert (await driver.type("9")).value == "41119"
    got = await driver.page_says("got")
    assert got[0] == "clicked"
    assert got[-1] == "41119true"


async def test_a_cover_in_the_outer_page_is_seen(full_driver: Driver) -> None:
    driver = full_driver
    await show(driver)
    ref = await driver.ref("button", "Pay")
    await driver.page_says(
        "document.body.append(Object.assign(document.createElement('div'), {id: 'cover'})),"
        "cover.style = 'position:fixed;inset:0', 0"
    )
    with pytest.raises(Refusal) as caught:
        await driver.click(1.0, ref=ref)
    assert caught.value.code == ErrorCode.ERROR_CODE_OBSCURED
    assert "cover" in str(caught.value.details["by"])
    assert await driver.page_says("got") == []


async def test_its_document_changes_and_it_comes_home(full_driver: Driver) -> None:
    driver = full_driver
    await show(driver)
    ref = await driver.ref("button", "Pay")
    driver.site.put("/home", "<button>Home</button>")
    load = "new Promise((go) => { const f = document.querySelector('iframe'); f.onload = go; f.src = '%s' })"
    await driver.page_says(load % f"http://localhost:{driver.site.port}/home")
    assert "Home" in await driver.snapshot()
    await driver.page_says(load % "/home")
    main, inner = driver.tab.page.frames.all()
    assert inner.session is main.session
    assert "Home" in await driver.snapshot()
    await driver.page_says(load % f"http://localhost:{driver.site.port}/inner")
    assert "Pay" in await driver.snapshot()
    with pytest.raises(Refusal) as caught:
        await driver.click(ref=ref)
    assert caught.value.code == ErrorCode.ERROR_CODE_STALE_REF


async def test_every_process_is_told_the_session_s_settings(full_driver: Driver) -> None:
    driver = full_driver
    driver.site.put(
        "/where", "<script>parent.postMessage(Intl.DateTimeFormat().resolvedOptions().timeZone, '*')</script>"
    )
    await driver.show(
        "<script>window.got = []; onmessage = (e) => got.push(e.data)</script>"
        f"<iframe src=http://localhost:{driver.site.port}/where></iframe>"
    )
    assert await driver.page_says("got") == ["Asia/Tokyo"]
