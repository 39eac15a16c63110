"""list_tabs and activate_tab: popups are tabs with an opener (case 10)."""

from __future__ import annotations

import pytest
from hyperkitty.browser.v1 import operations_pb2 as pb
from hyperkitty.operations.v1.errors_pb2 import ErrorCode

from services.kit.errors import Refusal
from tests.integration.page.driving import CASES, Driver


async def tabs(driver: Driver) -> list[tuple[str, str]]:
    listed = await driver.run(pb.ListTabsOperation(session_id=driver.session.session_id))
    return [(tab.tab_id, tab.title) for tab in listed.tabs]


async def test_popups_are_listed_and_brought_to_the_front(driver: Driver) -> None:
    folder = "10-popup-tabs"
    driver.site.put(f"/{folder}/pop.html", (CASES / folder / "pop.html").read_text(encoding="utf-8"))
    await driver.case(folder)
    opened: list[str] = []
    for role, name in (("link", "Blank link"), ("button", "Open window"), ("button", "Open and write")):
        await driver.click(role=role, name=name)
        assert len(driver.changed.new_tabs) == 1
        opened.append(driver.changed.new_tabs[0].tab_id)
        assert driver.changed.new_tabs[0].opener_tab_id in (driver.tab.tab_id, "")
    assert [tab_id for tab_id, _ in await tabs(driver)] == [driver.tab.tab_id, *opened]
    original = driver.tab
    driver.tab = driver.session.tabs[opened[0]]
    await driver.run(pb.WaitForOperation(url_pattern="**/pop.html?A"))
    result = await driver.run(pb.ActivateTabOperation())
    assert result.tab.tab_id == opened[0]
    await driver.run(pb.ReadPageOperation())
    titles = dict(await tabs(driver))
    assert titles[opened[0]] == "Popup A"
    await driver.run(pb.CloseTabOperation())
    driver.tab = original
    assert opened[0] not in dict(await tabs(driver))
    assert "Blank link" in await driver.snapshot()


async def test_activate_is_refused_while_a_dialog_is_open(driver: Driver) -> None:
    await driver.show("<button onclick='alert(1)'>A</button>")
    await driver.click(role="button", name="A")
    with pytest.raises(Refusal) as caught:
        await driver.run(pb.ActivateTabOperation())
    assert caught.value.code == ErrorCode.ERROR_CODE_DIALOG_OPEN
    await driver.run(pb.HandleDialogOperation(accept=True))
