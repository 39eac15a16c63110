"""What the REST port serves beside the contract: the frontend's files, probes, metrics."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import cache
from pathlib import Path

from hyperkitty.operations.v1.errors_pb2 import ErrorCode
from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse, Response
from starlette.staticfiles import StaticFiles

from gateway.access.door import Door
from gateway.openapi.document import PATH as OPENAPI
from gateway.web.answers import Answer, method_not_allowed
from gateway.web.exchange import Exchange, Receive, Scope, Send
from gateway.web.readiness import Readiness
from services.kit import telemetry
from services.kit.errors import Refusal

FRONTEND = Path(__file__).resolve().parents[2] / "frontend"
PROBES = frozenset({"/livez", "/readyz"})
"""Open to any Host: Kubernetes asks by address. They hold no data."""

_VERBS = ["GET", "HEAD"]
# Everything from here, nothing inline, nowhere to send anything (SPEC §12). `connect-src 'self'` covers the WebSocket.
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
_HEADERS = {
    "content-security-policy": _POLICY,
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-cache",
}


class Pages:
    """Answers what no route of the contract answers; 404 in the envelope when it is nothing."""

    def __init__(
        self, door: Door, readiness: Readiness, openapi: Callable[[], bytes] = bytes, frontend: Path = FRONTEND
    ) -> None:
        """`openapi` makes the document of the routes, when it is first asked for."""
        self._door = door
        self._openapi = cache(openapi)
        self._readiness = readiness
        self._static = StaticFiles(directory=frontend)
        self._computed: dict[str, Callable[[Exchange], Awaitable[Response]]] = {
            "/livez": _live,
            "/readyz": self._ready,
            "/metrics": self._metrics,
            OPENAPI: self._document,
        }

    async def answer(self, exchange: Exchange, scope: Scope, receive: Receive, send: Send) -> Answer | None:
        """The answer, or None when it was sent. Raises Refusal."""
        path = str(scope["path"])
        computed = self._computed.get(path)
        file = "index.html" if path == "/" else path.lstrip("/")
        if computed is None and not self._is_file(file):
            raise Refusal(
                ErrorCode.ERROR_CODE_NOT_FOUND,
                f"there is nothing at {path[:200]!r}",
                hint="list_browser_operations shows what can be called; / is the dashboard.",
            )
        if exchange.verb not in _VERBS:
            return method_not_allowed(exchange.verb, _VERBS, exchange.request_id)
        exchange.what = path if computed is not None else "file"
        response = await (computed(exchange) if computed is not None else self._file(file, scope))
        response.headers.update(_HEADERS)
        await response(scope, receive, send)
        return None

    def _is_file(self, file: str) -> bool:
        try:
            _, found = self._static.lookup_path(file)
        except (OSError, ValueError, HTTPException):
            return False
        return found is not None and not Path(file).name.startswith(".")

    async def _file(self, file: str, scope: Scope) -> Response:
        try:
            return await self._static.get_response(file, scope)
        except HTTPException:
            raise Refusal(ErrorCode.ERROR_CODE_NOT_FOUND, f"there is nothing at {file[:200]!r}") from None

    async def _ready(self, _: Exchange) -> Response:
        services = await self._readiness.ask()
        states = {name: "ready" if serves else "down" for name, serves in services.items()}
        if all(services.values()):
            status = "ready"
        else:
            # One part that is down takes no gateway out of its pool: that would make one failure everybody's.
            status = "degraded" if any(services.values()) else "not_ready"
        return JSONResponse({"status": status, "services": states}, status_code=503 if status == "not_ready" else 200)

    async def _document(self, exchange: Exchange) -> Response:
        self._door.caller(exchange.header(b"authorization"))
        return Response(self._openapi(), media_type="application/json")

    async def _metrics(self, exchange: Exchange) -> Response:
        caller = self._door.caller(exchange.header(b"authorization"))
        if not (caller.scopes.root or caller.scopes.metrics):
            raise Refusal(ErrorCode.ERROR_CODE_NOT_AUTHORIZED, "metrics need a token with the scope metrics")
        return Response(telemetry.exposition(), media_type="text/plain; version=0.0.4")


async def _live(_: Exchange) -> Response:
    return JSONResponse({"status": "live"})
