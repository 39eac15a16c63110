"""The durable, totally ordered log of events: its interface, and which events a reader wants (SPEC §9)."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Protocol, TypeAlias

from hyperkitty.events.v1 import events_pb2
from hyperkitty.events.v1.events_pb2 import Event
from hyperkitty.operations.v1.errors_pb2 import ErrorCode

from services.kit.errors import Refusal
from services.kit.tokens import encode_token

ReadItem: TypeAlias = "Event | events_pb2.Gap | events_pb2.Heartbeat"

HEARTBEAT_SECONDS = 15.0
_REMEMBERED = 4_096
_ROOT = "hk.events"


class LogUnavailable(Exception):
    """The log did not acknowledge in time; whether it holds the event is not known."""


class EventRefused(Exception):
    """The log refuses the event itself; trying again is useless."""


class LogUnreadable(Refusal):
    """The log did not answer a reader in time."""

    def __init__(self, what: str) -> None:
        super().__init__(ErrorCode.ERROR_CODE_UNAVAILABLE, f"the event log did not answer: {what}")


def subject_of(event: Event) -> str:
    """The event's subject on the bus: tenant, agent, session, subject and category as tokens."""
    tokens = (event.tenant, event.agent_id, event.session_id, event.subject)
    encoded = ".".join(encode_token(token) for token in tokens)
    return f"{_ROOT}.{encoded}.{event.category}"


@dataclass(frozen=True)
class EventFilter:
    """Which events: each part narrows; empty parts match everything."""

    tenant: str = ""
    # Whole tokens: `agent` and `agent.` match every agent category, `agent.act` none.
    category_prefix: str = ""
    # Matches subject, agent_id or session_id.
    subject: str = ""

    def matches(self, event: Event) -> bool:
        """Whether the event is wanted."""
        if self.tenant and event.tenant != self.tenant:
            return False
        prefix = self.category_prefix.removesuffix(".")
        if prefix and event.category != prefix and not event.category.startswith(prefix + "."):
            return False
        return not self.subject or self.subject in (event.subject, event.agent_id, event.session_id)

    def patterns(self) -> list[str]:
        """The same as subject patterns of the bus; one consumer takes them all and delivers each event once."""
        tenant = encode_token(self.tenant) if self.tenant else "*"
        prefix = self.category_prefix.removesuffix(".")
        categories = [prefix, f"{prefix}.>"] if prefix else [">"]
        owners = ["*.*.*"]
        if self.subject:
            token = encode_token(self.subject)
            owners = [f"{token}.*.*", f"*.{token}.*", f"*.*.{token}"]
        return [f"{_ROOT}.{tenant}.{owner}.{category}" for owner in owners for category in categories]


@dataclass(frozen=True)
class Start:
    """Where reading begins; make one with now(), after() or since()."""

    after_sequence: int | None = None
    since_ms: int | None = None

    @classmethod
    def now(cls) -> Start:
        """With the next event."""
        return cls()

    @classmethod
    def after(cls, sequence: int) -> Start:
        """Right after a sequence; 0 is the beginning."""
        return cls(after_sequence=sequence)

    @classmethod
    def since(cls, time_ms: int) -> Start:
        """With the first event stored at or after a time, milliseconds UTC."""
        return cls(since_ms=time_ms)


class Repeats:
    """Tells repeats by event_id: the last 4,096 are remembered, older ones forgotten."""

    def __init__(self) -> None:
        self._seen: OrderedDict[str, None] = OrderedDict()

    def is_repeat(self, event_id: str) -> bool:
        """Whether the id was seen before; remembers it."""
        if event_id in self._seen:
            return True
        self._seen[event_id] = None
        if len(self._seen) > _REMEMBERED:
            self._seen.popitem(last=False)
        return False


@dataclass(frozen=True)
class LogFacts:
    """How full the log is. `max_bytes` -1: no limit; `first_at_ms`: when its oldest event was published, 0 for none."""

    events: int
    bytes: int
    max_bytes: int
    last_sequence: int
    first_at_ms: int


class EventLog(Protocol):
    """The log. `sequence` of an event is set by the reader; an event_id is stored once."""

    async def publish(self, event: Event, *, timeout: float = 2.0) -> int:
        """Stores an event; returns its sequence. Raises LogUnavailable, EventRefused."""
        ...

    async def recent(self, wanted: EventFilter, limit: int) -> list[Event]:
        """The newest matching events, newest first. Raises LogUnreadable."""
        ...

    def read(
        self,
        wanted: EventFilter,
        start: Start,
        *,
        until_end: bool = False,
        heartbeat: float = HEARTBEAT_SECONDS,
    ) -> AsyncIterator[ReadItem]:
        """Matching events in order; a Gap where some may be missing; a Heartbeat each `heartbeat` seconds.

        A heartbeat's last_sequence is one up to which everything that matches has been delivered: a reader may resume
        after it. `until_end` ends at what the log held when reading began.
        """
        ...

    async def first_sequence(self) -> int:
        """The oldest sequence that is still there; last + 1 when the log is empty."""
        ...

    async def last_sequence(self) -> int:
        """The newest sequence; 0 before the first event."""
        ...

    async def facts(self) -> LogFacts:
        """How full the log is. Raises LogUnreadable."""
        ...


def expired(first_missing: int, last_missing: int) -> events_pb2.Gap:
    """The log no longer holds this stretch."""
    return events_pb2.Gap(from_sequence=first_missing, to_sequence=last_missing, reason=events_pb2.GAP_REASON_EXPIRED)
