"""Which key events a text becomes."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from services.browser.cdp.domains.input import DispatchKeyEvent, InsertText
from services.browser.page.keyboard import stroke, text_events
from services.browser.page.keys import CONTROL, LAYOUT, NAMED, SHIFT


def entered(text: str) -> str:
    """What the events put into a control."""
    out = ""
    for event in text_events(text):
        if isinstance(event, InsertText):
            out += event.text
        elif isinstance(event, DispatchKeyEvent) and event.type == "keyDown":
            out += event.text or ""
    return out


@given(st.text(max_size=200))
def test_every_text_arrives_whole_and_in_order(text: str) -> None:
    assert entered(text) == text.replace("\r\n", "\r").replace("\n", "\r")


@given(st.text(alphabet=st.sampled_from(sorted(LAYOUT)), max_size=100))
def test_every_key_that_goes_down_comes_up(text: str) -> None:
    held: set[str] = set()
    for event in text_events(text):
        assert isinstance(event, DispatchKeyEvent)
        assert event.code is not None
        if event.type == "keyUp":
            held.remove(event.code)
        else:
            assert event.code not in held
            held.add(event.code)
    assert held == set()


def test_shift_is_held_over_a_run_of_shifted_characters() -> None:
    events = [event for event in text_events("aBC!d") if isinstance(event, DispatchKeyEvent)]
    assert [(event.type, event.key, event.modifiers) for event in events if event.type != "keyUp"] == [
        ("keyDown", "a", None), ("rawKeyDown", "Shift", SHIFT), ("keyDown", "B", SHIFT), ("keyDown", "C", SHIFT),
        ("keyDown", "!", SHIFT), ("keyDown", "d", None),
    ]  # fmt: skip


def test_a_combination_enters_no_text() -> None:
    events = stroke(LAYOUT["a"], CONTROL, ["selectAll"])
    keys = [event for event in events if isinstance(event, DispatchKeyEvent)]
    assert [(event.type, event.key) for event in keys] == [
        ("rawKeyDown", "Control"), ("rawKeyDown", "a"), ("keyUp", "a"), ("keyUp", "Control"),
    ]  # fmt: skip
    assert all(event.text is None for event in keys)
    assert keys[1].commands == ["selectAll"]
    assert NAMED["Enter"].text == "\r"
