"""The rpc surface of the messaging service (SPEC §8)."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

from google.protobuf import struct_pb2
from hyperkitty.auth.v1.identity_pb2 import CallerIdentity
from hyperkitty.messaging.v1 import messaging_service_pb2 as pb
from hyperkitty.messaging.v1.messages_pb2 import Message, MessageStatus
from hyperkitty.messaging.v1.messaging_service_pb2_grpc import MessagingServiceServicer
from hyperkitty.operations.v1.errors_pb2 import ErrorCode

from services.kit import logs, record
from services.kit.clock import Clock
from services.kit.errors import Refusal
from services.kit.identity import current_identity
from services.kit.ids import new_id
from services.kit.operations import current_operation
from services.kit.paging import page_of
from services.messaging.addresses import (
    may_read,
    name_of,
    payload_bytes,
    sees_all,
    sender_for,
    type_of,
)
from services.messaging.mailbox import DELIVERED, QUEUED, READ, Mailbox, Summary
from services.messaging.streams import Stream, Streams

log = logs.get(__name__)

# How long a sender waits for a subscriber who is there to acknowledge; after that its message counts as queued.
_ACKNOWLEDGE_SECONDS = 0.5
_FIRST_REQUEST_SECONDS = 5.0
_ANY = MessageStatus.MESSAGE_STATUS_UNSPECIFIED


def _id_of(summary: Summary) -> str:
    return summary.message_id


class MessagingServicer(MessagingServiceServicer):
    """Handlers as the contract names them."""

    def __init__(self, mailbox: Mailbox, streams: Streams, clock: Clock) -> None:
        self._mailbox = mailbox
        self._streams = streams
        self._clock = clock

    async def SendMessage(self, request: pb.SendMessageRequest, context: object) -> pb.SendMessageResponse:
        identity, wanted = current_identity(), request.message
        size = payload_bytes(wanted.payload)
        sender = sender_for(identity, wanted.sender)
        message = Message(
            message_id=new_id("msg"),
            sender=sender,
            recipient=wanted.recipient,
            timestamp_ms=self._clock.now_ms(),
            conversation_id=wanted.conversation_id or new_id("conv"),
            message_type=type_of(sender, wanted.recipient),
            payload=wanted.payload,
            status=QUEUED,
            tenant=identity.tenant,
        )
        current_operation().subject = message.message_id
        self._mailbox.check_room(message)
        # What it says is for its recipient; the log tells that it was said, before anybody can acknowledge it.
        facts = {"sender": sender, "recipient": message.recipient, "conversation_id": message.conversation_id}
        record.note("message.sent", data={**facts, "bytes": size})
        await record.flush()
        acknowledged = self._streams.expect(message)
        await self._mailbox.add(message)
        if acknowledged is not None:
            try:
                async with asyncio.timeout(_ACKNOWLEDGE_SECONDS):
                    await acknowledged
                message.status = DELIVERED
            except TimeoutError:
                pass
        return pb.SendMessageResponse(message=message)

    async def ListMessages(self, request: pb.ListMessagesRequest, context: object) -> pb.ListMessagesResponse:
        identity = current_identity()
        tenant = None if sees_all(identity) else identity.tenant
        found = [
            summary
            for summary in self._mailbox.find(tenant, request.conversation_id, request.recipient)
            if request.status in (_ANY, summary.status)
            and (not identity.agent_id or identity.agent_id in (summary.sender, summary.recipient))
        ]
        found.sort(key=_id_of)
        page, token = page_of(found, request.page_size, request.page_token, key=_id_of, newest_first=False)
        entries = await asyncio.gather(*(self._mailbox.get(summary.message_id) for summary in page))
        messages = [entry.value for entry in entries if entry is not None]
        return pb.ListMessagesResponse(messages=messages, next_page_token=token)

    async def MarkMessageRead(self, request: pb.MarkMessageReadRequest, context: object) -> pb.MarkMessageReadResponse:
        identity = current_identity()
        current_operation().subject = request.message_id
        found = await self._mailbox.get(request.message_id)
        if found is None or not may_read(identity, found.value):
            raise _unknown(request.message_id)
        if identity.agent_id and found.value.recipient != identity.agent_id:
            raise Refusal(
                ErrorCode.ERROR_CODE_NOT_AUTHORIZED,
                f"{request.message_id} is not addressed to {identity.agent_id}",
                details={"message_id": request.message_id},
            )
        raised = await self._mailbox.raise_status(request.message_id, READ)
        if raised is None:
            raise _unknown(request.message_id)
        return pb.MarkMessageReadResponse(message=raised[0])

    async def StreamMessages(
        self, request_iterator: AsyncIterator[pb.StreamMessagesRequest], context: object
    ) -> AsyncIterator[pb.StreamMessagesResponse]:
        identity = current_identity()
        recipient = await _recipient(identity, request_iterator)
        stream = Stream()
        acknowledging = asyncio.create_task(self._acknowledge(request_iterator, identity, recipient, stream))
        try:
            async for message in self._streams.read(stream, identity.tenant, recipient):
                if message is not None:
                    yield pb.StreamMessagesResponse(message=message)
                    continue
                facts = struct_pb2.Struct()
                facts.update({"queued": len(self._mailbox.waiting(identity.tenant, recipient))})
                yield pb.StreamMessagesResponse(heartbeat=facts)
        finally:
            acknowledging.cancel()
            await asyncio.wait([acknowledging])

    async def _acknowledge(
        self,
        requests: AsyncIterator[pb.StreamMessagesRequest],
        identity: CallerIdentity,
        recipient: str,
        stream: Stream,
    ) -> None:
        """Takes acknowledgements until the reader sends no more; what is wrong with one ends the stream."""
        try:
            async for request in requests:
                if request.acknowledge:
                    await self._delivered(identity, recipient, request.acknowledge)
        except Refusal as refusal:
            stream.fail(refusal)

    async def _delivered(self, identity: CallerIdentity, recipient: str, message_id: str) -> None:
        found = await self._mailbox.get(message_id)
        if found is None or found.value.recipient != recipient or found.value.tenant != identity.tenant:
            # It expired, or was never this reader's: there is nothing to do about it.
            log.info("acknowledgement_unknown", message_id=message_id)
            return
        raised = await self._mailbox.raise_status(message_id, DELIVERED)
        if raised is not None and raised[1]:
            await record.emit(
                "message.received",
                subject=message_id,
                tenant=identity.tenant,
                agent_id=recipient if recipient.startswith("agent_") else "",
                actor=identity.token_id,
                data={"recipient": recipient, "conversation_id": raised[0].conversation_id},
            )


async def _recipient(identity: CallerIdentity, requests: AsyncIterator[pb.StreamMessagesRequest]) -> str:
    """Whose messages a stream is about, from its first request; its caller's own when that names nobody."""
    try:
        async with asyncio.timeout(_FIRST_REQUEST_SECONDS):
            first = await anext(requests)
    except (TimeoutError, StopAsyncIteration):
        raise Refusal(
            ErrorCode.ERROR_CODE_INVALID_ARGUMENTS,
            "the first message of the stream names the recipient; none came",
            details={"fields": [{"field": "recipient", "problem": "is needed within 5 s"}]},
        ) from None
    recipient = first.recipient or name_of(identity)
    if identity.agent_id and recipient != identity.agent_id:
        raise Refusal(
            ErrorCode.ERROR_CODE_NOT_AUTHORIZED,
            f"the caller reads what is sent to {identity.agent_id}, not to {recipient}",
            details={"recipient": recipient},
        )
    return recipient


def _unknown(message_id: str) -> Refusal:
    return Refusal(
        ErrorCode.ERROR_CODE_NOT_FOUND,
        f"no message {message_id}",
        hint="list_messages shows what there is.",
        details={"message_id": message_id},
    )
