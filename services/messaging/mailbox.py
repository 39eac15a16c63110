"""All messages as the bucket `messages` holds them, found by conversation, recipient and status without reading it.

The index is what a watch of the bucket says, so that it is the same in every replica and after every restart.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from hyperkitty.messaging.v1.messages_pb2 import Message, MessageStatus
from hyperkitty.operations.v1.errors_pb2 import ErrorCode

from services.kit import logs
from services.kit.errors import Refusal
from services.kit.store import CaughtUp, Entry, RevisionMismatch, Store
from services.kit.tokens import encode_token

log = logs.get(__name__)

QUEUED = MessageStatus.MESSAGE_STATUS_QUEUED
DELIVERED = MessageStatus.MESSAGE_STATUS_DELIVERED
READ = MessageStatus.MESSAGE_STATUS_READ
MOST_QUEUED = 10_000
"""Queued messages a recipient (SPEC §8)."""
MOST_MESSAGES = 100_000
"""Messages altogether; over it the oldest that were delivered go."""


@dataclass(frozen=True)
class Summary:
    """What the index knows of a message."""

    message_id: str
    key: str
    tenant: str
    sender: str
    recipient: str
    conversation_id: str
    status: MessageStatus.ValueType


def _summary(key: str, message: Message) -> Summary:
    return Summary(
        message.message_id,
        key,
        message.tenant,
        message.sender,
        message.recipient,
        message.conversation_id,
        message.status,
    )


def key_of(message: Message) -> str:
    """Key in the bucket."""
    return f"{encode_token(message.tenant)}.{message.message_id}"


class Mailbox:
    """Messages and their index. `follow` keeps the index; `on_change` hears of each new or changed message."""

    def __init__(self, store: Store[Message]) -> None:
        self._store = store
        self._by_id: dict[str, Summary] = {}
        self._by_recipient: dict[tuple[str, str], dict[str, Summary]] = {}
        self._by_conversation: dict[tuple[str, str], dict[str, Summary]] = {}
        self._listeners: list[Callable[[Message], None]] = []
        self.caught_up = asyncio.Event()

    def on_change(self, listener: Callable[[Message], None]) -> None:
        """Calls `listener` with every message that is written, here or elsewhere."""
        self._listeners.append(listener)

    async def follow(self) -> None:
        """Keeps the index as the bucket is; never returns."""
        async for change in self._store.watch():
            if isinstance(change, CaughtUp):
                self.caught_up.set()
            elif change.value is None:
                self._forget(change.key.rpartition(".")[2])
            else:
                self._note(change.key, change.value)
                if self.caught_up.is_set():
                    for listener in self._listeners:
                        listener(change.value)

    def _note(self, key: str, message: Message) -> None:
        known = self._by_id.get(message.message_id)
        if known is not None and known.status > message.status:
            # A status only rises: this is an older write that comes late.
            return
        summary = _summary(key, message)
        self._by_id[summary.message_id] = summary
        self._by_recipient.setdefault((summary.tenant, summary.recipient), {})[summary.message_id] = summary
        self._by_conversation.setdefault((summary.tenant, summary.conversation_id), {})[summary.message_id] = summary

    def _forget(self, message_id: str) -> None:
        known = self._by_id.pop(message_id, None)
        if known is None:
            return
        for index, name in ((self._by_recipient, known.recipient), (self._by_conversation, known.conversation_id)):
            group = index.get((known.tenant, name), {})
            group.pop(message_id, None)
            if not group:
                index.pop((known.tenant, name), None)

    def __len__(self) -> int:
        return len(self._by_id)

    def count(self, status: MessageStatus.ValueType) -> int:
        """How many are in a status."""
        return sum(1 for summary in self._by_id.values() if summary.status == status)

    def waiting(self, tenant: str, recipient: str) -> list[Summary]:
        """What is queued for a recipient, in order."""
        group = self._by_recipient.get((tenant, recipient), {})
        return sorted((each for each in group.values() if each.status == QUEUED), key=lambda each: each.message_id)

    def find(self, tenant: str | None, conversation_id: str, recipient: str) -> Iterable[Summary]:
        """Summaries by conversation, recipient, both or neither; `tenant` None means all."""
        if tenant is not None and conversation_id:
            found: Iterable[Summary] = self._by_conversation.get((tenant, conversation_id), {}).values()
        elif tenant is not None and recipient:
            found = self._by_recipient.get((tenant, recipient), {}).values()
        else:
            found = self._by_id.values()
        return [
            each
            for each in found
            if (tenant is None or each.tenant == tenant)
            and (not conversation_id or each.conversation_id == conversation_id)
            and (not recipient or each.recipient == recipient)
        ]

    def check_room(self, message: Message) -> None:
        """Raises Refusal resource_exhausted where the recipient's queue is full."""
        group = self._by_recipient.get((message.tenant, message.recipient), {})
        queued = sum(1 for each in group.values() if each.status == QUEUED)
        if queued >= MOST_QUEUED:
            raise Refusal(
                ErrorCode.ERROR_CODE_RESOURCE_EXHAUSTED,
                f"{queued} messages are queued for {message.recipient} already",
                hint="list_messages shows them; they go when their recipient subscribes.",
                details={"recipient": message.recipient, "limit": MOST_QUEUED},
            )

    async def add(self, message: Message) -> None:
        """Stores a new message."""
        key = key_of(message)
        await self._store.create(key, message)
        self._note(key, message)
        await self._make_room()

    async def _make_room(self) -> None:
        while len(self._by_id) > MOST_MESSAGES:
            oldest = min((each for each in self._by_id.values() if each.status != QUEUED), default=None, key=_age)
            if oldest is None:
                return
            log.info("message_dropped", message_id=oldest.message_id)
            await self._store.delete(oldest.key)
            self._forget(oldest.message_id)

    async def get(self, message_id: str) -> Entry[Message] | None:
        """A message, or None."""
        known = self._by_id.get(message_id)
        return None if known is None else await self._store.get(known.key)

    async def raise_status(self, message_id: str, status: MessageStatus.ValueType) -> tuple[Message, bool] | None:
        """Brings a message at least to `status`; whether this call did. None for an unknown one."""
        while True:
            found = await self.get(message_id)
            if found is None:
                return None
            if found.value.status >= status:
                return found.value, False
            found.value.status = status
            try:
                await self._store.update(found.key, found.value, found.revision)
            except RevisionMismatch:
                # Somebody else raised it meanwhile; each turn finds it at least one step further.
                continue
            self._note(found.key, found.value)
            return found.value, True


def _age(summary: Summary) -> str:
    return summary.message_id
