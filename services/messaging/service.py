"""How the messaging service is put together."""

from __future__ import annotations

import asyncio

from hyperkitty.messaging.v1.messages_pb2 import Message
from hyperkitty.messaging.v1.messaging_service_pb2_grpc import add_MessagingServiceServicer_to_server

from services.kit.run import Kit, Service
from services.kit.status import OwnStatus
from services.kit.store import proto_codec
from services.messaging.mailbox import QUEUED, Mailbox
from services.messaging.servicer import MessagingServicer
from services.messaging.streams import Streams

# SPEC §3.
KEPT_SECONDS = 30 * 24 * 3600.0
_CATCH_UP_SECONDS = 30.0


async def build(kit: Kit) -> Service:
    """The messaging service on the kit's store."""
    mailbox = Mailbox(await kit.store("messages", proto_codec(Message), KEPT_SECONDS))
    streams = Streams(mailbox)
    kit.spawn(mailbox.follow(), "mailbox")

    async def ready() -> None:
        # Serving before everything is known would list too little and accept too much.
        async with asyncio.timeout(_CATCH_UP_SECONDS):
            await mailbox.caught_up.wait()

    async def status() -> OwnStatus:
        counts = {"messages": len(mailbox), "messages_queued": mailbox.count(QUEUED), "message_streams": len(streams)}
        return OwnStatus(counts)

    servicer = MessagingServicer(mailbox, streams, kit.clock)
    return Service([(add_MessagingServiceServicer_to_server, servicer)], ready=ready, status=status)
