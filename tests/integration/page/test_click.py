"""click: what the page records of it, what it refuses, and that nothing else ever gets it."""

from __future__ import annotations

from typing import Any

import pytest
from hyperkitty.browser.v1 import operations_pb2 as pb
from hyperkitty.browser.v1 import targets_pb2
from hyperkitty.operations.v1.errors_pb2 import ErrorCode

from services.kit.errors import Refusal
from tests.integration.page.driving import Driver

PLACED = "position:absolute;left:100px;top:50px;width:80px;height:40px"


async def refusal(driver: Driver, code: ErrorCode.ValueType, seconds: float = 1.0, **target: object) -> Refusal:
    with pytest.raises(Refusal) as caught:
        await driver.click(seconds, **target)
    assert caught.value.code == code, caught.value
    return caught.value


async def test_trusted_events_in_order_at_the_place(driver: Driver) -> None:
    await driver.show(f"<button id=go style='{PLACED}'>Go</button>")
    result = await driver.click(selector="#go")
    events = [event for event in await driver.seen() if (event["x"], event["y"]) != (0, 0)]
    pressed = [event for event in events if event["type"] != "pointermove"]
    assert [event["type"] for event in pressed] == ["pointerdown", "mousedown", "pointerup", "mouseup", "click"]
    assert all(event["trusted"] and event["id"] == "go" for event in events), events
    assert {(event["x"], event["y"]) for event in pressed} == {(140, 70)}
    assert (result.point.x, result.point.y) == (140, 70)
    assert result.element.role == "button"
    assert result.element.name == "Go"
    assert driver.changed.title == "Test"
    assert not driver.changed.HasField("navigation")


@pytest.mark.parametrize(
    "target",
    [
        {"role": "button", "name": "Save draft"},
        {"role": "button", "name": "save DRAFT"},
        {"text": "Save draft"},
        {"text": "draft"},
        {"selector": "form button.second"},
        {"role": "button", "nth": 1},
        {"selector": "button", "nth": 1},
        {"point": targets_pb2.Point(x=300, y=20)},
    ],
)
async def test_ways_to_name_the_element(driver: Driver, target: dict[str, Any]) -> None:
    await driver.show(
        "<form onsubmit='return false'><button style='position:absolute;left:10px;top:10px'>Save</button>"
        "<button class=second id=b "
        "style='position:absolute;left:250px;top:10px;width:99px;height:20px'>Save draft</button>"
        "</form>"
    )
    await driver.click(**target)
    assert [event["id"] for event in await driver.seen("click")] == ["b"]


async def test_whole_names_win_over_parts_and_exact_wants_whole_ones(driver: Driver) -> None:
    await driver.show("<button id=a>Save</button><button id=b>Save as</button>")
    await driver.click(role="button", name="save")
    assert [event["id"] for event in await driver.seen("click")] == ["a"]
    await refusal(driver, ErrorCode.ERROR_CODE_NOT_FOUND, role="button", name="save", exact=True)


async def test_ambiguous_names_candidates_with_refs(driver: Driver) -> None:
    await driver.show("<button>Delete</button><button>Delete</button><p>Delete nothing</p>")
    refused = await refusal(driver, ErrorCode.ERROR_CODE_AMBIGUOUS_TARGET, role="button", name="Delete")
    candidates = refused.details["candidates"]
    assert refused.details["total"] == 2
    assert [candidate["name"] for candidate in candidates] == ["Delete", "Delete"]  # type: ignore[index]
    await driver.click(ref=str(candidates[1]["ref"]))  # type: ignore[index]
    assert len(await driver.seen("click")) == 1


async def test_not_found_and_a_selector_that_is_none(driver: Driver) -> None:
    await driver.show("<p>nothing</p>")
    await refusal(driver, ErrorCode.ERROR_CODE_NOT_FOUND, selector="#none")
    await refusal(driver, ErrorCode.ERROR_CODE_INVALID_ARGUMENTS, selector="a[[")
    await refusal(driver, ErrorCode.ERROR_CODE_NOT_FOUND, ref="e999999")


