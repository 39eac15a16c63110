"""What surrounds every handler, for all four kinds of rpc, in this order: ids and telemetry, errors, identity,
deadline, the operation (its record, idempotency), scope and bounds (DESIGN §4)."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any, cast

import grpc
import structlog.contextvars
from google.protobuf.message import Message
from hyperkitty.operations.v1.errors_pb2 import ErrorCode

from services.kit import errors, logs
from services.kit.calls import OPERATION_ID_KEY, REQUEST_ID_KEY, IncomingCall
from services.kit.clock import Clock
from services.kit.deadlines import apart
from services.kit.errors import DETAILS_KEY, Refusal
from services.kit.idempotency import Claim, IdempotencyKeys, Repeat
from services.kit.identity import Verifier, check_scope, check_signer, set_caller
from services.kit.methods import MethodFacts
from services.kit.operations import OperationContext, enter
from services.kit.recorder import Recorder, log_unavailable
from services.kit.telemetry import CALLS, NoSpans, SpanSink
from services.kit.validation import check_message

log = logs.get(__name__)

# gRPC hands handlers, requests and responses around without types; they are messages of the contract.
Context = Any
Handler = Any
Work = Callable[[], Awaitable[Message]]

# Codes with which nothing was done: a repeat with the same idempotency key may try again.
_NOTHING_DONE = frozenset({ErrorCode.ERROR_CODE_UNAVAILABLE, ErrorCode.ERROR_CODE_RESOURCE_EXHAUSTED})


class Surroundings:
    """What the interceptor needs of its service."""

    def __init__(
        self,
        verifier: Verifier,
        recorder: Recorder,
        clock: Clock,
        idempotency: IdempotencyKeys | None = None,
        spans: SpanSink | None = None,
    ) -> None:
        self.verifier = verifier
        self.recorder = recorder
        self.clock = clock
        self.idempotency = idempotency
        self.spans = spans or NoSpans()
        # Streams without a deadline; ended when the service drains.
        self.endless: set[asyncio.Task[object]] = set()
        self.draining = False

    def drain(self) -> None:
        """Ends the streams that would never end by themselves; their callers are told to come back."""
        self.draining = True
        for task in self.endless:
            task.cancel()


class _Running:
    """One call on its way through."""

    def __init__(self, around: Surroundings, facts: MethodFacts, context: Context) -> None:
        self.around = around
        self.facts = facts
        self.context = context
        self.call = IncomingCall(facts, context)
        self.operation: OperationContext | None = None
        self._ids_sent: asyncio.Future[None] | None = None
        self.code = "ok"

    def authenticate(self) -> None:
        """Ids, identity, deadline: what is known of a call before its request. Raises Refusal."""
        self.call.enter()
        try:
            verified = self.around.verifier.verify(self.call.identity_data)
            check_signer(verified, self.facts)
        except Refusal:
            self._send_ids()
            raise
        set_caller(verified.identity)
        if self.facts.is_operation:
            self.operation = OperationContext(
                request_id=self.call.request_id,
                identity=verified.identity,
                kind=self.facts.kind,
                parent_operation_id=self.call.parent_operation_id,
                clock=self.around.clock,
            )
            enter(self.operation)
            structlog.contextvars.bind_contextvars(operation_id=self.operation.operation_id)
        self._identity = verified.identity
        if self.around.idempotency is None or not self.call.idempotency_key:
            self._send_ids()

    def check_available(self) -> None:
        """Refuses an operation while its record could not be written. Raises Refusal."""
        if self.operation is not None:
            self.around.recorder.check_available(self.operation.operation_id)

    def check(self, request: Message | None) -> None:
        """Scope and bounds. Raises Refusal."""
        check_scope(self._identity, self.facts)
        if request is not None:
            check_message(request)

    def _send_ids(self, operation_id: str = "") -> None:
        """Sends the ids while the call runs: initial metadata costs a round through gRPC's core."""
        if self._ids_sent is not None:
            return
        metadata = [(REQUEST_ID_KEY, self.call.request_id)]
        if self.operation is not None:
            metadata.append((OPERATION_ID_KEY, operation_id or self.operation.operation_id))
        self._ids_sent = asyncio.ensure_future(self.context.send_initial_metadata(tuple(metadata)))

    async def claim(self, request: Message | None) -> Claim | None:
        """The claim of the call's idempotency key, if it has one. Raises Repeat, Refusal."""
        keys, operation = self.around.idempotency, self.operation
        if operation is None or keys is None or not self.call.idempotency_key or request is None:
            self._send_ids()
            return None
        try:
            claim = await keys.claim(
                self._identity.tenant, self.facts.path, self.call.idempotency_key, request, operation.operation_id
            )
        except Repeat as repeat:
            self._send_ids(repeat.first.operation_id)
            raise
        self._send_ids()
        return claim

    async def bounded(self, work: Work) -> Message:
        """Runs the handler within the deadline; whatever it raises comes out as a Refusal, or as cancelling."""
        try:
            if self.call.budget is None:
                return await work()
            async with self.call.budget.limit():
                return await work()
        except Refusal:
            raise
        except Exception as error:
            raise errors.internal(error) from error

    async def write_record(self, refusal: Refusal | None) -> None:
        """Outcome events and record, together. Raises Refusal event_log_unavailable."""
        operation = self.operation
        if operation is None:
            return
        if operation.open_intents:
            if refusal is None:
                log.error("intent_without_outcome", category=operation.open_intents[-1].event.category)
            operation.fail_open_intents(refusal or Refusal(ErrorCode.ERROR_CODE_INTERNAL, "the outcome is not known"))
        queued, operation.queued = operation.queued, []
        if not await self.around.recorder.write(queued, operation.to_proto(refusal)):
            raise log_unavailable(operation.operation_id)

    async def fail(self, refusal: Refusal) -> None:
        """Ends the call with the refusal's status; does not return."""
        self.code = errors.reason(refusal.code)
        await self.ids_are_sent()
        status = errors.to_status(refusal)
        await self.context.abort(
            errors.grpc_status(refusal.code), status.message, ((DETAILS_KEY, status.SerializeToString()),)
        )

    async def ids_are_sent(self) -> None:
        self._send_ids()
        if self._ids_sent is not None:
            await self._ids_sent

    def finished(self) -> None:
        """Counts and traces the call."""
        CALLS.labels(self.facts.path, self.code).observe(time.monotonic() - self.call.started)
        self.around.spans.finished(
            self.facts.path, self.call.trace, self.call.parent, self.call.started_ns, time.time_ns(), self.code
        )


