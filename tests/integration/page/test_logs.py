"""console_log and network_log: in order, with a cursor, bounded, credentials masked."""

from __future__ import annotations

import pytest
from google.protobuf.message import Message
from hyperkitty.browser.v1 import operations_pb2 as pb
from hyperkitty.operations.v1.errors_pb2 import ErrorCode

from services.kit.errors import Refusal
from services.kit.validation import check_message
from tests.integration.page.driving import Driver


async def test_the_console_over_documents(driver: Driver) -> None:
    await driver.show(
        "<script>console.log('one', 2, {a: 1}, null); console.warn('two')\nthrow new Error('three')</script>"
    )
    await driver.show("<script>console.error('four \\ud800')</script>", "/next")
    await driver.run(pb.WaitForOperation(network_idle=True))
    log = await driver.run(pb.ConsoleLogOperation())
    assert [(entry.level, entry.text.splitlines()[0]) for entry in log.entries if "favicon" not in entry.url] == [
        ("log", "one 2 Object null"), ("warning", "two"), ("exception", "Error: three"), ("error", "four \ufffd"),
    ]  # fmt: skip
    assert log.entries[0].url == driver.site.url("/")
    assert log.entries[0].line > 0
    later = await driver.run(pb.ConsoleLogOperation(since=log.entries[1].number, limit=1))
    assert [entry.number for entry in later.entries] == [log.entries[2].number]
    assert (await driver.run(pb.ConsoleLogOperation(since=log.next))).next == log.next


async def test_a_flood_leaves_the_last_two_thousand(driver: Driver) -> None:
    await driver.show("<script>for (let i = 1; i <= 5000; i++) console.log(i)</script>", recorded=False)
    await driver.page_says("1")
    log = await driver.run(pb.ConsoleLogOperation(limit=1000))
    assert len(log.entries) == 1000
    rest = await driver.run(pb.ConsoleLogOperation(since=log.next, limit=1000))
    texts = [entry.text for entry in (*log.entries, *rest.entries) if entry.text.isdigit()]
    assert texts[-1] == "5000"
    assert len(texts) >= 1999


async def test_requests_with_their_ends(driver: Driver) -> None:
    there = driver.site.url("/status/404").replace("//", "//user:pa55@")
    await driver.show(
        "<img src='/status/204?access_token=s3cret&x=1'><script>fetch('/drop').catch(() => 0);"
        f"fetch('/redirect?to=/echo').then(() => document.title = 'done')</script><img src='{there}'>"
    )
    await driver.run(pb.WaitForOperation(network_idle=True))
    log = await driver.run(pb.NetworkLogOperation())
    entries = {entry.url.removeprefix(driver.site.origin): entry for entry in log.entries}
    assert [entry.number for entry in log.entries] == sorted(entry.number for entry in log.entries)
    assert (entries["/"].status, entries["/"].resource_type, entries["/"].method) == (200, "document", "GET")
    assert entries["/"].duration_ms > 0
    assert entries["/status/204?access_token=•••&x=1"].status == 204
    assert entries["/redirect?to=/echo"].status == 302
    assert (entries["/echo"].status, entries["/echo"].resource_type) == (200, "fetch")
    assert entries["/drop"].net_error == "net::ERR_EMPTY_RESPONSE"
    assert "s3cret" not in str(log)
    assert "pa55" not in str(log)
    assert (await driver.run(pb.NetworkLogOperation(since=log.next))).entries == []


async def test_what_the_policy_refused_is_told_as_blocked(driver: Driver) -> None:
    await driver.show("<script>fetch('http://10.0.0.1/x', {mode: 'no-cors'}).catch(() => 0)</script>")
    await driver.run(pb.WaitForOperation(network_idle=True))
    log = await driver.run(pb.NetworkLogOperation())
    assert [entry.blocked for entry in log.entries if entry.url == "http://10.0.0.1/x"] == [True]


@pytest.mark.parametrize("operation", [pb.ConsoleLogOperation(since=-1), pb.NetworkLogOperation(limit=1001)])
async def test_what_is_out_of_bounds_is_refused(operation: Message) -> None:
    with pytest.raises(Refusal) as caught:
        check_message(operation)
    assert caught.value.code == ErrorCode.ERROR_CODE_INVALID_ARGUMENTS
