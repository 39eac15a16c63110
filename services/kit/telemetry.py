"""Metrics of the process, and the trace that a request is through all services (SPEC §2)."""

from __future__ import annotations

import re
import secrets
from collections.abc import Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Protocol

from prometheus_client import REGISTRY, Counter, Gauge, Histogram, generate_latest

# Seconds; calls take from half a millisecond to 45 s.
BUCKETS = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0)

_TRACEPARENT = re.compile(r"00-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})")


def counter(name: str, meaning: str, labels: Sequence[str] = ()) -> Counter:
    """A counter named `hyperkitty_<name>`."""
    return Counter(f"hyperkitty_{name}", meaning, labels)


def gauge(name: str, meaning: str, labels: Sequence[str] = ()) -> Gauge:
    """A gauge named `hyperkitty_<name>`."""
    return Gauge(f"hyperkitty_{name}", meaning, labels)


def histogram(name: str, meaning: str, labels: Sequence[str] = ()) -> Histogram:
    """A histogram of seconds named `hyperkitty_<name>`."""
    return Histogram(f"hyperkitty_{name}", meaning, labels, buckets=BUCKETS)


CALLS = histogram("rpc_seconds", "Time that calls took.", ("method", "code"))


def exposition() -> bytes:
    """All metrics in Prometheus's text format."""
    return generate_latest(REGISTRY)


@dataclass(frozen=True)
class Trace:
    """Where a call stands in its trace (W3C Trace Context)."""

    trace_id: str
    span_id: str
    sampled: bool

    @classmethod
    def parse(cls, traceparent: str) -> Trace | None:
        """The caller's place; None for text that is no traceparent."""
        found = _TRACEPARENT.fullmatch(traceparent)
        if found is None or set(found[1]) == {"0"} or set(found[2]) == {"0"}:
            return None
        return cls(found[1], found[2], bool(int(found[3], 16) & 1))

    @classmethod
    def begin(cls) -> Trace:
        """A new trace."""
        return cls(secrets.token_hex(16), secrets.token_hex(8), sampled=True)

    def child(self) -> Trace:
        """A new span in the same trace."""
        return Trace(self.trace_id, secrets.token_hex(8), self.sampled)

    def __str__(self) -> str:
        return f"00-{self.trace_id}-{self.span_id}-{'01' if self.sampled else '00'}"


current_trace: ContextVar[Trace | None] = ContextVar("trace", default=None)


class SpanSink(Protocol):
    """Takes finished spans. Must neither block nor raise."""

    def finished(self, name: str, span: Trace, parent: Trace | None, started_ns: int, ended_ns: int, code: str) -> None:
        """One call, from `started_ns` to `ended_ns` (nanoseconds since 1970)."""
        ...

    def close(self) -> None:
        """Sends what waits; may block for some seconds."""
        ...


class NoSpans:
    """Where no collector is set: the trace is passed on, nothing is sent."""

    def finished(self, name: str, span: Trace, parent: Trace | None, started_ns: int, ended_ns: int, code: str) -> None:
        return

    def close(self) -> None:
        return