def _cancelled() -> Refusal:
    return Refusal(ErrorCode.ERROR_CODE_CANCELLED, "the caller cancelled the call")


def _stopping() -> Refusal:
    return errors.unavailable("the service is stopping", 200)


async def _operate(running: _Running, request: Message | None, work: Work) -> Message:
    """Runs an operation, and writes its record however it ends. Raises Refusal, or cancelling."""
    response: Message | None = None
    refusal: Refusal | None = None
    was_cancelled: asyncio.CancelledError | None = None
    claim: Claim | None = None
    try:
        running.check_available()
        running.check(request)
        claim = await running.claim(request)
        response = await running.bounded(work)
    except Repeat as repeat:
        return repeat.answer(running.facts.response_type)
    except Refusal as error:
        refusal = error
    except asyncio.CancelledError as error:
        refusal, was_cancelled = _cancelled(), error
    try:
        await running.write_record(refusal)
    except Refusal as error:
        refusal = error
    if claim is not None:
        with apart(5.0):
            if refusal is not None and refusal.code in _NOTHING_DONE:
                await asyncio.shield(claim.release())
            else:
                await asyncio.shield(claim.answer(response, refusal))
    if was_cancelled is not None:
        raise was_cancelled
    if refusal is not None:
        raise refusal
    assert response is not None
    return response


async def _answer(running: _Running, request: Message | None, work: Work) -> Message | None:
    """The one response of a call; None only formally, after `fail`."""
    try:
        running.authenticate()
        if running.operation is not None:
            response = await _operate(running, request, work)
        else:
            running.check(request)
            response = await running.bounded(work)
        await running.ids_are_sent()
        return response
    except Refusal as refusal:
        await running.fail(refusal)
        return None
    except asyncio.CancelledError:
        running.code = "cancelled"
        raise
    finally:
        running.finished()


