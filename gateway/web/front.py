"""The ASGI entry: every request of the REST port, from its first byte to its answer."""

from __future__ import annotations

import time
from collections.abc import Iterable, MutableMapping
from typing import Any, Protocol

from google.protobuf.message import Message

from gateway import metrics
from gateway.access.door import Door
from gateway.calls.backends import Backends, Metadata
from gateway.calls.deadlines import deadline_of
from gateway.contract import Rpc
from gateway.routing.routes import Kind, Route, router_of, routes
from gateway.transcoding.json_text import parse
from gateway.transcoding.mismatch import Mismatch
from gateway.web.answers import Answer, failed, method_not_allowed, send_answer
from gateway.web.body import ClientGone, read_body
from gateway.web.download import Download, check_shape
from gateway.web.exchange import Exchange, Receive, Scope, Send, invalid
from gateway.web.lines import stream_lines
from gateway.web.sockets import Sockets
from gateway.web.unary import Call, answer_unary
from services.kit import errors, logs, telemetry
from services.kit.calls import IDEMPOTENCY_KEY, REQUEST_ID_KEY
from services.kit.errors import Refusal


class PageTable(Protocol):
    """What is served beside the contract."""

    async def answer(self, exchange: Exchange, scope: Scope, receive: Receive, send: Send) -> Answer | None:
        """The answer to a path without a route; None when it was sent already. Raises Refusal."""
        ...


class Front:
    """REST and WebSocket of the contract; what is no route of it goes to `pages`, which says when it is nothing.

    `open_hosts`: paths for probes, which call by address; they hold no data.
    """

    def __init__(
        self,
        rpcs: Iterable[Rpc],
        door: Door,
        backends: Backends,
        pages: PageTable,
        open_hosts: frozenset[str] = frozenset(),
    ) -> None:
        rpcs = list(rpcs)
        self.table: list[Route] = routes(rpcs)
        for route in self.table:
            if route.kind is Kind.DOWNLOAD:
                check_shape(route.rpc)
        self._router = router_of(self.table)
        self._deadlines = {rpc.path: deadline_of(rpc) for rpc in rpcs}
        self._door = door
        self._backends = backends
        self._pages = pages
        self._open_hosts = open_hosts
        self.sockets = Sockets(self._router, door, backends)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            await _Request(self, Exchange(scope), scope, receive, send).run()
        elif scope["type"] == "websocket":
            await self.sockets.serve(Exchange(scope), scope, receive, send)

    async def answer(self, exchange: Exchange, scope: Scope, receive: Receive, send: Send) -> Answer | None:
        """The answer to a request; None when it was sent already. Raises Refusal, Mismatch and ClientGone."""
        exchange.check_headers(scope)
        if scope["path"] not in self._open_hosts:
            self._door.check_host(exchange.header(b"host"), exchange.header(b"origin"))
        match = self._router.find(exchange.raw_path)
        if match is None:
            return await self._pages.answer(exchange, scope, receive, send)
        route = match.by_method.get(exchange.verb)
        if route is None:
            return method_not_allowed(exchange.verb, sorted(match.by_method), exchange.request_id)
        exchange.what = route.rpc.name
        if route.kind is Kind.WEBSOCKET:
            raise invalid("this route is a WebSocket: connect to it as one", "list_recent_events reads without one.")
        caller = self._door.caller(exchange.header(b"authorization"))
        request = await self._read(route, match.values, exchange, receive)
        caller = self._door.check(route.rpc, caller, request)
        call = Call(route, exchange, caller, request, _metadata(exchange, route))
        async with self._door.lease(caller):
            return await self._dispatch(call, receive, send)

    async def _read(self, route: Route, values: tuple[str, ...], exchange: Exchange, receive: Receive) -> Message:
        body = await read_body(exchange, receive, route.body_limit)
        if not route.reader.takes_body and body:
            raise invalid(f"{route.verb} takes no body here: give its parameters in the query")
        return route.reader.read(values, exchange.query(), parse(body) if route.reader.takes_body else None)

    async def _dispatch(self, call: Call, receive: Receive, send: Send) -> Answer | None:
        if call.route.kind is Kind.NDJSON:
            await stream_lines(self._backends, call, receive, send)
        elif call.route.kind is Kind.DOWNLOAD:
            await Download(self._backends, call, receive, send).run()
        else:
            seconds = self._deadlines[call.route.rpc.path](call.request)
            return await answer_unary(self._backends, call, seconds, receive)
        return None

    def refused(self, refusal: Refusal, exchange: Exchange) -> Answer:
        """The answer to what the gateway refuses itself."""
        self._door.note(refusal, source=exchange.client, request_id=exchange.request_id, what=exchange.what)
        return failed(refusal, exchange.request_id, with_status=exchange.verb not in ("GET", "HEAD"))


class _Request:
    """One HTTP request: makes an answer of whatever comes, and counts it."""

    def __init__(self, front: Front, exchange: Exchange, scope: Scope, receive: Receive, send: Send) -> None:
        self._front = front
        self._exchange = exchange
        self._scope = scope
        self._receive = receive
        self._send = send
        self._status = 0

    async def run(self) -> None:
        exchange = self._exchange
        logs.bind(request_id=exchange.request_id)
        parent = telemetry.Trace.parse(exchange.header(b"traceparent") or "")
        telemetry.current_trace.set(telemetry.Trace.begin() if parent is None else parent.child())
        started = time.perf_counter()
        try:
            answer = await self._answer()
            if answer is not None and not self._status:
                await send_answer(self._noted, exchange, answer)
        except ClientGone:
            # Returning without a whole answer makes the server abort the connection.
            self._status = self._status or 499
        finally:
            metrics.REQUESTS.labels(exchange.what, str(self._status)).observe(time.perf_counter() - started)

    async def _answer(self) -> Answer | None:
        try:
            return await self._front.answer(self._exchange, self._scope, self._receive, self._noted)
        except Mismatch as mismatch:
            return self._front.refused(mismatch.refusal(), self._exchange)
        except Refusal as refusal:
            return self._front.refused(refusal, self._exchange)
        except ClientGone:
            raise
        except Exception as error:
            return self._front.refused(errors.internal(error), self._exchange)

    async def _noted(self, message: MutableMapping[str, Any]) -> None:
        """Sends; notes the status, which also says that an answer has begun. Every answer has the request's id."""
        if message["type"] == "http.response.start":
            self._status = message["status"]
            headers = message.setdefault("headers", [])
            if all(name != b"x-request-id" for name, _ in headers):
                headers.append((b"x-request-id", self._exchange.request_id.encode()))
        await self._send(message)


def _metadata(exchange: Exchange, route: Route) -> Metadata:
    """What goes along with a call: the request's id, and the caller's key for repeats."""
    key = exchange.idempotency_key() if route.is_operation else None
    if key is not None and route.rpc.answers_secret:
        raise invalid("the answer holds a secret, of which nothing is kept: send no idempotency-key")
    own = (REQUEST_ID_KEY, exchange.request_id)
    return (own,) if key is None else (own, (IDEMPOTENCY_KEY, key))
