"""The client over a real socket pair: large messages, a slow reader, the far end's end."""

from __future__ import annotations

import asyncio
import json
import socket
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import cast

import pytest

from services.browser.cdp.client import CdpClient
from services.browser.cdp.domains import page, runtime, target
from services.browser.cdp.errors import CdpClosed, CdpTimeout
from services.browser.cdp.transport import HIGH_WATER_BYTES, MAX_MESSAGE_BYTES


@asynccontextmanager
async def far_end(
    max_message_bytes: int = MAX_MESSAGE_BYTES,
) -> AsyncGenerator[tuple[CdpClient, asyncio.StreamReader, asyncio.StreamWriter]]:
    """A client, and what the browser would hold of its pipe."""
    near, far = socket.socketpair()
    client = await CdpClient.over(near, max_message_bytes)
    closed = asyncio.Event()
    client.browser.on_closed(lambda _: closed.set())
    reader, writer = await asyncio.open_unix_connection(sock=far, limit=1 << 26)
    yield client, reader, writer
    writer.close()
    await writer.wait_closed()
    async with asyncio.timeout(5):
        await closed.wait()


async def test_a_message_of_many_megabytes_passes_both_ways() -> None:
    async with far_end() as (client, reader, writer):
        source = "x" * 5_000_000
        sending = client.browser.post(runtime.Evaluate(expression=source), timeout=10)
        received = json.loads((await reader.readuntil(b"\0"))[:-1])
        assert received["params"]["expression"] == source
        writer.write(json.dumps({"id": 1, "result": {"result": {"type": "string", "value": source}}}).encode() + b"\0")
        assert bytes((await sending).result.value) == json.dumps(source).encode()


async def test_a_browser_that_does_not_read_holds_senders_back_within_their_time() -> None:
    async with far_end() as (client, reader, writer):
        far = cast("asyncio.Transport", writer.transport)
        far.pause_reading()
        client.browser.post(runtime.Evaluate(expression="x" * (4 * HIGH_WATER_BYTES)), timeout=10)
        assert client.congested
        with pytest.raises(CdpTimeout):
            await client.browser.send(target.GetTargets(), timeout=0.05)
        sending = asyncio.create_task(client.browser.send(target.GetTargets(), timeout=10))
        far.resume_reading()
        await reader.readuntil(b"\0")
        received = json.loads((await reader.readuntil(b"\0"))[:-1])
        assert received["method"] == "Target.getTargets"
        writer.write(json.dumps({"id": received["id"], "result": {"targetInfos": []}}).encode() + b"\0")
        assert (await sending).target_infos == []


async def test_the_far_ends_end_closes_everything() -> None:
    async with far_end() as (client, _, writer):
        waiting = client.browser.post(page.Navigate(url="about:blank"), timeout=10)
        writer.transport.abort()
        with pytest.raises(CdpClosed):
            await waiting
        assert client.browser.closed_reason is not None


async def test_a_message_over_the_limit_ends_the_connection_and_says_so() -> None:
    async with far_end(1000) as (client, _, writer):
        waiting = client.browser.post(page.Navigate(url="about:blank"), timeout=10)
        writer.write(b"x" * 2000)
        with pytest.raises(CdpClosed, match="longer than 1000 bytes"):
            await waiting
