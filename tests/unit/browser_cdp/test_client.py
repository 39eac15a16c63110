"""The real client against a stub transport."""

from __future__ import annotations

import asyncio
import base64
import time

import msgspec
import pytest

from services.browser.cdp import client as client_module
from services.browser.cdp.client import CdpClient
from services.browser.cdp.domains import fetch, page, runtime, target
from services.browser.cdp.errors import CdpClosed, CdpError, CdpMalformed, CdpOverloaded, CdpTimeout
from services.browser.cdp.session import CdpSession
from tests.unit.browser_cdp.stub_transport import StubTransport


def made() -> tuple[CdpClient, StubTransport]:
    client = CdpClient()
    return client, StubTransport(client)


def attached(client: CdpClient, stub: StubTransport, session_id: str = "S1", parent: str | None = None) -> CdpSession:
    stub.attach_target(session_id, parent)
    session = client.session(session_id)
    assert session is not None
    return session


async def test_a_command_is_sent_once_with_its_parameters_and_its_result_is_typed() -> None:
    client, stub = made()
    sending = asyncio.create_task(client.browser.send(target.CreateTarget(url="about:blank"), timeout=5))
    await asyncio.sleep(0)
    assert stub.sent == [{"id": 1, "method": "Target.createTarget", "params": {"url": "about:blank"}}]
    stub.answer(0, {"targetId": "T"})
    assert (await sending).target_id == "T"


async def test_names_are_the_protocols_and_none_is_not_sent() -> None:
    client, stub = made()
    session = attached(client, stub)
    session.post(page.PrintToPDF(prefer_css_page_size=True, page_ranges="1-2"), timeout=5)
    session.post(fetch.ContinueRequest(request_id="R", method="POST", post_data=b"\0\xff"), timeout=5)
    assert stub.sent[0]["params"] == {"preferCSSPageSize": True, "pageRanges": "1-2"}
    assert stub.sent[0]["sessionId"] == "S1"
    assert stub.sent[1]["params"] == {
        "requestId": "R",
        "method": "POST",
        "postData": base64.b64encode(b"\0\xff").decode(),
    }


async def test_answers_find_their_commands_in_any_order() -> None:
    client, stub = made()
    session = attached(client, stub)
    futures = [session.post(runtime.Evaluate(expression=str(n)), timeout=5) for n in range(3)]
    for index in (2, 0, 1):
        stub.answer(index, {"result": {"type": "number", "value": index}})
    values = [msgspec.json.decode((await future).result.value) for future in futures]
    assert values == [0, 1, 2]


async def test_binary_results_arrive_decoded() -> None:
    client, stub = made()
    shot = client.browser.post(page.CaptureScreenshot(), timeout=5)
    stub.answer(0, {"data": base64.b64encode(b"\x89PNG").decode()})
    assert (await shot).data == b"\x89PNG"


async def test_a_refusal_carries_the_browsers_code_and_words() -> None:
    client, stub = made()
    future = client.browser.post(page.Navigate(url="x"), timeout=5)
    stub.say(id=1, error={"code": -32000, "message": "Cannot navigate to invalid URL", "data": "more"})
    with pytest.raises(CdpError) as caught:
        await future
    assert (caught.value.code, caught.value.message) == (-32000, "Cannot navigate to invalid URL")


async def test_an_answer_of_another_shape_fails_its_command_only() -> None:
    client, stub = made()
    wrong = client.browser.post(target.CreateTarget(url="a"), timeout=5)
    right = client.browser.post(target.CreateTarget(url="b"), timeout=5)
    stub.answer(0, {"targetId": 7})
    stub.answer(1, {"targetId": "T"})
    with pytest.raises(CdpMalformed):
        await wrong
    assert (await right).target_id == "T"


async def test_no_answer_in_time_fails_on_time_and_the_late_one_is_dropped() -> None:
    client, stub = made()
    started = time.monotonic()
    with pytest.raises(CdpTimeout) as caught:
        await client.browser.send(target.GetTargets(), timeout=0.05)
    assert 0.04 < time.monotonic() - started < 1
    assert caught.value.method == "Target.getTargets"
    stub.answer(0, {"targetInfos": []})
    assert client.counters.answers_dropped == 1


async def test_a_full_pipe_makes_send_wait_within_its_time_while_post_does_not() -> None:
    client, stub = made()
    stub.room.clear()
    with pytest.raises(CdpTimeout):
        await client.browser.send(target.GetTargets(), timeout=0.05)
    assert stub.sent == []
    client.browser.post(target.GetTargets(), timeout=5)
    assert len(stub.sent) == 1
    waiting = asyncio.create_task(client.browser.send(target.GetTargets(), timeout=5))
    await asyncio.sleep(0)
    assert len(stub.sent) == 1
    stub.room.set()
    while len(stub.sent) < 2:
        await asyncio.sleep(0)
    stub.answer(1, {"targetInfos": []})
    await waiting


async def test_a_cancelled_call_leaves_nothing_pending() -> None:
    client, stub = made()
    sending = asyncio.create_task(client.browser.send(target.GetTargets(), timeout=5))
    await asyncio.sleep(0)
    sending.cancel()
    with pytest.raises(asyncio.CancelledError):
        await sending
    stub.answer(0, {"targetInfos": []})
    assert client.counters.answers_dropped == 1


async def test_more_commands_than_the_limit_are_not_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client_module, "MAX_PENDING", 2)
    client, stub = made()
    for _ in range(2):
        client.browser.post(target.GetTargets(), timeout=5)
    with pytest.raises(CdpOverloaded):
        await client.browser.send(target.GetTargets(), timeout=5)
    assert len(stub.sent) == 2


