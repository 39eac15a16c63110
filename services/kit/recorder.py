"""Writes events and operation records so that each is acknowledged or on disk before anybody hears of it (SPEC §9)."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable

from google.protobuf.message import DecodeError
from hyperkitty.events.v1.events_pb2 import Event
from hyperkitty.operations.v1.errors_pb2 import ErrorCode
from hyperkitty.operations.v1.operations_pb2 import Operation

from services.kit import logs
from services.kit.deadlines import apart
from services.kit.errors import Refusal
from services.kit.event_log import EventLog, EventRefused, LogUnavailable
from services.kit.spool import Spool, SpoolFull, SpoolItem
from services.kit.store import KeyExists, Store, StoreUnavailable

log = logs.get(__name__)

ACK_SECONDS = 2.0
_RETRY_SECONDS = 0.25


def log_unavailable(operation_id: str = "") -> Refusal:
    """The log did not acknowledge; the operation can be read later under its id."""
    return Refusal(
        ErrorCode.ERROR_CODE_EVENT_LOG_UNAVAILABLE,
        "the event log does not acknowledge",
        details={"operation_id": operation_id, "retry_after_ms": 1_000} if operation_id else {"retry_after_ms": 1_000},
    )


def event_item(event: Event) -> SpoolItem:
    """An event as the spool keeps it."""
    return SpoolItem("event", event.event_id, event.SerializeToString())


def operation_item(operation: Operation) -> SpoolItem:
    """A record as the spool keeps it."""
    return SpoolItem("operation", operation.operation_id, operation.SerializeToString())


class Recorder:
    """One service's way to the log and to the operation records."""

    def __init__(
        self,
        service: str,
        event_log: EventLog,
        operations: Store[Operation],
        spool: Spool,
        is_reachable: Callable[[], bool] = lambda: True,
    ) -> None:
        self._service = service
        self.actor = f"system:{service}"
        self._event_log = event_log
        self._operations = operations
        self._spool = spool
        self._is_reachable = is_reachable
        self._wake = asyncio.Event()
        # Records being written; they outlive the calls that they tell of.
        self._running: set[asyncio.Task[bool]] = set()

    @property
    def spooled(self) -> int:
        """Items that wait on disk."""
        return len(self._spool)

    def check_available(self, operation_id: str) -> None:
        """Refuses new operations while the log is away or still takes what waited. Raises Refusal."""
        if not self._spool.is_empty or not self._is_reachable():
            raise log_unavailable(operation_id)

    async def publish_intent(self, event: Event) -> bool:
        """Whether the intent is on the log within 2 s."""
        try:
            await self._event_log.publish(event, timeout=ACK_SECONDS)
        except LogUnavailable:
            return False
        return True

    async def write(self, events: Iterable[Event], operation: Operation | None) -> bool:
        """Writes all at once; what is not acknowledged in 2 s goes to the spool, and the answer is False.

        Runs to its end even when the caller is cancelled.
        """
        task = asyncio.create_task(self._write(list(events), operation))
        self._running.add(task)
        task.add_done_callback(self._running.discard)
        return await asyncio.shield(task)

    async def _write(self, events: list[Event], operation: Operation | None) -> bool:
        items = [event_item(event) for event in events]
        if operation is not None:
            items.append(operation_item(operation))
        if not items:
            return True
        with apart(ACK_SECONDS * 2):
            if not self._spool.is_empty:
                # Whatever waits is older: what comes now waits behind it.
                results = [False] * len(items)
            elif len(items) == 1:
                results = [await self._send(items[0])]
            else:
                results = await asyncio.gather(*(self._send(item) for item in items))
        missing = [item for item, taken in zip(items, results, strict=True) if not taken]
        if not missing:
            return True
        await self._spool_items(missing)
        return False

    async def _spool_items(self, items: list[SpoolItem]) -> None:
        try:
            await self._spool.append(items)
        except (SpoolFull, OSError) as error:
            log.error("record_lost", items=[item.item_id for item in items], reason=str(error))
        self._wake.set()

    async def _send(self, item: SpoolItem) -> bool:
        """Whether the log or the records have the item now. One that they refuse for good counts as taken."""
        try:
            if item.kind == "event":
                event = Event()
                event.ParseFromString(item.payload)
                await self._event_log.publish(event, timeout=ACK_SECONDS)
            else:
                operation = Operation()
                operation.ParseFromString(item.payload)
                await self._operations.create(f"{self._service}.{operation.operation_id}", operation)
        except KeyExists:
            return True
        except (LogUnavailable, StoreUnavailable):
            return False
        except (EventRefused, DecodeError) as error:
            log.error("record_refused", item=item.item_id, reason=str(error))
        return True

    async def keep(self, event: Event) -> None:
        """Keeps an intent that was not acknowledged: it may be on the log all the same, before what follows it."""
        await asyncio.shield(self._spool_items([event_item(event)]))

    async def drain_for_ever(self) -> None:
        """Empties the spool whenever something waits; a task of the service."""
        while True:
            await self._spool.nonempty.wait()
            with apart(60.0):
                if await self._spool.drain(self._send):
                    log.info("spool_drained")
                    continue
            self._wake.clear()
            try:
                async with asyncio.timeout(_RETRY_SECONDS):
                    await self._wake.wait()
            except TimeoutError:
                continue

    def wake(self) -> None:
        """The log may be back: the spool is tried at once."""
        self._wake.set()

    async def drained(self) -> None:
        """Returns when nothing waits on disk; the caller sets the deadline."""
        await self._spool.emptied.wait()

    async def finish(self) -> None:
        """Returns when no record is being written any more."""
        while self._running:
            await asyncio.wait(self._running)