async def _stream(
    running: _Running, request: Message | None, work: Callable[[], AsyncIterator[Message]]
) -> AsyncIterator[Message]:
    """The responses of a call."""
    task = cast("asyncio.Task[object]", asyncio.current_task())
    refusal: Refusal | None = None
    try:
        running.authenticate()
        running.check_available()
        running.check(request)
        await running.ids_are_sent()
        if running.call.budget is None:
            running.around.endless.add(task)
        async for response in _paced(running, work):
            yield response
    except Refusal as error:
        refusal = error
    except asyncio.CancelledError:
        if not (running.around.draining and task in running.around.endless):
            running.code = "cancelled"
            await running.write_record(_cancelled())
            raise
        task.uncancel()
        refusal = _stopping()
    finally:
        running.around.endless.discard(task)
        running.code = errors.reason(refusal.code) if refusal is not None else running.code
        running.finished()
    try:
        await running.write_record(refusal)
    except Refusal as error:
        refusal = error
    if refusal is not None:
        await running.fail(refusal)


async def _paced(running: _Running, work: Callable[[], AsyncIterator[Message]]) -> AsyncIterator[Message]:
    """The handler's responses within the deadline, if the stream has one; faults come out as `internal`."""
    responses = work()
    try:
        while True:
            try:
                if running.call.budget is None:
                    response = await anext(responses)
                else:
                    async with running.call.budget.limit():
                        response = await anext(responses)
            except StopAsyncIteration:
                return
            except Refusal:
                raise
            except Exception as error:
                raise errors.internal(error) from error
            yield response
    finally:
        close = getattr(responses, "aclose", None)
        if close is not None:
            await close()


async def _checked(requests: AsyncIterator[Message]) -> AsyncIterator[Message]:
    """The requests of a stream, each within its bounds."""
    async for request in requests:
        check_message(request)
        yield request


def _served(facts: MethodFacts, behavior: Any) -> Any:
    """The servicer's method; in place of the generated one, which a servicer did not override, a refusal."""
    if not str(getattr(behavior, "__module__", "")).endswith("_pb2_grpc"):
        return behavior
    told = f"{facts.kind} is in the contract, but is not served yet"

    async def refuse(request: Any, context: Context) -> Message:
        raise Refusal(ErrorCode.ERROR_CODE_UNIMPLEMENTED, told)

    async def refuse_stream(request: Any, context: Context) -> AsyncIterator[Message]:
        yield await refuse(request, context)

    return refuse_stream if facts.streams_responses else refuse


def wrap(around: Surroundings, facts: MethodFacts, handler: Handler) -> Handler:
    """The handler with everything around it."""
    serialization: dict[str, Any] = {
        "request_deserializer": handler.request_deserializer,
        "response_serializer": handler.response_serializer,
    }
    if facts.streams_responses:
        behavior = _served(facts, handler.stream_stream if facts.streams_requests else handler.unary_stream)

        async def stream(request: Any, context: Context) -> AsyncIterator[Message]:
            running = _Running(around, facts, context)
            given = _checked(request) if facts.streams_requests else request
            message = None if facts.streams_requests else request
            async for response in _stream(running, message, lambda: behavior(given, context)):
                yield response

        make = grpc.stream_stream_rpc_method_handler if facts.streams_requests else grpc.unary_stream_rpc_method_handler
        return make(stream, **serialization)
    behavior = _served(facts, handler.stream_unary if facts.streams_requests else handler.unary_unary)

    async def answer(request: Any, context: Context) -> Message | None:
        running = _Running(around, facts, context)
        given = _checked(request) if facts.streams_requests else request
        message = None if facts.streams_requests else request
        return await _answer(running, message, lambda: behavior(given, context))

    make = grpc.stream_unary_rpc_method_handler if facts.streams_requests else grpc.unary_unary_rpc_method_handler
    return make(answer, **serialization)


class KitInterceptor(grpc.aio.ServerInterceptor):
    """Wraps each method of the contract once; what is outside of it must be in the open list."""

    def __init__(self, around: Surroundings, methods: dict[str, MethodFacts]) -> None:
        self._around = around
        self._methods = methods
        self._wrapped: dict[str, Handler] = {}

    async def intercept_service(
        self,
        continuation: Callable[[grpc.HandlerCallDetails], Awaitable[Handler]],
        handler_call_details: grpc.HandlerCallDetails,
    ) -> Handler:
        path = handler_call_details.method
        wrapped = self._wrapped.get(path)
        if wrapped is not None:
            return wrapped
        handler = await continuation(handler_call_details)
        known = self._methods.get(path)
        if handler is None or known is None:
            # Unknown methods are gRPC's to refuse; health and reflection are open.
            return handler
        wrapped = self._wrapped[path] = wrap(self._around, known, handler)
        return wrapped
