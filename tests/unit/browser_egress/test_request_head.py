"""Reading a proxy request's head."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.browser.egress.request_head import BadRequest, parse


def head(*lines: str) -> bytes:
    return "\r\n".join([*lines, "", ""]).encode("latin-1")


def test_a_plain_request_goes_on_in_origin_form_without_what_was_for_the_proxy() -> None:
    request = parse(
        head(
            "GET http://example.com:8080/a?b=c HTTP/1.1",
            "Host: other.example",
            "Proxy-Connection: keep-alive",
            "Proxy-Authorization: Basic eA==",
            "Connection: keep-alive",
            "Upgrade: h2c",
            "Accept: */*",
            "Cookie: a=b",
        )
    )
    assert (str(request.host), request.port, request.is_connect, request.body_bytes) == ("example.com", 8080, False, 0)
    assert request.onward == head("GET /a?b=c HTTP/1.1", "Host: example.com:8080", "Accept: */*", "Cookie: a=b")


@pytest.mark.parametrize(
    ("target", "path", "port"),
    [
        ("http://a.example", "/", 80),
        ("http://a.example/", "/", 80),
        ("HTTP://a.example?q", "/?q", 80),
        ("http://a.example/x#part", "/x", 80),
        ("http://a.example:80/x", "/x", 80),
        ("http://[2001:db8::1]:81/x", "/x", 81),
    ],
)
def test_targets(target: str, path: str, port: int) -> None:
    request = parse(head(f"GET {target} HTTP/1.1"))
    assert request.port == port
    assert request.onward.startswith(f"GET {path} HTTP/1.1\r\n".encode())


@pytest.mark.parametrize(
    ("target", "host", "port"),
    [
        ("a.example:443", "a.example", 443),
        ("A.Example.:443", "a.example", 443),
        ("127.0.0.1:8080", "127.0.0.1", 8080),
        ("0x7f.1:80", "127.0.0.1", 80),
        ("[::1]:80", "[::1]", 80),
        ("[::ffff:127.0.0.1]:80", "[::ffff:7f00:1]", 80),
    ],
)
def test_connect_reads_the_host_as_a_browser_does(target: str, host: str, port: int) -> None:
    request = parse(head(f"CONNECT {target} HTTP/1.1", "Host: x"))
    assert (request.is_connect, str(request.host), request.port, request.onward) == (True, host, port, b"")


@pytest.mark.parametrize(
    "lines",
    [
        ("GET /relative HTTP/1.1",),
        ("GET https://a.example/ HTTP/1.1",),
        ("GET ftp://a.example/ HTTP/1.1",),
        ("GET http:///x HTTP/1.1",),
        ("GET http://user:pass@a.example/ HTTP/1.1",),
        ("GET http://a.example:0/ HTTP/1.1",),
        ("GET http://a.example:99999/ HTTP/1.1",),
        ("GET http://a b/ HTTP/1.1",),
        ("GET http://a.example/ HTTP/2",),
        ("GET http://a.example/",),
        ("G@T http://a.example/ HTTP/1.1",),
        ("CONNECT a.example HTTP/1.1",),
        ("CONNECT http://a.example:443 HTTP/1.1",),
        ("CONNECT a.example:70000 HTTP/1.1",),
        ("CONNECT a.example:443@b.example:443 HTTP/1.1",),
        ("GET http://a.example/ HTTP/1.1", "No colon"),
        ("GET http://a.example/ HTTP/1.1", "Bad name : x"),
        ("GET http://a.example/ HTTP/1.1", " folded: x"),
        ("GET http://a.example/ HTTP/1.1", "A: x\nB: y"),
        ("POST http://a.example/ HTTP/1.1", "Content-Length: 5", "Content-Length: 6"),
        ("POST http://a.example/ HTTP/1.1", "Content-Length: -5"),
        ("POST http://a.example/ HTTP/1.1", "Content-Length: 5", "Transfer-Encoding: chunked"),
        ("POST http://a.example/ HTTP/1.1", "Transfer-Encoding: gzip, chunked"),
    ],
)
def test_what_is_not_a_proxy_request_is_refused(lines: tuple[str, ...]) -> None:
    with pytest.raises(BadRequest):
        parse(head(*lines))


def test_too_many_header_fields_are_431() -> None:
    with pytest.raises(BadRequest) as caught:
        parse(head("GET http://a.example/ HTTP/1.1", *(f"H{n}: x" for n in range(201))))
    assert caught.value.status == 431


@pytest.mark.parametrize(("field", "size"), [("Content-Length: 12", 12), ("Transfer-Encoding: chunked", -1)])
def test_the_bodys_length(field: str, size: int) -> None:
    assert parse(head("POST http://a.example/ HTTP/1.1", field)).body_bytes == size


@given(st.binary(max_size=300))
def test_any_bytes_are_a_request_or_are_refused(data: bytes) -> None:
    for text in (
        data + b"\r\n\r\n",
        b"GET http://" + data + b" HTTP/1.1\r\n\r\n",
        b"CONNECT " + data + b" HTTP/1.1\r\n\r\n",
    ):
        try:
            request = parse(text)
        except BadRequest:
            continue
        assert 1 <= request.port <= 65535
        # One head, whatever was put into it.
        assert request.is_connect or request.onward.find(b"\r\n\r\n") == len(request.onward) - 4
