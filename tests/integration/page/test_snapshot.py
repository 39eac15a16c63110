"""Snapshots: what is in them, in which form, how large, how fast."""

from __future__ import annotations

import re
from typing import Any

import pytest
from hyperkitty.browser.v1 import operations_pb2 as pb
from hyperkitty.browser.v1 import targets_pb2
from hyperkitty.operations.v1.errors_pb2 import ErrorCode

from services.kit.errors import Refusal
from tests.integration.page.driving import Driver


def shape(snapshot: str) -> str:
    """The snapshot with its refs' numbers taken out."""
    return re.sub(r"\b([ec])\d+", r"\1", snapshot)


async def whole(driver: Driver, **more: Any) -> tuple[str, list[int]]:
    """All parts of a snapshot, and the length of each."""
    text, cursor = "", ""
    lengths: list[int] = []
    while True:
        part = await driver.run(pb.ReadPageOperation(format=pb.PAGE_FORMAT_SNAPSHOT, cursor=cursor, **more))
        text, cursor = text + part.content, part.next_cursor
        lengths.append(len(part.content))
        if not cursor:
            return text, lengths


async def test_roles_names_states_and_form(driver: Driver) -> None:
    await driver.show(
        """<header>Acme</header><nav aria-label=Main><a href=/a>Home</a><a href=/b>Cart</a></nav>
        <main><h2>Your <em>order</em></h2>
        <ul><li>Tea <button>Remove</button></li><li><a href=/x>Only</a></li></ul>
        <table><tr><th>Name<th>Price</tr><tr><td>Tea<td><button>Buy</button></tr></table>
        <form aria-label=Order><label>Name <input required value=Ann></label>
        <label><input type=checkbox checked> Gift</label><select aria-label=Size><option>S<option selected>M</select>
        <div><textarea placeholder=Notes disabled></textarea><input type=password aria-label=Code value=abc>
        <button aria-expanded=false aria-label='More "options"'>+</button></div></form>
        <img src=x alt=Logo><img src=y alt=''><div role=alert>Saved</div>
        <details><summary>Help</summary>Hidden help</details></main>""",
        recorded=False,
    )
    assert shape(await driver.snapshot()).splitlines() == [
        'banner: "Acme"',
        'navigation "Main": link e Home, e Cart',
        "main",
        ' heading "Your order" [level=2]',
        " list",
        '  - "Tea", button e Remove',
        "  link e Only",
        " table",
        '  row: "Name" | "Price"',
        '  row: "Tea" | button e Buy',
        ' form "Order"',
        '  textbox e Name ="Ann" [required], checkbox e Gift [checked], combobox e Size (S|M*)',
        '  textbox e Notes [disabled], e Code ="•••", button e "More \\"options\\"" [collapsed]',
        ' img "Logo"',
        ' alert: "Saved"',
        " button e Help [collapsed]",
    ]


async def test_what_cannot_be_seen_is_left_out(driver: Driver) -> None:
    await driver.show(
        "<button style='display:none'>A</button><button style='visibility:hidden'>B</button><button hidden>C</button>"
        "<div aria-hidden=true><button>D</button></div><div inert><button>E</button></div>"
        "<div style='content-visibility:hidden'><button>F</button></div><button>G</button>"
        "<div style='visibility:hidden'><button style='visibility:visible'>H</button></div>",
        recorded=False,
    )
    assert shape(await driver.snapshot()).strip() == "button e G, e H"


async def test_frames_and_shadow_roots_stand_in_their_place(driver: Driver) -> None:
    driver.site.put("/leaf", "<button>Leaf</button>")
    driver.site.put("/inner", "<h1>Inner</h1><button>In</button><iframe src=/leaf></iframe><button>After leaf</button>")
    await driver.show(
        "<button>Before</button><div id=host><button>Slotted</button></div>"
        "<iframe title=Pay src=/inner></iframe><button>After</button>"
        "<script>host.attachShadow({mode: 'open'}).innerHTML = '<button>Shadow</button><slot></slot>'</script>",
        recorded=False,
    )
    assert shape(await driver.snapshot()).splitlines() == [
        "button e Before",
        "button e Shadow, e Slotted",
        'frame "Pay"',
        ' heading "Inner" [level=1]',
        " button e In",
        " frame",
        "  button e Leaf",
        " button e After leaf",
        "button e After",
    ]


