"""check and select_option: what the page saw, and what is refused (cases 14 and 15)."""

from __future__ import annotations

import time
from typing import Any

import pytest
from hyperkitty.browser.v1 import operations_pb2 as pb
from hyperkitty.browser.v1.targets_pb2 import Target
from hyperkitty.operations.v1.errors_pb2 import ErrorCode

from services.kit.errors import Refusal
from tests.integration.page.driving import Driver


async def check(driver: Driver, checked: bool, seconds: float = 3.0, **target: Any) -> pb.CheckResult:
    return await driver.run(pb.CheckOperation(target=Target(**target), checked=checked), seconds)


async def select(driver: Driver, role: str, name: str, **more: Any) -> pb.SelectOptionResult:
    return await driver.run(pb.SelectOptionOperation(target=Target(role=role, name=name), **more), 3.0)


async def test_a_box_is_clicked_only_when_it_must_change(driver: Driver) -> None:
    await driver.show("<label><input type=checkbox id=a> Milk</label><input type=radio id=r name=g aria-label=R>")
    assert (await check(driver, True, role="checkbox", name="Milk")).checked
    assert (await check(driver, True, role="checkbox", name="Milk")).checked
    clicks = await driver.seen("click")
    assert [(e["id"], e["trusted"]) for e in clicks] == [("a", True)]
    assert not (await check(driver, False, role="checkbox", name="Milk")).checked
    assert (await check(driver, True, selector="#r")).checked
    assert await driver.page_says("[a.checked, r.checked]") == [False, True]
    with pytest.raises(Refusal) as caught:
        await check(driver, False, selector="#r")
    assert caught.value.code == ErrorCode.ERROR_CODE_NOT_INTERACTABLE


async def test_a_switch_that_changes_late_and_one_that_does_not(driver: Driver) -> None:
    await driver.show(
        "<div role=switch id=s aria-checked=false tabindex=0>Dark</div><input type=checkbox id=no aria-label=No>"
        "<script>s.onclick = () => setTimeout(() => s.setAttribute('aria-checked', 'true'), 100);"
        "no.onclick = (e) => e.preventDefault()</script>"
    )
    assert (await check(driver, True, role="switch", name="Dark")).checked
    with pytest.raises(Refusal) as caught:
        await check(driver, True, selector="#no")
    assert caught.value.details["reason"] == "not_changed"
    with pytest.raises(Refusal) as caught:
        await check(driver, True, selector="body")
    assert caught.value.details["reason"] == "not_checkable"


async def test_native_select(driver: Driver) -> None:
    await driver.case("14-native-select")
    log = "log.textContent.trim().split('\\n')"
    result = await select(driver, "combobox", "Meal", labels=["Pickup"])
    assert list(result.selected) == ["pickup"]
    assert driver.changed.synthetic
    assert await driver.page_says(log) == ["input Meal pickup", "change Meal pickup"]
    began = time.monotonic()
    with pytest.raises(Refusal) as caught:
        await driver.click(role="option", name="Delivery")
    assert "select_option" in caught.value.hint
    assert time.monotonic() - began < 1
    with pytest.raises(Refusal) as caught:
        await select(driver, "combobox", "Meal", labels=["Closed"])
    assert caught.value.details["reason"] == "disabled"
    with pytest.raises(Refusal) as caught:
        await select(driver, "combobox", "Meal", labels=["Nope"])
    assert caught.value.code == ErrorCode.ERROR_CODE_NOT_FOUND
    assert "Pickup" in str(caught.value.details["options"])
    assert caught.value.details["reason"] == "option"
    with pytest.raises(Refusal) as caught:
        await select(driver, "combobox", "Meal", values=["dine", "pickup"])
    assert caught.value.code == ErrorCode.ERROR_CODE_INVALID_ARGUMENTS
    assert await driver.page_says("Meal.value") == "pickup"
    await select(driver, "listbox", "Days", values=["mon", "wed"])
    assert (await driver.page_says(log))[-1] == "change Days mon,wed"
    await select(driver, "combobox", "Meal", labels=["Same"])
    assert await driver.page_says("Meal.value") == "s1"
    await select(driver, "combobox", "Meal", values=["s2"])
    assert await driver.page_says("Meal.value") == "s2"
    await select(driver, "listbox", "Days", indexes=[1])
    assert await driver.page_says("[...Days.selectedOptions].map((o) => o.value)") == ["tue"]


async def test_custom_combobox_step_by_step_and_in_one(driver: Driver) -> None:
    await driver.case("15-custom-combobox")
    await driver.click(role="combobox", name="Ship by")
    await driver.run(pb.WaitForOperation(target=Target(role="option", name="Delivery")))
    assert "expanded" in await driver.snapshot()
    await driver.click(role="option", name="Delivery")
    assert await driver.page_says("log.textContent") == "chosen Delivery"
    await driver.case("15-custom-combobox")
    await driver.type("pic", role="combobox", name="Ship by")
    await driver.run(pb.WaitForOperation(target=Target(role="option", name="Pickup")))
    for key in ("ArrowDown", "Enter"):
        await driver.run(pb.PressKeyOperation(key=key))
    assert await driver.page_says("log.textContent") == "chosen Pickup"
    await driver.case("15-custom-combobox")
    result = await select(driver, "combobox", "Ship by", labels=["Dine in"])
    assert list(result.selected) == ["Dine in"]
    assert await driver.page_says("log.textContent") == "chosen Dine in"
    assert not driver.changed.synthetic


async def test_what_is_no_list_is_refused(driver: Driver) -> None:
    await driver.show("<button id=b>Button</button>")
    with pytest.raises(Refusal) as caught:
        await select(driver, "button", "Button", labels=["x"])
    assert caught.value.details["reason"] == "not_a_list"
