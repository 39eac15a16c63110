"""The proxy between real sockets: a client inside, sites outside. Names are answered by the test."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from ipaddress import ip_address

import pytest

from services.browser.egress import connection as connection_module
from services.browser.egress import proxy as proxy_module
from services.browser.egress.proxy import Blocked, EgressProxy
from services.kit.addresses import Address
from services.kit.dialer import EgressPolicy, NameNotResolved
from services.kit.host_rules import HostRules, parse_rule
from tests.site import Site

Pair = tuple[asyncio.StreamReader, asyncio.StreamWriter]
Serve = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]

NAMES = {
    "site.example": ["127.0.0.1"],
    "public.example": ["93.184.216.34"],
    "mixed.example": ["10.0.0.1", "127.0.0.1"],
    "metadata.example": ["169.254.169.254"],
}


class Names:
    """A resolver that answers from a table, and counts."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    async def __call__(self, name: str, port: int) -> list[Address]:
        self.asked.append(name)
        if name not in NAMES:
            raise NameNotResolved(f"{name} could not be resolved")
        return [ip_address(text) for text in NAMES[name]]


class Inside:
    """What a browser has: the proxy's port. `blocked` is what the proxy reported."""

    def __init__(self, proxy: EgressProxy, port: int, names: Names, blocked: list[Blocked]) -> None:
        self.proxy = proxy
        self.port = port
        self.names = names
        self.blocked = blocked
        self._writers: list[asyncio.StreamWriter] = []

    async def connect(self) -> Pair:
        pair = await asyncio.open_connection("127.0.0.1", self.port)
        self._writers.append(pair[1])
        return pair

    async def close(self) -> None:
        for writer in self._writers:
            writer.transport.abort()
        await self.proxy.close()


Make = Callable[..., Awaitable[Inside]]


@pytest.fixture
async def inside() -> AsyncGenerator[Make]:
    """Makes a proxy with rules for the given `host:port` texts."""
    made: list[Inside] = []

    async def make(*opened: str, own_ports: frozenset[int] = frozenset(), rules: HostRules | None = None) -> Inside:
        names, blocked = Names(), list[Blocked]()
        policy = EgressPolicy(rules=rules, opened=HostRules.parse(opened), own_ports=own_ports)
        proxy = EgressProxy(policy, blocked.append, names)
        listener = socket.create_server(("127.0.0.1", 0))
        port: int = listener.getsockname()[1]
        await proxy.start(listener)
        made.append(Inside(proxy, port, names, blocked))
        return made[-1]

    yield make
    for each in made:
        await each.close()


@asynccontextmanager
async def outside(serve: Serve) -> AsyncGenerator[int]:
    """A destination of the test's own making; gives its port."""
    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    yield server.sockets[0].getsockname()[1]
    server.close()


async def head_of(reader: asyncio.StreamReader) -> bytes:
    async with asyncio.timeout(10):
        return await reader.readuntil(b"\r\n\r\n")


async def all_of(reader: asyncio.StreamReader) -> bytes:
    async with asyncio.timeout(10):
        return await reader.read()


async def tunnel(client: Inside, target: str) -> tuple[bytes, Pair]:
    reader, writer = await client.connect()
    writer.write(f"CONNECT {target} HTTP/1.1\r\nHost: {target}\r\n\r\n".encode())
    return (await head_of(reader)).split(b"\r\n")[0], (reader, writer)


