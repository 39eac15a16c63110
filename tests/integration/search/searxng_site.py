"""A SearXNG instance on loopback: the first word of a query chooses its fault (case 42). And documents."""

from __future__ import annotations

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from urllib.parse import parse_qs, urlsplit

HOLD_SECONDS = 20.0
GUIDE = (
    "<html><head><title>Guide</title></head><body><article><h1>Guide to cats</h1>"
    "<p>Cats sleep for most of the day, and they hunt at dawn.</p>"
    "<p>A cat needs fresh water every day.</p></article></body></html>"
)


class _Quiet(ThreadingHTTPServer):
    def handle_error(self, request: object, client_address: object) -> None:
        """A client that did not wait for a slow answer is what some tests are about."""


class SearxngSite:
    """Use as a context manager."""

    def __init__(self) -> None:
        self.queries: list[str] = []
        """What was asked for, in order; documents as their paths."""
        self.limited_answers = 1_000
        """How many queries are answered with 429 before they are taken; falls with each."""
        self.retry_after = "1"
        self.released = threading.Event()
        handler = type("Handler", (_Handler,), {"site": self})
        self._server = _Quiet(("127.0.0.1", 0), handler)
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True)

    @property
    def port(self) -> int:
        return self._server.server_port

    @property
    def origin(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def __enter__(self) -> SearxngSite:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.released.set()
        self._server.shutdown()
        self._server.server_close()


class _Handler(BaseHTTPRequestHandler):
    site: SearxngSite
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        parts = urlsplit(self.path)
        asked = {name: values[0] for name, values in parse_qs(parts.query).items()}
        if parts.path == "/search":
            assert asked.get("format") == "json"
            self.site.queries.append(asked.get("q", ""))
            return self._search(asked.get("q", ""))
        if parts.path == "/docs/guide.html":
            self.site.queries.append(parts.path)
            return self._send(200, GUIDE)
        return self._send(404, "not here")

    def _search(self, query: str) -> None:
        scenario = (query.split() or [""])[0]
        if scenario == "rate":
            return self._limited(query)
        if scenario == "slow":
            self.site.released.wait(HOLD_SECONDS)
        faults = {
            "forbidden": (403, "<!doctype html><title>403 Forbidden</title>", "text/html"),
            "html200": (200, "<!doctype html><title>Just a moment...</title><form>challenge</form>", "text/html"),
            "badjson": (200, '{"query": "x", "results": [', "application/json"),
            "broken": (502, "", "text/plain"),
        }
        if scenario in faults:
            status, body, content_type = faults[scenario]
            return self._send(status, body, content_type)
        return self._send(200, json.dumps(self._answer(scenario, query)), "application/json")

    def _limited(self, query: str) -> None:
        if self.site.limited_answers > 0:
            self.site.limited_answers -= 1
            return self._send(429, "Too Many Requests", "text/plain", self.site.retry_after)
        return self._send(200, json.dumps(self._answer("", query)), "application/json")

    def _answer(self, scenario: str, query: str) -> dict[str, object]:
        if scenario == "captcha":
            blocked = [["google", "Suspended: CAPTCHA"], ["startpage", "CAPTCHA"], ["brave", "too many requests"]]
            return {"query": query, "results": [], "unresponsive_engines": blocked}
        if scenario == "empty":
            return {"query": query, "results": [], "unresponsive_engines": []}
        docs = f"{self.site.origin}/docs/"
        results: list[dict[str, object]] = [
            _result(f"{docs}guide.html?utm_source=x&id=7", "Guide", "The guide.", ["google", "bing"]),
            _result(f"{docs}guide.html?id=7#top", "Guide (copy)", "The guide.", ["brave"]),
        ]
        if scenario == "odd":
            odd: list[dict[str, object]] = [
                _result("javascript:alert(1)", "bad scheme", "", []),
                _result("", "no url", "", []),
                _result("http://127.0.0.1:1/closed", "dead link", None, ["bing"]),
                {"title": "no url key"},
                {"url": f"{docs}x.html"},
                {"url": 7, "title": ["odd"]},
            ]
            results += odd
        return {"query": query, "results": results, "unresponsive_engines": [["qwant", "timeout"]]}

    def _send(self, status: int, body: str, content_type: str = "text/html", retry_after: str = "") -> None:
        content = body.encode()
        self.send_response(status)
        self.send_header("content-type", content_type)
        self.send_header("content-length", str(len(content)))
        if retry_after:
            self.send_header("retry-after", retry_after)
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class names it
        """Standard error stays the test's."""


def _result(url: str, title: str, content: str | None, engines: list[str]) -> dict[str, object]:
    engine = engines[0] if engines else "none"
    return {"url": url, "title": title, "content": content, "engine": engine, "engines": engines, "score": 1.0}
