"""Refs: stable, never reused, gone with their element; and snapshots leave no trace in the page."""

from __future__ import annotations

import re
import time

import pytest
from hyperkitty.browser.v1 import operations_pb2 as pb
from hyperkitty.browser.v1 import targets_pb2
from hyperkitty.operations.v1.errors_pb2 import ErrorCode

from services.kit.errors import Refusal
from tests.integration.page.driving import Driver

WATCHED = """
<main><h1>List</h1><button id=a>Alpha</button><button id=b>Beta</button><input id=i><div id=host></div>
<div style='cursor:pointer' id=c>Row</div></main>
<script>
host.attachShadow({mode: 'open'}).innerHTML = '<button>Shadow</button>';
window.changes = 0;
const watch = new MutationObserver((all) => changes += all.length);
for (const root of [document, host.shadowRoot])
  watch.observe(root, {subtree: true, childList: true, attributes: true, characterData: true});
window.names = '';
window.protos = JSON.stringify([Element, Node, Document, EventTarget, Window].map((c) =>
  Object.getOwnPropertyNames(c.prototype).sort()));
names = Object.getOwnPropertyNames(window).sort().join();
</script>"""


def refs_of(snapshot: str) -> dict[str, str]:
    """Name of each element with a ref."""
    return {name.strip(' "'): ref for ref, name in re.findall(r'\b([ec]\d+) ("[^"]*"|[^,\[=|\n]+)', snapshot)}


async def test_a_snapshot_changes_nothing_the_page_can_see(driver: Driver) -> None:
    await driver.show(WATCHED)
    await driver.snapshot()
    await driver.run(pb.ReadPageOperation(format=pb.PAGE_FORMAT_MARKDOWN))
    await driver.run(pb.ExtractLinksOperation())
    await driver.click(selector="#a")
    assert await driver.page_says("changes") == 0
    assert await driver.page_says("Object.getOwnPropertyNames(window).sort().join() === names")
    assert await driver.page_says(
        "protos === JSON.stringify([Element, Node, Document, EventTarget, Window].map((c) =>"
        " Object.getOwnPropertyNames(c.prototype).sort()))"
    )
    assert await driver.page_says("[a, b, i, c, host].every((e) => !Object.keys(e).length)")
    assert all(event["trusted"] for event in await driver.seen())


async def test_the_same_element_keeps_its_ref_and_a_number_is_never_used_again(driver: Driver) -> None:
    await driver.show("<button>Alpha</button><button>Beta</button>")
    first = refs_of(await driver.snapshot())
    await driver.page_says("document.querySelector('button').before(document.createElement('p'))")
    await driver.page_says(
        "document.body.append(Object.assign(document.createElement('button'), {textContent: 'Gamma'}))"
    )
    second = refs_of(await driver.snapshot())
    assert {name: second[name] for name in first} == first
    await driver.go(driver.tab.page.url)
    third = refs_of(await driver.snapshot())
    assert third.keys() == first.keys()
    assert not set(third.values()) & set(second.values())
    other = await Driver.open(driver.session, driver.site)
    await other.go(driver.tab.page.url)
    assert not set(refs_of(await other.snapshot()).values()) & set(third.values())


async def test_an_element_only_clickable_in_practice_has_a_c(driver: Driver) -> None:
    await driver.show(WATCHED)
    refs = refs_of(await driver.snapshot())
    assert refs["Row"][0] == "c"
    assert {refs[name][0] for name in ("Alpha", "Beta", "Shadow")} == {"e"}
    await driver.click(ref=refs["Row"])
    assert [event["id"] for event in await driver.seen("click")] == ["c"]


async def test_a_twin_is_stale_and_gets_nothing(driver: Driver) -> None:
    await driver.show(
        "<button id=b>Pay</button><script>window.hits = 0;"
        "window.swap = () => { const twin = b.cloneNode(true);"
        "twin.onclick = () => hits++; b.replaceWith(twin) }</script>"
    )
    ref = await driver.ref("button", "Pay")
    await driver.page_says("swap()")
    started = time.perf_counter()
    with pytest.raises(Refusal) as caught:
        await driver.click(ref=ref)
    took = time.perf_counter() - started
    refused = caught.value
    assert refused.code == ErrorCode.ERROR_CODE_STALE_REF
    assert took < 2  # it does not wait for the deadline of 30 s; how quick it is, the bench says
    assert await driver.page_says("hits") == 0
    assert (refused.details["role"], refused.details["name"]) == ("button", "Pay")
    [like] = refused.details["replacements"]  # type: ignore[misc]
    assert (like["role"], like["name"]) == ("button", "Pay")  # type: ignore[index,call-overload]
    await driver.click(ref=str(like["ref"]))  # type: ignore[index,call-overload]
    assert await driver.page_says("hits") == 1


async def test_refs_die_with_their_document(driver: Driver) -> None:
    await driver.show("<button>Pay</button>")
    ref = await driver.ref("button", "Pay")
    await driver.run(pb.ReloadOperation())
    for operation in (
        pb.ClickOperation(target=targets_pb2.Target(ref=ref)),
        pb.TypeOperation(target=targets_pb2.Target(ref=ref), text="x"),
        pb.QueryElementOperation(target=targets_pb2.Target(ref=ref)),
        pb.ReadPageOperation(format=pb.PAGE_FORMAT_SNAPSHOT, scope=targets_pb2.Target(ref=ref)),
    ):
        with pytest.raises(Refusal) as caught:
            await driver.run(operation)
        assert caught.value.code == ErrorCode.ERROR_CODE_STALE_REF, operation
    assert await driver.seen("click", "keydown") == []


async def test_refs_in_a_frame_die_with_its_document_only(driver: Driver) -> None:
    driver.site.put("/one", "<button>Inner</button>")
    driver.site.put("/two", "<button>Inner</button>")
    await driver.show("<button>Outer</button><iframe src=/one></iframe>")
    refs = refs_of(await driver.snapshot())
    await driver.page_says(
        "new Promise((go) => { const f = document.querySelector('iframe'); f.onload = go; f.src = '/two' })"
    )
    with pytest.raises(Refusal) as caught:
        await driver.click(ref=refs["Inner"])
    assert caught.value.code == ErrorCode.ERROR_CODE_STALE_REF
    assert len(caught.value.details["replacements"]) == 1  # type: ignore[arg-type]
    assert refs_of(await driver.snapshot())["Outer"] == refs["Outer"]


async def test_case_01_rerendered_list(driver: Driver) -> None:
    await driver.case("01-stale-ref-rerender")
    alpha, beta = await driver.ref("button", "Remove Alpha"), await driver.ref("button", "Remove Beta")
    await driver.click(role="button", name="Reload list")
    with pytest.raises(Refusal) as caught:
        await driver.click(ref=beta)
    assert caught.value.code == ErrorCode.ERROR_CODE_STALE_REF
    assert (await driver.page_says("log.textContent")).split() == ["reloaded"]
    await driver.click(ref=alpha)
    assert (await driver.page_says("log.textContent")).split("\n")[-2] == "removed Alpha"
    refs = refs_of(await driver.snapshot())
    assert refs["Remove Alpha"] == alpha
    assert refs["Remove Beta"] != beta


async def test_case_02_reload(driver: Driver) -> None:
    await driver.case("02-stale-ref-reload")
    ref = await driver.ref("textbox", "Name")
    await driver.run(pb.ReloadOperation())
    with pytest.raises(Refusal) as caught:
        await driver.type("abc", ref=ref)
    assert caught.value.code == ErrorCode.ERROR_CODE_STALE_REF
    assert await driver.page_says("log.textContent") == ""