async def test_count_button_modifiers_position(driver: Driver) -> None:
    await driver.show(f"<button id=go style='{PLACED}'>Go</button>")
    target = targets_pb2.Target(selector="#go")
    await driver.run(pb.ClickOperation(target=target, count=2, position=targets_pb2.Point(x=5, y=6)))
    events = await driver.seen("mousedown", "click", "dblclick")
    assert [(event["type"], event["detail"]) for event in events] == [
        ("mousedown", 1), ("click", 1), ("mousedown", 2), ("click", 2), ("dblclick", 2),
    ]  # fmt: skip
    assert {(event["x"], event["y"]) for event in events} == {(105, 56)}
    await driver.page_says("seen.length = 0")
    await driver.run(pb.ClickOperation(target=target, button=pb.MOUSE_BUTTON_RIGHT, modifiers=[pb.MODIFIER_SHIFT]))
    events = await driver.seen("keydown", "mousedown", "contextmenu", "auxclick", "keyup")
    assert [(event["type"], event["shift"]) for event in events if event["type"] in ("keydown", "keyup")] == [
        ("keydown", True), ("keyup", False),
    ]  # fmt: skip
    assert {event["button"] for event in events if event["type"] in ("mousedown", "contextmenu", "auxclick")} == {2}
    assert all(event["trusted"] and event["shift"] for event in events if event["type"] == "auxclick")


async def test_through_open_shadow_roots(driver: Driver) -> None:
    await driver.show(
        "<div id=host></div><script>const root = host.attachShadow({mode: 'open'});"
        "root.innerHTML = '<button id=inner>Inside</button>'; window.hits = [];"
        "root.getElementById('inner').onclick = (e) => hits.push(e.isTrusted)</script>"
    )
    await driver.click(role="button", name="Inside")
    await driver.click(selector="#inner")
    await driver.click(text="Inside")
    assert await driver.page_says("hits") == [True, True, True]


async def test_in_same_process_frames(driver: Driver) -> None:
    driver.site.put("/inner", "<body style='margin:0'><div style='height:900px'></div><button id=deep>Deep</button>"
                    "<script>window.onclick = (e) => top.hits.push([e.target.id, e.isTrusted])</script>")  # fmt: skip
    driver.site.put("/middle", "<body style='margin:3px'><iframe src=/inner style='border:7px solid'></iframe>")
    await driver.show(
        "<script>window.hits = []</script><div style='height:1500px'></div>"
        "<iframe src=/middle style='margin-left:40px;padding:5px;width:400px;height:300px'></iframe>"
    )
    await driver.click(role="button", name="Deep")
    assert await driver.page_says("hits") == [["deep", True]]
    ref = await driver.ref("button", "Deep")
    await driver.click(ref=ref)
    assert await driver.page_says("hits") == [["deep", True]] * 2


async def test_scrolled_into_view_under_a_sticky_header(driver: Driver) -> None:
    await driver.show(
        "<div style='position:sticky;top:0;height:100px;background:#eee'>head</div><div style='height:3000px'></div>"
        "<div style='height:120px;overflow:auto'><div style='height:900px'></div><button id=b>Deep</button></div>"
        "<div style='height:2000px'></div>"
    )
    await driver.click(selector="#b")
    assert [event["id"] for event in await driver.seen("click")] == ["b"]


async def test_a_partly_covered_element_is_hit_where_it_shows(driver: Driver) -> None:
    await driver.show(
        f"<button id=b style='{PLACED}'>Go</button>"
        "<div id=cover style='position:absolute;left:100px;top:50px;width:70px;height:40px;background:red'></div>"
    )
    await driver.click(selector="#b")
    assert [event["id"] for event in await driver.seen("click")] == ["b"]


async def test_obscured_says_by_what_and_the_cover_gets_nothing(driver: Driver) -> None:
    await driver.show(
        f"<button id=b style='{PLACED}'>Go</button>"
        "<div id=cover style='position:fixed;inset:0;background:#0008'>Wait</div>"
    )
    refused = await refusal(driver, ErrorCode.ERROR_CODE_OBSCURED, selector="#b")
    assert "cover" in str(refused.details["by"])
    assert await driver.seen("pointerdown", "mousedown", "click") == []


