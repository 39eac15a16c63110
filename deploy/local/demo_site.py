"""The small site that the demonstration agent works on: a form, a list with links, a second page. Loopback only."""

from __future__ import annotations

import html
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import ClassVar
from urllib.parse import parse_qs, urlsplit

BOOKS = {
    "ink": ("Ink and Paper", "Shelf 3, row 2"),
    "tides": ("The Book of Tides", "Shelf 7, row 1"),
    "bridges": ("Bridges of the North", "Shelf 1, row 4"),
}
STYLE = "<style>body{font:16px sans-serif;margin:2rem;max-width:40rem}input,button{font:inherit;padding:.3rem}</style>"


def page(title: str, body: str) -> bytes:
    """A whole HTML document."""
    return f"<!doctype html><html lang=en><title>{title}</title>{STYLE}<h1>{title}</h1>{body}</html>".encode()


def front_page() -> bytes:
    """The form."""
    return page(
        "Harbour Library",
        "<form action=/search><label>Search the catalogue <input name=q></label> <button>Search</button></form>",
    )


def result_page(query: str) -> bytes:
    """The list of books whose titles hold the query."""
    found = [(key, title) for key, (title, _) in BOOKS.items() if query.lower() in title.lower()]
    items = "".join(f"<li><a href='/book/{key}'>{html.escape(title)}</a></li>" for key, title in found)
    return page("Results", f"<p>{len(found)} found for {html.escape(query)}</p><ul>{items}</ul><a href='/'>Back</a>")


def book_page(key: str) -> bytes | None:
    """One book, and where it stands."""
    if key not in BOOKS:
        return None
    title, place = BOOKS[key]
    return page(title, f"<p>Location: {place}</p><a href='/'>Back</a>")


def answer(target: str) -> bytes | None:
    """The document of a request target; None when there is none."""
    url = urlsplit(target)
    if url.path == "/":
        return front_page()
    if url.path == "/search":
        return result_page(parse_qs(url.query).get("q", [""])[0])
    if url.path.startswith("/book/"):
        return book_page(url.path.removeprefix("/book/"))
    return None


class _Handler(BaseHTTPRequestHandler):
    hits: ClassVar[list[str]]
    """Set on the subclass that each site makes."""

    def do_GET(self) -> None:
        """Answer from `answer`."""
        self.hits.append(self.path)
        body = answer(self.path)
        self.send_response(200 if body else 404)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.send_header("Content-Length", str(len(body or b"")))
        self.end_headers()
        self.wfile.write(body or b"")

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 (the base class says so)
        """Nothing: the demonstration prints its own lines."""


class DemoSite:
    """The site on a free port of an address of this machine, from `start` to `stop`."""

    def __init__(self, address: str = "127.0.0.1") -> None:
        self._address = address
        self._hits: list[str] = []
        self._server = ThreadingHTTPServer((address, 0), type("Handler", (_Handler,), {"hits": self._hits}))
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)

    @property
    def host(self) -> str:
        """`address:port`."""
        return f"{self._address}:{self._server.server_port}"

    @property
    def hits(self) -> list[str]:
        """Every request target that was asked for."""
        return list(self._hits)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._server.shutdown()
        self._server.server_close()
