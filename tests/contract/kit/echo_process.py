"""EchoService as a process of its own, under the name (and NATS rights) of messaging: `python -m … <gate file>`."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

from services.kit import record
from services.kit.run import Kit, Service, main
from services.kit.store import struct_codec
from tests.unit.kit.echo_service import EchoServicer, add_echo

GATE = Path(sys.argv[1])


class Recording(EchoServicer):
    """Publishes an intent, waits while the gate file is there, publishes the outcome."""

    async def work(self, text: str) -> str:
        await record.intent("message.sent", subject=text, data={"op": "echo"})
        if text == "gate":
            GATE.with_suffix(".reached").touch()
        while text == "gate" and GATE.exists():
            await asyncio.sleep(0.01)
        record.outcome("message.received", subject=text)
        return text


async def build(kit: Kit) -> Service:
    store = await kit.store("messages", struct_codec(str))
    await store.put("default.started", "yes")
    return Service(servicers=[(add_echo, Recording())], settles="message")


main("messaging", build)
