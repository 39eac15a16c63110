"""type: real key events, in order, to the element and to nothing else; the value read back."""

from __future__ import annotations

import pytest
from hyperkitty.browser.v1 import operations_pb2 as pb
from hyperkitty.browser.v1.targets_pb2 import Target
from hyperkitty.operations.v1.errors_pb2 import ErrorCode

from services.kit.errors import Refusal
from tests.integration.page.driving import Driver


async def test_trusted_key_events_in_order(driver: Driver) -> None:
    await driver.show("<label>Name <input id=n></label>")
    result = await driver.type("aB1 ", role="textbox", name="Name")
    keys = await driver.seen("keydown", "keypress", "beforeinput", "input", "keyup")
    assert all(event["trusted"] and event["id"] == "n" for event in keys)
    one = ["keydown", "keypress", "beforeinput", "input", "keyup"]
    assert [event["type"] for event in keys] == [*one, "keydown", *one, "keyup", *one, *one]
    assert [(e["key"], e["code"], e["shift"]) for e in keys if e["type"] == "keydown"] == [
        ("a", "KeyA", False), ("Shift", "ShiftLeft", True), ("B", "KeyB", True), ("1", "Digit1", False),
        (" ", "Space", False),
    ]  # fmt: skip
    assert result.value == "aB1 "
    assert result.element.name == "Name"


async def test_text_without_keys_is_inserted(driver: Driver) -> None:
    await driver.show("<textarea id=n></textarea>")
    text = "né 漢字 👩‍👩‍👧 é!\nnext"
    result = await driver.type(text, selector="#n")
    assert result.value == text
    assert await driver.page_says("n.value") == text
    assert all(event["trusted"] for event in await driver.seen())


async def test_clear_append_and_password(driver: Driver) -> None:
    await driver.show(
        "<input id=n value='old text'><input id=p type=password value=x><div id=c contenteditable>some</div>"
    )
    assert (await driver.type("!", selector="#n")).value == "old text!"
    assert (await driver.type("new", selector="#n", clear=True)).value == "new"
    assert (await driver.type("", selector="#n", clear=True)).value == ""
    assert (await driver.type("secret", selector="#p", clear=True)).value == "••••••"
    assert await driver.page_says("p.value") == "secret"
    assert (await driver.type(" more", selector="#c")).value == "some more"
    assert all(event["trusted"] for event in await driver.seen())


async def test_without_a_target_what_has_focus_gets_it(driver: Driver) -> None:
    await driver.show("<input id=a><input id=b autofocus><div id=host></div><script>b.focus()</script>")
    await driver.type("hi")
    assert await driver.page_says("[a.value, b.value]") == ["", "hi"]
    await driver.page_says("document.activeElement.blur()")
    with pytest.raises(Refusal) as caught:
        await driver.type("hi")
    assert caught.value.details["reason"] == "not_focused"


async def test_submit_waits_for_the_document_it_leads_to(driver: Driver) -> None:
    driver.site.put("/found", "<title>Found</title>")
    await driver.show("<form action=/found><input name=q id=q></form>")
    result = await driver.type("tea & cake", selector="#q", submit=True)
    assert result.value == "tea & cake"
    assert driver.changed.url == driver.site.url("/found?q=tea+%26+cake")
    assert driver.changed.title == "Found"
    assert driver.changed.navigation.http_status == 200


async def test_keys_that_would_reach_another_element_are_stopped(driver: Driver) -> None:
    await driver.show(
        "<input id=a maxlength=2><input id=b><script>a.oninput = () => a.value.length == 2 && b.focus()</script>"
    )
    with pytest.raises(Refusal) as caught:
        await driver.type("abcdef", selector="#a")
    assert caught.value.code == ErrorCode.ERROR_CODE_OBSCURED
    assert await driver.page_says("[a.value, b.value]") == ["ab", ""]


@pytest.mark.parametrize(
    ("html", "reason"),
    [
        ("<input id=n readonly>", "read_only"),
        ("<input id=n disabled>", "disabled"),
        ("<input id=n type=checkbox>", "not_editable"),
        ("<select id=n><option>a</select>", "not_editable"),
        ("<input id=n style='display:none'>", "not_visible"),
        ("<p id=n>text</p>", "not_focusable"),
    ],
)
async def test_what_takes_no_text(driver: Driver, html: str, reason: str) -> None:
    await driver.show(html)
    with pytest.raises(Refusal) as caught:
        await driver.run(pb.TypeOperation(target={"selector": "#n"}, text="x"), seconds=0.8)  # type: ignore[arg-type]
    assert caught.value.code == ErrorCode.ERROR_CODE_NOT_INTERACTABLE
    assert caught.value.details["reason"] == reason


async def test_an_input_that_is_replaced_when_it_gets_focus(driver: Driver) -> None:
    await driver.show(
        "<input id=n><script>n.onfocus = () => setTimeout(() => n.replaceWith(n.cloneNode(true)), 0)</script>"
    )
    assert (await driver.type("text", selector="#n")).value == "text"


async def test_in_a_frame(driver: Driver) -> None:
    driver.site.put("/inner", "<input id=n aria-label=Inner>")
    await driver.show("<iframe src=/inner style='margin:30px'></iframe>")
    assert (await driver.type("deep", role="textbox", name="Inner")).value == "deep"
    assert (await driver.type("er")).value == "deeper"


async def test_two_thousand_characters(driver: Driver) -> None:
    await driver.show("<textarea id=n></textarea>", recorded=False)
    text = "the quick brown fox jumps " * 80
    result = await driver.type(text, selector="#n")
    assert result.value == text


async def test_case_13_controlled_inputs(driver: Driver) -> None:
    await driver.case("13-controlled-input")
    assert (await driver.type("abc", clear=True, role="textbox", name="City")).value == "abc"
    assert await driver.page_says("[state.textContent, c.value]") == ["abc", "abc"]
    assert (await driver.type("abcd", role="textbox", name="Only digits")).value == ""
    assert await driver.page_says("[state2.textContent, g.value]") == ["", ""]


async def test_a_password_is_in_no_name(driver: Driver) -> None:
    await driver.show(
        "<label id=l>Sign in <input id=p type=password></label><button id=b aria-labelledby='l p'>Go</button>"
        "<h2>Head <input type=password value=HUNTER2></h2>"
    )
    await driver.type("HUNTER2", selector="#p")
    snapshot = await driver.snapshot()
    assert "HUNTER2" not in snapshot
    assert "Sign in" in snapshot
    for selector in ("#l", "#b", "h2"):
        found = await driver.run(pb.QueryElementOperation(target=Target(selector=selector)))
        assert "HUNTER2" not in str(found)
