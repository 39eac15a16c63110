"""Answers without content, and pictures of very tall pages (cases 33 and 39)."""

from __future__ import annotations

import struct
import time

from hyperkitty.browser.v1 import operations_pb2 as pb
from hyperkitty.browser.v1 import targets_pb2 as targets

from tests.integration.page.driving import Driver
from tests.site import Page


async def test_answers_without_content_leave_the_page(driver: Driver) -> None:
    driver.site.pages["/srv/204"] = Page(b"", status=204)
    await driver.case("33-no-content-204")
    here = driver.tab.page.url
    began = time.monotonic()
    result = await driver.go(driver.site.url("/srv/204"))
    assert (result.navigation.outcome, result.navigation.http_status) == (targets.NAVIGATION_OUTCOME_NO_CONTENT, 204)
    await driver.click(role="link", name="nothing")
    assert driver.changed.navigation.outcome == targets.NAVIGATION_OUTCOME_NO_CONTENT
    await driver.click(role="button", name="frame 204")
    assert time.monotonic() - began < 5
    assert (driver.tab.page.url, driver.changed.url) == (here, here)
    await driver.run(pb.WaitForOperation(text="fetch 204"))
    log = await driver.run(pb.NetworkLogOperation())
    assert {entry.net_error for entry in log.entries if entry.resource_type == "fetch"} == {""}


async def test_a_very_tall_page_is_whole_or_says_that_it_is_cut(driver: Driver) -> None:
    await driver.case("39-tall-screenshot")
    began = time.monotonic()
    result = await driver.run(pb.ScreenshotOperation(full_page=True))
    data = b"".join([chunk async for chunk in driver.session.artifacts.read(result.artifact.artifact_id)])
    assert struct.unpack(">II", data[16:24]) == (result.width, result.height)
    assert (result.height == 20_000) != result.truncated
    assert time.monotonic() - began < 15
    band = await driver.run(pb.ScreenshotOperation(target=targets.Target(text="Band 199", exact=True)))
    assert (band.width, band.height) == (1280, 100)