async def test_waits_for_a_cover_to_go_and_a_control_to_be_enabled(driver: Driver) -> None:
    await driver.show(
        f"<button id=b disabled style='{PLACED}'>Go</button><div id=cover style='position:fixed;inset:0'></div>"
        "<script>setTimeout(() => cover.remove(), 200); setTimeout(() => b.disabled = false, 400)</script>"
    )
    await driver.click(selector="#b")
    assert [event["id"] for event in await driver.seen("click")] == ["b"]


async def test_label_and_icon_reach_their_control(driver: Driver) -> None:
    await driver.show(
        "<style>#box{position:absolute;opacity:0} label{display:block;width:120px;height:30px}</style>"
        "<label><input id=box type=checkbox>"
        "<span style='display:block;position:relative;height:30px'>Agree</span></label>"
        "<button id=b><svg id=icon width=20 height=20 style='pointer-events:none'><rect width=20 height=20 /></svg>"
        "</button>"
    )
    await driver.click(selector="#box")
    assert await driver.page_says("box.checked") is True
    await driver.click(selector="#icon")
    assert [event["id"] for event in await driver.seen("click")][-1] == "b"


SWAPPER = """
<button id=b style='position:absolute;left:100px;top:50px;width:80px;height:40px'>Pay</button>
<script>
window.hits = {b: 0, twin: 0, cover: 0};
b.onclick = () => hits.b++;
const twin = () => { const t = b.cloneNode(true); t.id = 'twin'; t.onclick = () => hits.twin++;
  t.onmouseup = () => hits.twin++; b.replaceWith(t); };
const move = () => { b.style.left = '600px'; const t = b.cloneNode(true); t.id = 'twin'; t.style.left = '100px';
  t.onmousedown = t.onmouseup = t.onclick = () => hits.twin++; document.body.append(t); };
const cover = () => { const c = document.createElement('div'); c.id = 'cover';
  c.style = 'position:fixed;inset:0';
  for (const type of ['mousedown', 'mouseup', 'click']) c['on' + type] = () => hits.cover++;
  document.body.append(c); };
</script>
"""


@pytest.mark.parametrize("trick", ["twin", "move", "cover"])
@pytest.mark.parametrize("moment", ["pointermove", "mouseover", "pointerdown", "mousedown"])
async def test_a_page_that_changes_under_the_pointer_gets_obscured(driver: Driver, trick: str, moment: str) -> None:
    listen = f"addEventListener('{moment}', () => {{ if (window.on) {trick}(); window.on = false; }}, true)"
    await driver.show(f"{SWAPPER}<script>{listen}</script>")
    ref = await driver.ref("button", "Pay")
    await driver.page_says("window.on = true")
    with pytest.raises(Refusal) as caught:
        await driver.click(2.0, ref=ref)
    assert caught.value.code in (ErrorCode.ERROR_CODE_OBSCURED, ErrorCode.ERROR_CODE_STALE_REF), caught.value
    hits = await driver.page_says("hits")
    assert hits["twin"] == 0
    assert hits["cover"] == 0
    assert hits["b"] == 0


async def test_the_guard_leaves_nothing_behind(driver: Driver) -> None:
    await driver.show(
        f"<button id=a style='{PLACED}'>A</button><button id=b style='position:absolute;left:300px'>B</button>"
    )
    await driver.click(selector="#a")
    await driver.click(selector="#b")
    await driver.page_says("a.click()")
    assert [(event["id"], event["trusted"]) for event in await driver.seen("click")] == [
        ("a", True), ("b", True), ("a", False),
    ]  # fmt: skip


async def test_a_point_outside_the_viewport(driver: Driver) -> None:
    await driver.show("<p>x")
    refused = await refusal(driver, ErrorCode.ERROR_CODE_NOT_INTERACTABLE, point=targets_pb2.Point(x=5000, y=10))
    assert refused.details["reason"] == "out_of_viewport"


async def test_controls_named_like_properties_of_their_form(driver: Driver) -> None:
    await driver.show(
        "<form onsubmit='return false'><input name=localName><input name=getAttribute><input name=parentNode>"
        "<input name=shadowRoot><input name=isConnected><button id=b>Send it</button></form>"
    )
    assert "Send it" in await driver.snapshot()
    await driver.click(role="button", name="Send it")
    assert [event["id"] for event in await driver.seen("click")] == ["b"]
