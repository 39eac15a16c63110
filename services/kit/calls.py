"""One incoming call: its ids, deadline and trace, read from its metadata."""

from __future__ import annotations

import re
import time
from contextvars import ContextVar
from typing import Any, Protocol

import structlog.contextvars

from services.kit import deadlines, telemetry
from services.kit.deadlines import DEFAULT_SECONDS, Budget
from services.kit.identity import METADATA_KEY
from services.kit.ids import is_id, ulid
from services.kit.methods import MethodFacts
from services.kit.telemetry import Trace

REQUEST_ID_KEY = "x-request-id"
OPERATION_ID_KEY = "x-operation-id"
IDEMPOTENCY_KEY = "idempotency-key"
TRACE_KEY = "traceparent"

# SPEC §10.
REQUEST_ID = re.compile(r"[A-Za-z0-9._:-]{1,64}")
_MARGIN_SECONDS = 0.1
_MARGIN_SHARE = 0.1


class Context(Protocol):
    """What is used of gRPC's servicer context."""

    def invocation_metadata(self) -> Any: ...
    def time_remaining(self) -> float | None: ...


def mint_request_id() -> str:
    """A request id for a call that brought none."""
    return f"req-{ulid()}"


class IncomingCall:
    """What a call brought with it."""

    __slots__ = ("_text", "budget", "facts", "identity_data", "parent", "request_id", "started", "started_ns", "trace")

    def __init__(self, facts: MethodFacts, context: Context) -> None:
        self.facts = facts
        self.started = time.monotonic()
        self.started_ns = time.time_ns()
        self.identity_data: bytes | None = None
        self._text: dict[str, str] = {}
        for key, value in context.invocation_metadata() or ():
            if isinstance(value, str):
                self._text[key] = value
            elif key == METADATA_KEY:
                self.identity_data = value
        brought = self._text.get(REQUEST_ID_KEY, "")
        self.request_id = brought if REQUEST_ID.fullmatch(brought) else mint_request_id()
        self.parent = Trace.parse(self._text.get(TRACE_KEY, ""))
        self.trace = Trace.begin() if self.parent is None else self.parent.child()
        self.budget = self._budget(context.time_remaining())

    def _budget(self, remaining: float | None) -> Budget | None:
        """The call's budget: a little less than its deadline, so that the refusal still arrives; None: no end."""
        if remaining is None:
            return None if self.facts.streams_responses or self.facts.streams_requests else Budget(DEFAULT_SECONDS)
        return Budget(max(0.0, remaining - min(_MARGIN_SECONDS, remaining * _MARGIN_SHARE)))

    @property
    def parent_operation_id(self) -> str:
        parent = self._text.get(OPERATION_ID_KEY, "")
        return parent if is_id("op", parent) else ""

    @property
    def idempotency_key(self) -> str:
        return self._text.get(IDEMPOTENCY_KEY, "")

    def enter(self) -> None:
        """Makes the call the current one of its task. gRPC gives each call a task, so that nothing is undone."""
        current_request_id.set(self.request_id)
        telemetry.current_trace.set(self.trace)
        if self.budget is not None:
            deadlines.use(self.budget)
        structlog.contextvars.bind_contextvars(request_id=self.request_id)


current_request_id: ContextVar[str] = ContextVar("request_id", default="")
