"""The small site that the demonstration agent works on: a form, a list with links, a second page.

`python -m deploy.local.demo_site [PORT]` serves it on 127.0.0.1 until Ctrl-C and prints each request it answers.
"""

from __future__ import annotations

import html
import sys
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
    told: ClassVar[bool]
    """Whether requests are printed."""

    def do_GET(self) -> None:
        """Answer from `answer`."""
        self.hits.append(self.path)
        if self.told:
            print(f"GET {self.path}", flush=True)
        body = answer(self.path)
        self.send_response(200 if body else 404)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.send_header("Content-Length", str(len(body or b"")))
        self.end_headers()
        self.wfile.write(body or b"")

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 (the base class says so)
        """Nothing: what there is to say is printed elsewhere."""


class DemoSite:
    """The site on an address of this machine (port 0: a free one), from `start` to `stop`."""

    def __init__(self, address: str = "127.0.0.1", port: int = 0, *, told: bool = False) -> None:
        self._address = address
        self._hits: list[str] = []
        handler = type("Handler", (_Handler,), {"hits": self._hits, "told": told})
        self._server = ThreadingHTTPServer((address, port), handler)
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


def main() -> None:
    """Serve until Ctrl-C."""
    site = DemoSite(port=int(sys.argv[1]) if len(sys.argv) > 1 else 0, told=True)
    site.start()
    print(f"http://{site.host}/", flush=True)
    try:
        threading.Event().wait()
    except KeyboardInterrupt:
        site.stop()


if __name__ == "__main__":
    main()
