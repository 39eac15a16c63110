from __future__ import annotations

from tests.integration.page.driving import Driver


async def test_click_reaches_the_element_with_trusted_events_in_order_and_place(driver: Driver) -> None:
    await driver.show("<button id=go style='position:absolute;left:100px;top:50px;width:80px;height:40px'>Go</button>")
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
