"""The head of a proxy request (RFC 9112 §3.2.2 absolute-form, §3.2.3 authority-form)."""

from __future__ import annotations

import re
from dataclasses import dataclass

from services.kit.hosts import Host, InvalidHost, host_and_port

_TOKEN = re.compile(rb"[!#$%&'*+.^_`|~0-9A-Za-z-]{1,40}")
_NAME = re.compile(rb"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_AUTHORITY = re.compile(rb"http://([^/?#@\\\s]+)(.*)", re.IGNORECASE | re.DOTALL)
_CONNECT_TARGET = re.compile(rb"([^/?#@\\\s:]+|\[[0-9A-Fa-f:.]+\]):([0-9]{1,5})")
_MOST_HEADERS = 200

# Not for the next hop (RFC 9110 §7.6.1); `host` is written anew, from the target, so that the two cannot differ.
_DROPPED = frozenset(
    b"connection host keep-alive proxy-authenticate proxy-authorization proxy-connection te trailer upgrade".split()
)


class BadRequest(Exception):
    """What the browser sent is no request that a proxy can serve; `status` is the answer's."""

    def __init__(self, reason: str, status: int = 400) -> None:
        super().__init__(reason)
        self.status = status


@dataclass(frozen=True)
class RequestHead:
    """A request, read as far as a proxy needs it."""

    method: bytes
    host: Host
    port: int
    onward: bytes
    """The head for the destination; empty for CONNECT."""
    body_bytes: int
    """Length of the body, -1 when it is chunked."""

    @property
    def is_connect(self) -> bool:
        """Whether a tunnel is asked for."""
        return self.method == b"CONNECT"


def parse(head: bytes) -> RequestHead:
    """Read a head, the empty line included. Raises BadRequest."""
    lines = head[:-4].split(b"\r\n")
    parts = lines[0].split(b" ")
    if len(parts) != 3 or not _TOKEN.fullmatch(parts[0]) or parts[2] not in (b"HTTP/1.1", b"HTTP/1.0"):
        raise BadRequest("not an HTTP/1.1 request line")
    method, target = parts[0], parts[1]
    if method == b"CONNECT":
        host, port = _connect_target(target)
        return RequestHead(method, host, port, b"", 0)
    authority, path, host, port = _absolute_target(target)
    headers = _headers(lines[1:])
    kept = [line for name, line, _ in headers if name not in _DROPPED]
    onward = b"\r\n".join((method + b" " + path + b" HTTP/1.1", b"Host: " + authority, *kept, b"", b""))
    return RequestHead(method, host, port, onward, _body_bytes(headers))


def _connect_target(target: bytes) -> tuple[Host, int]:
    match = _CONNECT_TARGET.fullmatch(target)
    if match is None:
        raise BadRequest("CONNECT needs host:port")
    # As a wss: URL, so that the host is read as the URL standard reads it and no port counts as the default.
    return _destination(f"wss://{_text(match[1])}/", int(match[2]))


def _absolute_target(target: bytes) -> tuple[bytes, bytes, Host, int]:
    match = _AUTHORITY.fullmatch(target)
    if match is None:
        raise BadRequest("a proxy serves CONNECT and http:// URLs")
    authority, rest = match[1], match[2].partition(b"#")[0]
    host, port = _destination(f"http://{_text(authority)}/", None)
    return authority, rest if rest.startswith(b"/") else b"/" + rest, host, port


def _destination(url: str, port: int | None) -> tuple[Host, int]:
    try:
        host, default_port = host_and_port(url)
    except InvalidHost as error:
        raise BadRequest(str(error)) from error
    found = default_port if port is None else port
    if not 1 <= found <= 65535:
        raise BadRequest(f"no port {found}")
    return host, found


def _text(data: bytes) -> str:
    try:
        return data.decode("ascii")
    except UnicodeDecodeError as error:
        raise BadRequest("a host is written in ASCII here") from error


def _headers(lines: list[bytes]) -> list[tuple[bytes, bytes, bytes]]:
    """(lower-case name, whole line, value) of each."""
    if len(lines) > _MOST_HEADERS:
        raise BadRequest(f"more than {_MOST_HEADERS} header fields", 431)
    found: list[tuple[bytes, bytes, bytes]] = []
    for line in lines:
        name, colon, value = line.partition(b":")
        if not colon or not _NAME.fullmatch(name) or b"\n" in value or b"\r" in value:
            raise BadRequest("not a header field")
        found.append((name.lower(), line, value.strip()))
    return found


def _body_bytes(headers: list[tuple[bytes, bytes, bytes]]) -> int:
    lengths = {value for name, _, value in headers if name == b"content-length"}
    codings = [value.lower() for name, _, value in headers if name == b"transfer-encoding"]
    if codings:
        # Both at once is how requests are smuggled (RFC 9112 §6.3).
        if codings != [b"chunked"] or lengths:
            raise BadRequest("a body is chunked or has a length")
        return -1
    if not lengths:
        return 0
    length = lengths.pop()
    if lengths or not length.isdigit() or len(length) > 15:
        raise BadRequest("not one Content-Length")
    return int(length)
