"""press_key and hover: what the page saw of the keys and the pointer."""

from __future__ import annotations

import pytest
from hyperkitty.browser.v1 import operations_pb2 as pb
from hyperkitty.browser.v1.targets_pb2 import Target
from hyperkitty.operations.v1.errors_pb2 import ErrorCode

from services.kit.errors import Refusal
from tests.integration.page.driving import Driver


async def press(driver: Driver, key: str, repeat: int = 0, **target: str) -> pb.PressKeyResult:
    named = Target(**target) if target else None  # pyright: ignore[reportArgumentType]
    return await driver.run(pb.PressKeyOperation(target=named, key=key, repeat=repeat))


async def test_a_combination_is_held_and_let_go_in_order(driver: Driver) -> None:
    await driver.show("<input id=a value='some text'><input id=b>")
    result = await press(driver, "Control+A", selector="#a")
    keys = await driver.seen("keydown", "keyup")
    assert [(e["type"], e["key"], e["ctrl"], e["id"]) for e in keys] == [
        ("keydown", "Control", True, "a"), ("keydown", "a", True, "a"), ("keyup", "a", True, "a"),
        ("keyup", "Control", False, "a"),
    ]  # fmt: skip
    assert all(event["trusted"] for event in keys)
    assert await driver.page_says("[a.selectionStart, a.selectionEnd]") == [0, 9]
    assert result.element.attributes["id"] == "a"
    await press(driver, "Delete")
    assert await driver.page_says("a.value") == ""


async def test_tab_moves_focus_on_and_the_keys_after_it_follow(driver: Driver) -> None:
    await driver.show("<input id=a><input id=b><input id=c><button id=d>D</button>")
    await press(driver, "Tab", repeat=3, selector="#a")
    assert await driver.page_says("document.activeElement.id") == "d"
    await press(driver, "Shift+Tab")
    assert await driver.page_says("document.activeElement.id") == "c"
    await press(driver, "X")
    assert await driver.page_says("c.value") == "X"


async def test_enter_on_a_link_waits_for_its_document(driver: Driver) -> None:
    there = driver.site.put("/there", "<title>There</title>")
    await driver.show(f"<a id=l href={there}>Go</a>")
    await press(driver, "Enter", selector="#l")
    assert (driver.changed.url, driver.changed.title) == (there, "There")


async def test_without_focus_the_document_gets_the_key(driver: Driver) -> None:
    await driver.show("<p>text</p>")
    result = await press(driver, "Escape")
    assert [e["key"] for e in await driver.seen("keydown", "keyup")] == ["Escape", "Escape"]
    assert not result.HasField("element")


@pytest.mark.parametrize("key", ["Hyper+A", "Control+Nokey", "ab", "Control+"])
async def test_what_is_no_key_is_refused(driver: Driver, key: str) -> None:
    await driver.show("<input id=a autofocus>")
    with pytest.raises(Refusal) as caught:
        await press(driver, key)
    assert caught.value.code == ErrorCode.ERROR_CODE_INVALID_ARGUMENTS
    assert await driver.seen("keydown") == []


async def test_a_key_that_focus_would_take_elsewhere_is_stopped(driver: Driver) -> None:
    await driver.show("<input id=a><input id=b><script>a.onfocus = () => b.focus()</script>")
    with pytest.raises(Refusal) as caught:
        await press(driver, "x", selector="#a")
    assert caught.value.details["reason"] == "not_focusable"
    assert await driver.page_says("[a.value, b.value]") == ["", ""]


async def test_hover_opens_a_menu_and_stays(driver: Driver) -> None:
    await driver.show(
        "<style>#s{display:none} #m:hover #s{display:block} body{margin:0}</style>"
        "<div id=m style='width:200px'><button id=b style='width:100px;height:40px'>Menu</button>"
        "<a id=s href='#x'>Item</a></div>"
    )
    result = await driver.run(pb.HoverOperation(target=Target(role="button", name="Menu")))
    assert result.element.name == "Menu"
    moves = await driver.seen("pointermove")
    assert [(e["id"], e["x"], e["y"], e["trusted"]) for e in moves][-1:] == [("b", 50, 20, True)]
    await driver.click(role="link", name="Item")
    assert driver.changed.url.endswith("#x")
    assert await driver.seen("wheel") == []


async def test_hover_over_what_is_covered_is_refused(driver: Driver) -> None:
    await driver.show("<button id=b>Under</button><div id=over style='position:fixed;inset:0'></div>")
    with pytest.raises(Refusal) as caught:
        await driver.run(pb.HoverOperation(target=Target(selector="#b")), seconds=1.0)
    assert caught.value.code == ErrorCode.ERROR_CODE_OBSCURED
