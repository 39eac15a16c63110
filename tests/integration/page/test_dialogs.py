"""handle_dialog: dialogs of every kind are answered, and nothing waits for them (cases 07 and 08)."""

from __future__ import annotations

import time
from contextlib import suppress

import pytest
from hyperkitty.browser.v1 import operations_pb2 as pb
from hyperkitty.browser.v1 import sessions_pb2
from hyperkitty.browser.v1.targets_pb2 import Target
from hyperkitty.operations.v1.errors_pb2 import ErrorCode

from services.browser.page.wire import DialogInterrupted
from services.kit.errors import Refusal
from tests.integration.page.driving import Driver


async def answer(driver: Driver, *, accept: bool, text: str = "") -> sessions_pb2.Dialog:
    operation = pb.HandleDialogOperation(tab_id=driver.tab.tab_id, accept=accept, prompt_text=text)
    return (await driver.run(operation)).dialog


async def opened(driver: Driver) -> str:
    """The message of the dialog that is open, or opens."""
    with suppress(DialogInterrupted):
        await driver.tab.page.conditions.until(lambda: driver.tab.dialog is not None, 3.0)
    assert driver.tab.dialog is not None
    return driver.tab.dialog.message


async def test_a_dialog_on_load_ends_the_navigation(driver: Driver) -> None:
    began = time.monotonic()
    await driver.case("07-dialog-on-load")
    assert time.monotonic() - began < 3
    assert driver.changed.dialog.kind == sessions_pb2.DIALOG_KIND_ALERT
    assert driver.changed.dialog.message == "hello from parser"
    dialog = await answer(driver, accept=True)
    assert dialog.message == "hello from parser"
    assert not driver.changed.HasField("dialog")
    await driver.run(pb.WaitForOperation(tab_id=driver.tab.tab_id, text="After"))
    assert await driver.page_says("log.textContent") == "done"


async def test_late_dialogs_block_reads_and_nothing_hangs(driver: Driver) -> None:
    await driver.case("08-dialog-late")
    began = time.monotonic()
    await driver.click(role="button", name="Delete")
    assert await opened(driver) == "Really delete?"
    with pytest.raises(Refusal) as caught:
        await driver.snapshot()
    assert caught.value.code == ErrorCode.ERROR_CODE_DIALOG_OPEN
    await answer(driver, accept=False)
    await driver.click(role="button", name="Delete")
    assert await opened(driver) == "Really delete?"
    await answer(driver, accept=True)
    await driver.click(role="button", name="Rename")
    assert driver.changed.dialog.default_prompt == "old-name"
    await answer(driver, accept=True, text="new-name")
    await driver.click(role="button", name="Three alerts")
    for number in range(1, 4):
        assert await opened(driver) == f"alert {number}"
        await answer(driver, accept=True)
    assert await driver.page_says("log.textContent.trim().split('\\n')") == [
        "confirm false", "confirm true", "prompt new-name", "alerts 3",
    ]  # fmt: skip
    assert time.monotonic() - began < 5
    with pytest.raises(Refusal) as caught:
        await answer(driver, accept=True)
    assert caught.value.code == ErrorCode.ERROR_CODE_WRONG_STATE


async def test_an_accepted_beforeunload_lets_the_page_go(driver: Driver) -> None:
    there = driver.site.put("/there", "<title>There</title>")
    await driver.show(f"<a href={there}>Go</a><script>onbeforeunload = (e) => e.preventDefault()</script>")
    await driver.run(pb.ClickOperation(target=Target(role="link", name="Go")))
    assert driver.changed.dialog.kind == sessions_pb2.DIALOG_KIND_BEFOREUNLOAD
    await answer(driver, accept=False)
    assert driver.changed.url == driver.site.url("/")
    await driver.click(role="link", name="Go")
    await answer(driver, accept=True)
    assert (driver.changed.url, driver.changed.title) == (there, "There")