async def get(client: Inside, url: str, *fields: str) -> bytes:
    """The answer to one request on a connection of its own; empty when it is closed without one."""
    reader, writer = await client.connect()
    lines = [f"GET {url} HTTP/1.1", "Host: ignored", *fields, "", ""]
    writer.write("\r\n".join(lines).encode())
    try:
        head = await head_of(reader)
    except asyncio.IncompleteReadError as ended:
        return ended.partial
    length = next(line for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:"))
    return head + await reader.readexactly(int(length.partition(b":")[2]))


async def test_plain_requests_reach_the_site_as_it_would_see_them_directly(inside: Make, site: Site) -> None:
    client = await inside(f"site.example:{site.port}")
    site.put("/page", "hello")
    answer = await get(client, f"http://site.example:{site.port}/page?q=1", "Proxy-Connection: keep-alive", "X-A: b")
    assert answer.startswith(b"HTTP/1.1 200")
    assert answer.endswith(b"hello")
    hit = site.hits()[0]
    assert (hit.path, hit.query, hit.host) == ("/page", "q=1", f"site.example:{site.port}")
    assert hit.headers["x-a"] == "b"
    assert "proxy-connection" not in hit.headers


async def test_requests_follow_one_another_on_one_connection_also_to_other_sites(inside: Make, site: Site) -> None:
    with Site() as second:
        client = await inside(f"127.0.0.1:{site.port}", f"127.0.0.1:{second.port}")
        reader, writer = await client.connect()
        for origin, path in ((site, "/1"), (site, "/2"), (second, "/3"), (site, "/4")):
            origin.put(path, path)
            writer.write(f"GET {origin.url(path)} HTTP/1.1\r\n\r\n".encode())
            await head_of(reader)
            assert await reader.readexactly(2) == path.encode()
        assert [hit.path for hit in site.hits()] == ["/1", "/2", "/4"]
        assert client.proxy.counters.requests == 4


@pytest.mark.parametrize(
    ("fields", "body"),
    [
        ("Content-Length: 200000", b"x" * 200_000),
        ("Content-Length: 0", b""),
    ],
)
async def test_a_body_passes_and_the_next_request_is_found_behind_it(
    inside: Make, site: Site, fields: str, body: bytes
) -> None:
    client = await inside(f"127.0.0.1:{site.port}")
    reader, writer = await client.connect()
    for _ in range(2):
        writer.write(f"POST {site.url('/status/204')} HTTP/1.1\r\n{fields}\r\n\r\n".encode() + body)
        assert b" 204 " in await head_of(reader)
    assert [hit.body for hit in site.hits()] == [body, body]


async def test_a_chunked_body_passes_as_it_is_and_the_next_request_is_found_behind_it(inside: Make) -> None:
    body = b"5;x=y\r\nhello\r\nA\r\n0123456789\r\n0\r\nTrailer: t\r\n\r\n"
    seen: list[bytes] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        for _ in range(2):
            await reader.readuntil(b"\r\n\r\n")
            seen.append(await reader.readexactly(len(body)))
            writer.write(b"HTTP/1.1 204 No Content\r\n\r\n")
        writer.close()

    async with outside(serve) as port:
        client = await inside(f"127.0.0.1:{port}")
        reader, writer = await client.connect()
        for _ in range(2):
            writer.write(
                f"POST http://127.0.0.1:{port}/ HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n".encode() + body
            )
            await head_of(reader)
    assert seen == [body, body]


async def test_an_answer_streams_piece_by_piece(inside: Make) -> None:
    go_on = asyncio.Event()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\ndata: 1\n\n")
        await go_on.wait()
        writer.write(b"data: 2\n\n")
        writer.close()

    async with outside(serve) as port:
        client = await inside(f"127.0.0.1:{port}")
        reader, writer = await client.connect()
        writer.write(f"GET http://127.0.0.1:{port}/ HTTP/1.1\r\n\r\n".encode())
        await head_of(reader)
        assert await reader.readuntil(b"\n\n") == b"data: 1\n\n"
        go_on.set()
        assert await all_of(reader) == b"data: 2\n\n"


async def test_a_tunnel_carries_anything_both_ways_and_both_ends(inside: Make) -> None:
    async def echo(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while data := await reader.read(65536):
            writer.write(data.upper())
        writer.write(b"bye")
        writer.close()

    async with outside(echo) as port:
        client = await inside(f"site.example:{port}")
        status, (reader, writer) = await tunnel(client, f"site.example:{port}")
        assert status == b"HTTP/1.1 200 Connection Established"
        payload = b"abc\0\r\n\r\n" * 100_000
        writer.write(payload)
        writer.write_eof()
        assert await all_of(reader) == payload.upper() + b"bye"
        assert client.proxy.counters.bytes_up == len(payload)
        assert client.proxy.counters.bytes_down == len(payload) + 3


@pytest.mark.parametrize("url", ["http://127.0.0.1:{port}/", "http://site.example:{port}/", "http://localhost:{port}/"])
async def test_loopback_is_refused_without_a_rule_whatever_its_name(inside: Make, site: Site, url: str) -> None:
    client = await inside()
    answer = await get(client, url.format(port=site.port))
    assert answer.startswith(b"HTTP/1.1 403 Forbidden\r\n")
    assert answer.endswith(b"is refused by this session's network policy\n")
    assert site.hits() == []
    assert [each.port for each in client.blocked] == [site.port]
    assert client.proxy.counters.blocked == 1


@pytest.mark.parametrize(
    "target",
    ["127.0.0.1:80", "[::1]:80", "0.0.0.0:80", "169.254.169.254:80", "metadata.example:80", "10.1.2.3:443"]
    + ["[::ffff:127.0.0.1]:80", "2130706433:80", "0x7f000001:80", "100.64.0.1:80", "[fe80::1]:80", "printer.local:80"],
)
async def test_tunnels_to_what_is_not_public_are_refused_and_reported(inside: Make, target: str) -> None:
    client = await inside()
    status, _ = await tunnel(client, target)
    assert status == b"HTTP/1.1 403 Forbidden"
    assert len(client.blocked) == 1
    failure = client.proxy.failure_of(f"http://{target}/")
    assert failure is not None
    assert failure.blocked


async def test_a_rule_may_come_while_it_runs_and_opens_that_port_only(inside: Make, site: Site) -> None:
    client = await inside()
    url = site.put("/", "in")
    assert b" 403 " in await get(client, url)
    client.proxy.open_rule(parse_rule(f"127.0.0.1:{site.port}"))
    assert b" 200 " in await get(client, url)
    assert client.proxy.failure_of(url) is None
    status, _ = await tunnel(client, f"127.0.0.1:{site.port + 1}")
    assert status == b"HTTP/1.1 403 Forbidden"


@pytest.mark.parametrize("text", ["example.com", "=localhost", "10.0.0.0/8", "127.0.0.1"])
async def test_only_a_rule_with_host_and_port_can_be_added(inside: Make, text: str) -> None:
    client = await inside()
    with pytest.raises(ValueError, match="no host and port"):
        client.proxy.open_rule(parse_rule(text))


async def test_no_rule_opens_our_own_ports(inside: Make, site: Site) -> None:
    client = await inside(f"127.0.0.1:{site.port}", f"site.example:{site.port}", own_ports=frozenset({site.port}))
    for host in ("127.0.0.1", "site.example"):
        assert b" 403 " in await get(client, f"http://{host}:{site.port}/")
    assert site.hits() == []
    assert {each.reason for each in client.blocked} == {"HyperKitty's own port"}


async def test_only_the_checked_address_of_a_name_is_connected_to(inside: Make, site: Site) -> None:
    """`mixed.example` is 10.0.0.1 and 127.0.0.1: with no rule neither, and it is looked up once."""
    client = await inside()
    for _ in range(3):
        assert b" 403 " in await get(client, f"http://mixed.example:{site.port}/")
    assert client.names.asked == ["mixed.example"]
    assert site.hits() == []


async def test_a_name_that_does_not_resolve_fails_and_is_asked_again(inside: Make) -> None:
    client = await inside()
    for _ in range(2):
        status, _ = await tunnel(client, "nowhere.example:443")
        assert status == b"HTTP/1.1 502 Bad Gateway"
    assert client.names.asked == ["nowhere.example"] * 2
    failure = client.proxy.failure_of("https://nowhere.example/x")
    assert failure is not None
    assert (failure.net_error, failure.blocked) == ("net::ERR_NAME_NOT_RESOLVED", False)
    assert client.blocked == []


async def test_a_refused_connection_closes_a_plain_request_without_an_answer(inside: Make) -> None:
    async with outside(lambda _reader, _writer: asyncio.sleep(0)) as port:
        pass
    client = await inside(f"127.0.0.1:{port}")
    assert await get(client, f"http://127.0.0.1:{port}/") == b""
    failure = client.proxy.failure_of(f"http://127.0.0.1:{port}/")
    assert failure is not None
    assert failure.net_error == "net::ERR_CONNECTION_REFUSED"


async def test_a_site_that_closes_ends_the_connection(inside: Make, site: Site) -> None:
    client = await inside(f"127.0.0.1:{site.port}")
    reader, writer = await client.connect()
    writer.write(f"GET {site.url('/drop')} HTTP/1.1\r\n\r\n".encode())
    assert await all_of(reader) == b""


@pytest.mark.parametrize(
    ("text", "status"),
    [
        (b"nonsense\r\n\r\n", 400),
        (b"GET / HTTP/1.1\r\n\r\n", 400),
        (b"\x16\x03\x01\x02\0\r\n\r\n", 400),
        (b"GET http://a.example/" + b"x" * 300_000 + b" HTTP/1.1\r\n\r\n", 431),
    ],
)
async def test_what_is_no_request_is_answered_and_closed(inside: Make, text: bytes, status: int) -> None:
    client = await inside()
    reader, writer = await client.connect()
    writer.write(text)
    assert (await all_of(reader)).startswith(f"HTTP/1.1 {status} ".encode())


async def test_half_a_head_does_not_hold_a_connection_for_ever(inside: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection_module, "HEAD_SECONDS", 0.1)
    client = await inside()
    reader, writer = await client.connect()
    writer.write(b"GET http://a.exam")
    assert await all_of(reader) == b""


async def test_a_silent_tunnel_is_closed_in_the_end(inside: Make, site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(proxy_module, "SILENT_SECONDS", 0.1)
    monkeypatch.setattr(proxy_module, "SWEEP_SECONDS", 0.05)
    client = await inside(f"127.0.0.1:{site.port}")
    _, (reader, _) = await tunnel(client, f"127.0.0.1:{site.port}")
    assert await all_of(reader) == b""


async def test_over_the_limit_a_connection_is_refused(inside: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(proxy_module, "MOST_CONNECTIONS", 1)
    client = await inside()
    await client.connect()
    reader, _ = await client.connect()
    assert await all_of(reader) == b""
    assert client.proxy.counters.refused_connections == 1


async def test_two_hundred_tunnels_at_once(inside: Make) -> None:
    async def echo(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(await reader.read(100))
        writer.close()

    async with outside(echo) as port:
        client = await inside(f"127.0.0.1:{port}")

        async def one(number: int) -> bytes:
            _, (reader, writer) = await tunnel(client, f"127.0.0.1:{port}")
            writer.write(b"%d" % number)
            return await all_of(reader)

        answers = await asyncio.gather(*(one(number) for number in range(200)))
    assert answers == [b"%d" % number for number in range(200)]


async def test_closing_ends_every_connection_and_accepts_no_more(inside: Make, site: Site) -> None:
    client = await inside(f"127.0.0.1:{site.port}")
    _, (tunnelled, _) = await tunnel(client, f"127.0.0.1:{site.port}")
    waiting, _ = await client.connect()
    await client.proxy.close()
    for reader in (tunnelled, waiting):
        try:
            assert await all_of(reader) == b""
        except ConnectionResetError:
            continue
    with pytest.raises(ConnectionRefusedError):
        await client.connect()
