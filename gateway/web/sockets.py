"""Opening WebSockets: who may, and what for; and closing all of them when the gateway stops."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import cast

from google.protobuf.message import Message
from hyperkitty.auth.v1.identity_pb2 import CallerIdentity
from hyperkitty.operations.v1.errors_pb2 import ErrorCode

from gateway import metrics
from gateway.access.door import Door
from gateway.calls.backends import Backends
from gateway.routing.router import Router
from gateway.routing.routes import Kind, Route
from gateway.transcoding.json_text import parse
from gateway.transcoding.mismatch import Mismatch
from gateway.web.answers import failed
from gateway.web.body import ClientGone
from gateway.web.exchange import Exchange, Receive, Scope, Send, invalid
from gateway.web.socket import Socket
from services.kit import errors, logs
from services.kit.calls import REQUEST_ID_KEY
from services.kit.errors import Refusal

AUTHENTICATION_SECONDS = 5.0
MOST_SOCKETS = 2_000
_STOP_SECONDS = 2.0


class Sockets:
    """The WebSockets of this process."""

    def __init__(self, router: Router[Route], door: Door, backends: Backends) -> None:
        self._router = router
        self._door = door
        self._backends = backends
        self._open: set[Socket] = set()
        self._none_open = asyncio.Event()
        self._stopping: Refusal | None = None

    async def serve(self, exchange: Exchange, scope: Scope, receive: Receive, send: Send) -> None:
        """Carries one WebSocket from its handshake to its end."""
        logs.bind(request_id=exchange.request_id)
        await receive()  # websocket.connect
        socket = Socket(receive, send)
        accepted = False
        try:
            try:
                route, request = self._wanted(exchange, scope)
                caller = self._caller_by_header(exchange)
                await send({"type": "websocket.accept", "headers": _headers(exchange)})
                accepted = True
                await self._run(socket, exchange, route, request, caller)
            except Mismatch as mismatch:
                raise mismatch.refusal() from None
        except Refusal as refusal:
            await self._refuse(refusal, exchange, socket if accepted else None, send)
        except ClientGone:
            return
        except Exception as error:
            await self._refuse(errors.internal(error), exchange, socket if accepted else None, send)

    async def stop(self, refusal: Refusal) -> None:
        """Closes every WebSocket with a reason; returns when they are closed, or after 2 s."""
        self._stopping = refusal
        for socket in self._open:
            socket.end(refusal)
        self._none_open.clear()
        if self._open:
            try:
                async with asyncio.timeout(_STOP_SECONDS):
                    await self._none_open.wait()
            except TimeoutError:
                return

    def _wanted(self, exchange: Exchange, scope: Scope) -> tuple[Route, Message]:
        """The stream that is meant, and its first request. Raises Refusal and Mismatch."""
        exchange.check_headers(scope)
        self._door.check_host(exchange.header(b"host"), exchange.header(b"origin"))
        match = self._router.find(exchange.raw_path)
        route = match.by_method.get("GET") if match is not None else None
        if match is None or route is None or route.kind is not Kind.WEBSOCKET:
            raise Refusal(
                ErrorCode.ERROR_CODE_NOT_FOUND,
                "no WebSocket has this path",
                hint="list_recent_events reads events without one; /api/events/stream streams them.",
            )
        exchange.what = route.rpc.name
        if self._stopping is not None:
            raise self._stopping
        if len(self._open) >= MOST_SOCKETS:
            raise Refusal(ErrorCode.ERROR_CODE_RESOURCE_EXHAUSTED, f"{MOST_SOCKETS} WebSockets are open")
        return route, route.reader.read(match.values, exchange.query(), None)

    def _caller_by_header(self, exchange: Exchange) -> CallerIdentity | None:
        """The caller, when the handshake names one: a browser's cannot, and its first message does."""
        header = exchange.header(b"authorization")
        return None if header is None else self._door.caller(header)

    async def _run(
        self, socket: Socket, exchange: Exchange, route: Route, request: Message, caller: CallerIdentity | None
    ) -> None:
        self._open.add(socket)
        metrics.SOCKETS.set(len(self._open))
        try:
            if caller is None:
                caller = self._door.caller(await socket.unless_ended(_first_message(socket)))
            caller = self._door.check(route.rpc, caller, request)
            metadata = ((REQUEST_ID_KEY, exchange.request_id),)
            async with self._door.lease(caller):
                await socket.run(self._backends, route, caller, request, metadata)
        finally:
            self._open.discard(socket)
            metrics.SOCKETS.set(len(self._open))
            if not self._open:
                self._none_open.set()

    async def _refuse(self, refusal: Refusal, exchange: Exchange, socket: Socket | None, send: Send) -> None:
        """Tells why: as an HTTP answer before the handshake, in a `closing` after it."""
        self._door.note(refusal, source=exchange.client, request_id=exchange.request_id, what=exchange.what)
        if socket is not None:
            try:
                await socket.close(refusal)
            except ClientGone:
                return
        else:
            answer = failed(refusal, exchange.request_id, with_status=False)
            headers = [(b"content-type", b"application/json"), *_headers(exchange), *answer.headers]
            await send({"type": "websocket.http.response.start", "status": answer.status, "headers": headers})
            await send({"type": "websocket.http.response.body", "body": answer.body})


def _headers(exchange: Exchange) -> list[tuple[bytes, bytes]]:
    return [(b"x-request-id", exchange.request_id.encode())]


async def _first_message(socket: Socket) -> str:
    """The authorization in the first message, which must come within 5 s."""
    try:
        async with asyncio.timeout(AUTHENTICATION_SECONDS):
            text = await socket.receive_text()
    except TimeoutError:
        raise Refusal(
            ErrorCode.ERROR_CODE_UNAUTHENTICATED,
            f'no first message {{"authorization": "Bearer …"}} came within {AUTHENTICATION_SECONDS:.0f} s',
        ) from None
    value = parse(text.encode("utf-8", "surrogatepass"))
    members: Mapping[str, object] = cast("Mapping[str, object]", value) if isinstance(value, dict) else {}
    authorization = members.get("authorization")
    if not isinstance(authorization, str) or len(members) != 1:
        raise invalid('the first message must be {"authorization": "Bearer …"}')
    return authorization
