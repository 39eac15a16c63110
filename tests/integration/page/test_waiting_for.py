"""wait_for and find_text: what comes late, what goes, what never comes."""

from __future__ import annotations

import time

import pytest
from hyperkitty.browser.v1 import operations_pb2 as pb
from hyperkitty.browser.v1.targets_pb2 import Target
from hyperkitty.operations.v1.errors_pb2 import ErrorCode

from services.kit.errors import Refusal
from tests.integration.page.driving import Driver

LATE = """<p id=p>first</p><button id=b disabled>Go</button><div id=gone>busy</div>
<script>setTimeout(() => { p.innerHTML = 'all <b>is</b> well'; b.disabled = false; gone.remove();
history.pushState(0, '', '/later/step/2') }, 200)</script>"""


@pytest.mark.parametrize(
    "condition",
    [
        pb.WaitForOperation(text="All is well"),
        pb.WaitForOperation(target=Target(selector="#b"), state=pb.ELEMENT_STATE_ENABLED),
        pb.WaitForOperation(target=Target(selector="#gone"), state=pb.ELEMENT_STATE_GONE),
        pb.WaitForOperation(target=Target(text="busy"), state=pb.ELEMENT_STATE_HIDDEN),
        pb.WaitForOperation(url_pattern="**/later/*/2"),
        pb.WaitForOperation(network_idle=True, time_ms=200),
    ],
    ids=["text", "enabled", "gone", "hidden", "url", "idle and time"],
)
async def test_what_comes_late_ends_the_wait(driver: Driver, condition: pb.WaitForOperation) -> None:
    await driver.show(LATE)
    result = await driver.run(condition)
    assert 50 <= result.waited_ms < 2000
    assert await driver.page_says("p.textContent") == "all is well"


@pytest.mark.parametrize(
    "condition",
    [
        pb.WaitForOperation(text="never"),
        pb.WaitForOperation(target=Target(selector="#p"), state=pb.ELEMENT_STATE_GONE),
        pb.WaitForOperation(target=Target(selector="#none")),
        pb.WaitForOperation(url_pattern="**/elsewhere"),
        pb.WaitForOperation(time_ms=5000),
    ],
    ids=["text", "gone", "visible", "url", "time"],
)
async def test_what_never_comes_ends_with_why(driver: Driver, condition: pb.WaitForOperation) -> None:
    await driver.show("<p id=p>here</p>")
    began = time.monotonic()
    with pytest.raises(Refusal) as caught:
        await driver.run(condition, seconds=1.0)
    assert caught.value.code == ErrorCode.ERROR_CODE_DEADLINE_EXCEEDED
    assert caught.value.details["waited_for"]
    assert time.monotonic() - began < 1.25


async def test_a_wait_goes_on_over_a_change_of_document(driver: Driver) -> None:
    there = driver.site.put("/there", "<title>There</title><p>arrived")
    await driver.show(f"<script>setTimeout(() => location = '{there}', 200)</script>")
    await driver.run(pb.WaitForOperation(text="arrived"))
    assert driver.tab.page.url == there


async def test_waiting_for_nothing_is_refused(driver: Driver) -> None:
    with pytest.raises(Refusal) as caught:
        await driver.run(pb.WaitForOperation())
    assert caught.value.code == ErrorCode.ERROR_CODE_INVALID_ARGUMENTS


async def test_text_is_found_over_elements_and_frames_but_not_where_it_is_hidden(driver: Driver) -> None:
    driver.site.put("/inner", "<p>the <i>quick</i> fox</p>")
    await driver.show(
        "<p id=a>One quick</p><p>brown</p><p>a <b>Qui</b>ck fox</p><p hidden>quick</p>"
        "<div style='opacity:0'>quick</div>"
        "<iframe src=/inner></iframe>"
    )
    found = await driver.run(pb.FindTextOperation(text="quick  fox"))
    assert (found.total, [match.context for match in found.matches]) == (2, [
        "One quick brown a Quick fox", "the quick fox",
    ])  # fmt: skip
    found = await driver.run(pb.FindTextOperation(text="quick", limit=1))
    assert (found.total, found.matches[0].element.attributes["id"]) == (3, "a")
    assert found.matches[0].element.ref
    assert (await driver.run(pb.FindTextOperation(text="Quick", match_case=True))).total == 1
    assert (await driver.run(pb.FindTextOperation(text="zebra"))).total == 0


async def test_finding_is_refused_while_a_dialog_is_open(driver: Driver) -> None:
    await driver.show("<button onclick='alert(1)'>A</button>")
    await driver.click(role="button", name="A")
    with pytest.raises(Refusal) as caught:
        await driver.run(pb.FindTextOperation(text="A"))
    assert caught.value.code == ErrorCode.ERROR_CODE_DIALOG_OPEN
    await driver.run(pb.HandleDialogOperation(accept=True))
