"""A site on loopback that a test fills with pages, and whose access log says what really reached it."""

from __future__ import annotations

import json
import sys
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from urllib.parse import parse_qs, urlsplit

# The longest that an endpoint which holds its answer back does so; tests release it long before.
HOLD_SECONDS = 60.0


@dataclass(frozen=True)
class Hit:
    """One request that reached the site. Header names are in lower case."""

    method: str
    host: str
    path: str
    query: str
    headers: Mapping[str, str]
    body: bytes


@dataclass(frozen=True)
class Page:
    """What a path answers."""

    body: bytes
    content_type: str = "text/html; charset=utf-8"
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict[str, str])


class _Server(ThreadingHTTPServer):
    """One thread a connection. A browser that goes away in the midst of an answer is nothing to report."""

    daemon_threads = True

    def handle_error(self, request: object, client_address: object) -> None:
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)  # pyright: ignore[reportArgumentType]  (only printed)


class Site:
    """Use as a context manager. Beside the pages put on it, it answers:

    /redirect?to=URL 302 · /status/<n> with no body · /drop closes the connection · /echo the request as JSON ·
    /hold answers only after `release()` · /download an attachment · /auth 401 until Basic user:pass
    """

    def __init__(self) -> None:
        self.pages: dict[str, Page] = {}
        self._hits: list[Hit] = []
        self._lock = threading.Lock()
        self._released = threading.Event()
        handler = type("Handler", (SiteHandler,), {"site": self})
        self._server = _Server(("127.0.0.1", 0), handler)
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True)

    @property
    def port(self) -> int:
        return self._server.server_port

    @property
    def origin(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def url(self, path: str) -> str:
        return self.origin + path

    def put(self, path: str, html: str, **page: object) -> str:
        """Serve `html` at `path`; returns its URL."""
        self.pages[path] = Page(html.encode(), **page)  # pyright: ignore[reportArgumentType]
        return self.url(path)

    def hits(self, path: str | None = None) -> list[Hit]:
        """Requests so far, in order; those of one path when given. /favicon.ico is never among them."""
        with self._lock:
            return [hit for hit in self._hits if path is None or hit.path == path]

    def record(self, hit: Hit) -> None:
        if hit.path != "/favicon.ico":
            with self._lock:
                self._hits.append(hit)

    def release(self) -> None:
        """Let every /hold answer."""
        self._released.set()

    def hold(self) -> None:
        """Let /hold wait again."""
        self._released.clear()

    def held(self) -> bool:
        """Wait for the release; whether it came."""
        return self._released.wait(HOLD_SECONDS)

    def __enter__(self) -> Site:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._released.set()
        self._server.shutdown()
        self._server.server_close()


class SiteHandler(BaseHTTPRequestHandler):
    """One connection. `site` is set on the subclass each Site makes."""

    site: Site
    protocol_version = "HTTP/1.1"
    timeout = HOLD_SECONDS

    def do_GET(self) -> None:
        self._handle()

    def do_POST(self) -> None:
        self._handle()

    def do_HEAD(self) -> None:
        self._handle()

    def _handle(self) -> None:
        parts = urlsplit(self.path)
        headers = {name.lower(): value for name, value in self.headers.items()}
        body = self.rfile.read(int(headers.get("content-length", "0")))
        hit = Hit(self.command, headers.get("host", ""), parts.path, parts.query, headers, body)
        self.site.record(hit)
        page = self.site.pages.get(parts.path) or self._special(hit)
        if page is None:
            self.close_connection = True
            return
        self._answer(page)

    def _special(self, hit: Hit) -> Page | None:
        """The endpoints of every site; None closes the connection."""
        if hit.path == "/drop":
            return None
        if hit.path == "/redirect":
            return Page(b"", status=302, headers={"location": parse_qs(hit.query)["to"][0]})
        if hit.path.startswith("/status/"):
            return Page(b"", status=int(hit.path.removeprefix("/status/")))
        if hit.path == "/hold":
            return Page(b"held") if self.site.held() else None
        if hit.path == "/echo":
            facts = {"method": hit.method, "host": hit.host, "headers": dict(hit.headers), "body": hit.body.decode()}
            return Page(json.dumps(facts).encode(), "application/json")
        if hit.path == "/download":
            return Page(
                b"x" * 1000, "application/octet-stream", headers={"content-disposition": "attachment; filename=x.bin"}
            )
        if hit.path == "/auth" and hit.headers.get("authorization") != "Basic dXNlcjpwYXNz":
            return Page(b"who?", status=401, headers={"www-authenticate": 'Basic realm="site"'})
        return Page(b"let in") if hit.path == "/auth" else Page(b"not here", status=404)

    def _answer(self, page: Page) -> None:
        self.send_response(page.status)
        for name, value in page.headers.items():
            self.send_header(name, value)
        if page.status not in (204, 304):
            self.send_header("content-type", page.content_type)
            self.send_header("content-length", str(len(page.body)))
        self.end_headers()
        if self.command != "HEAD" and page.status not in (204, 304):
            self.wfile.write(page.body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class names it
        """Standard error stays the test's; the access log is `Site.hits`."""