async def test_a_session_exists_before_its_attachment_is_heard() -> None:
    client, stub = made()
    found: list[CdpSession | None] = []
    client.browser.on(target.AttachedToTarget, lambda event: found.append(client.session(event.session_id)))
    stub.attach_target("S1")
    assert found[0] is not None
    assert found[0].parent is client.browser
    stub.attach_target("S2", "S1", "iframe")
    child = client.session("S2")
    assert child is not None
    assert child.parent is found[0]


async def test_events_reach_their_own_session_only_and_until_unsubscribed() -> None:
    client, stub = made()
    one, two = attached(client, stub, "S1"), attached(client, stub, "S2")
    heard: list[str] = []
    stop = one.on(page.FrameDetached, lambda event: heard.append(f"one {event.frame_id}"))
    two.on(page.FrameDetached, lambda event: heard.append(f"two {event.frame_id}"))
    stub.event("Page.frameDetached", "S1", frameId="A", reason="remove")
    stub.event("Page.frameDetached", "S2", frameId="B", reason="remove")
    stop()
    stub.event("Page.frameDetached", "S1", frameId="C", reason="remove")
    assert heard == ["one A", "two B"]


async def test_what_nobody_listens_to_is_dropped_without_being_decoded() -> None:
    client, stub = made()
    dropped = client.counters.events_dropped
    stub.event("Page.frameDetached", None, nonsense=[1])
    stub.event("Never.heardOf", None, a=1)
    stub.event("Page.frameDetached", "no such session", frameId="A", reason="remove")
    assert client.counters.events_dropped - dropped == 3
    assert client.counters.malformed == 0


async def test_a_callback_that_raises_stops_neither_the_others_nor_the_client() -> None:
    client, stub = made()
    heard: list[str] = []

    def broken(_event: page.FrameDetached) -> None:
        raise RuntimeError("no")

    client.browser.on(page.FrameDetached, broken)
    client.browser.on(page.FrameDetached, lambda event: heard.append(event.frame_id))
    stub.event("Page.frameDetached", None, frameId="A", reason="swap")
    assert heard == ["A"]
    assert client.counters.failed_callbacks == 1
    answered = client.browser.post(target.GetTargets(), timeout=5)
    stub.answer(0, {"targetInfos": []})
    await answered


async def test_a_callback_may_unsubscribe_while_events_are_delivered() -> None:
    client, stub = made()
    heard: list[str] = []

    def once(event: page.FrameDetached) -> None:
        heard.append(event.frame_id)
        stop()

    stop = client.browser.on(page.FrameDetached, once)
    client.browser.on(page.FrameDetached, lambda event: heard.append(event.frame_id.lower()))
    for name in ("A", "B"):
        stub.event("Page.frameDetached", None, frameId=name, reason="swap")
    assert heard == ["A", "a", "b"]


async def test_detaching_fails_what_waits_on_the_target_and_below_it_and_nothing_else() -> None:
    client, stub = made()
    parent, other = attached(client, stub, "P"), attached(client, stub, "O")
    child = attached(client, stub, "C", "P")
    reasons: list[str] = []
    child.on_closed(reasons.append)
    on_parent, on_child = (session.post(runtime.Enable(), timeout=5) for session in (parent, child))
    on_other = other.post(runtime.Enable(), timeout=5)
    stub.event("Target.detachedFromTarget", None, sessionId="P", targetId="target-P")
    for future in (on_parent, on_child):
        with pytest.raises(CdpClosed):
            await future
    assert not on_other.done()
    assert reasons == ["the target was detached"]
    assert client.session("C") is None
    with pytest.raises(CdpClosed):
        await parent.send(runtime.Enable(), timeout=5)
    late: list[str] = []
    parent.on_closed(late.append)
    assert late == ["the target was detached"]


async def test_the_end_of_the_pipe_fails_everything_and_every_later_command() -> None:
    client, stub = made()
    session = attached(client, stub)
    futures = [session.post(runtime.Enable(), timeout=5), client.browser.post(target.GetTargets(), timeout=5)]
    client.on_closed("the browser closed the pipe")
    for future in futures:
        with pytest.raises(CdpClosed):
            await future
    assert session.closed_reason == client.browser.closed_reason == "the browser closed the pipe"
    with pytest.raises(CdpClosed):
        await client.browser.send(target.GetTargets(), timeout=5)
    client.close()
    assert len(stub.sent) == 2


async def test_whoever_loses_a_page_to_the_pipes_end_sees_that_the_browser_is_gone_too() -> None:
    client, stub = made()
    seen: list[str | None] = []
    attached(client, stub).on_closed(lambda _: seen.append(client.browser.closed_reason))
    client.on_closed("the browser closed the pipe")
    assert seen == ["the browser closed the pipe"]


async def test_closing_closes_the_transport_and_fails_what_waits() -> None:
    client, stub = made()
    future = client.browser.post(target.GetTargets(), timeout=5)
    client.close()
    assert stub.closed
    with pytest.raises(CdpClosed):
        await future


async def test_half_a_surrogate_pair_in_a_string_does_not_lose_the_message() -> None:
    client, stub = made()
    session = attached(client, stub)
    future = session.post(runtime.Evaluate(expression="x"), timeout=5)
    client.on_message(
        rb'{"id":1,"result":{"result":{"type":"string","value":"a\ud800b\ud83d\ude00"}},"sessionId":"S1"}'
    )
    assert msgspec.json.decode((await future).result.value) == "a\N{REPLACEMENT CHARACTER}b\N{GRINNING FACE}"


async def test_a_message_that_is_not_json_is_counted_and_survived() -> None:
    client, stub = made()
    client.on_message(b"{]")
    assert client.counters.malformed == 1
    future = client.browser.post(target.GetTargets(), timeout=5)
    stub.answer(0, {"targetInfos": []})
    await future