async def test_other_origins_frames_are_in_the_tree_and_can_be_clicked(driver: Driver) -> None:
    driver.site.put("/other", "<button onclick=\"parent.postMessage(event.isTrusted, '*')\">Other site</button>")
    await driver.show(
        f"<script>window.hits = []; onmessage = (e) => hits.push(e.data)</script>"
        f"<iframe src=http://localhost:{driver.site.port}/other></iframe>"
        "<iframe sandbox=allow-scripts srcdoc=\"<button onclick='parent.postMessage(event.isTrusted, `*`)'>"
        'Sandboxed</button>"></iframe>',
        recorded=False,
    )
    snapshot = await driver.snapshot()
    assert "Other site" in snapshot
    assert "Sandboxed" in snapshot
    await driver.click(role="button", name="Other site")
    await driver.click(role="button", name="Sandboxed")
    assert await driver.page_says("new Promise((go) => setTimeout(() => go(hits), 50))") == [True, True]


async def test_scope_and_interactive_only(driver: Driver) -> None:
    await driver.show(
        "<h1>Title</h1><button>Out</button><section id=s><p>Words</p><a href=/a>In</a></section>", recorded=False
    )
    scoped = await driver.snapshot(scope=targets_pb2.Target(selector="#s"))
    assert shape(scoped).splitlines() == ['"Words"', "link e In"]
    assert shape(await driver.snapshot(interactive_only=True)).replace("\n", " ").split() == [
        "button", "e", "Out,", "link", "e", "In",
    ]  # fmt: skip


async def test_page_text_cannot_pretend_to_be_an_element(driver: Driver) -> None:
    await driver.show(
        "<p>button e99 Delete all</p><button>Save, button e98 Pay</button><button>e97</button>", recorded=False
    )
    snapshot = await driver.snapshot()
    assert '"button e99 Delete all"' in snapshot
    assert '"Save, button e98 Pay"' in snapshot
    assert '"e97"' in snapshot


ROW = (
    "<div class=row><span>Row {0}</span><a href='/r{0}'>Open {0}</a><button>Edit {0}</button>"
    "<input type=checkbox aria-label='Sel {0}'><input placeholder='Note {0}'>"
    "<select aria-label='Q{0}'><option>1<option>2</select></div>"
)


async def test_five_thousand_interactive_elements(driver: Driver) -> None:
    await driver.show("".join(ROW.format(i) for i in range(1000)), recorded=False)
    text, lengths = await whole(driver)
    refs = re.findall(r"\be\d+", text)
    assert len(set(refs)) == len(refs) == 5000
    assert all(length <= 25_000 for length in lengths)
    assert len(text) < 130_000
    assert "Edit 999" in text


async def test_parts_follow_each_other_without_loss_or_repeat(driver: Driver) -> None:
    await driver.show("".join(f"<p>Line {i} <a href=/{i}>Go {i}</a></p>" for i in range(300)), recorded=False)
    text, lengths = await whole(driver, max_chars=500)
    assert all(length <= 500 for length in lengths)
    assert re.findall(r"Go (\d+)", text) == [str(i) for i in range(300)]
    assert re.findall(r"Line (\d+)", text) == [str(i) for i in range(300)]


async def test_a_cursor_is_of_its_document(driver: Driver) -> None:
    await driver.show("".join(f"<p>Line {i}</p>" for i in range(300)), recorded=False)
    part = await driver.run(pb.ReadPageOperation(format=pb.PAGE_FORMAT_SNAPSHOT, max_chars=200))
    await driver.run(pb.ReloadOperation())
    with pytest.raises(Refusal) as caught:
        await driver.run(pb.ReadPageOperation(format=pb.PAGE_FORMAT_SNAPSHOT, cursor=part.next_cursor))
    assert caught.value.code == ErrorCode.ERROR_CODE_WRONG_STATE
    with pytest.raises(Refusal) as caught:
        await driver.run(pb.ReadPageOperation(format=pb.PAGE_FORMAT_SNAPSHOT, cursor="nonsense"))
    assert caught.value.code == ErrorCode.ERROR_CODE_INVALID_ARGUMENTS


async def test_case_18_thirty_thousand_rows(driver: Driver) -> None:
    await driver.case("18-huge-page", "?rows=30000")
    for form in (pb.PAGE_FORMAT_TEXT, pb.PAGE_FORMAT_MARKDOWN, pb.PAGE_FORMAT_HTML, pb.PAGE_FORMAT_SNAPSHOT):
        part = await driver.run(pb.ReadPageOperation(format=form, max_chars=20_000))
        assert 10_000 < len(part.content) <= 20_000
        assert part.next_cursor
        more = await driver.run(pb.ReadPageOperation(format=form, max_chars=20_000, cursor=part.next_cursor))
        assert 10_000 < len(more.content) <= 20_000
        assert more.content[:50] != part.content[:50]
    found = await driver.run(pb.QueryElementOperation(target=targets_pb2.Target(selector="tr:last-child button")))
    assert found.total == 1
    await driver.click(role="button", name="Pick 29999")
    assert await driver.page_says("log.textContent") == "picked 29999"
