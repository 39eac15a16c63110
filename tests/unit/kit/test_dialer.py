from __future__ import annotations

import asyncio
from ipaddress import ip_address

import pytest

from services.kit.addresses import Address
from services.kit.dialer import CheckedDialer, EgressBlocked, EgressPolicy, NameNotResolved, system_resolver
from services.kit.host_rules import HostRules
from services.kit.hosts import parse_host


class Answers:
    """A resolver with set answers that counts how often it is asked."""

    def __init__(self, *answers: list[str]) -> None:
        self._answers = list(answers)
        self.asked = 0

    async def __call__(self, name: str, port: int) -> list[Address]:
        self.asked += 1
        return [ip_address(text) for text in self._answers.pop(0)]


def dialer(answers: Answers, **policy: HostRules | frozenset[int] | None) -> CheckedDialer:
    return CheckedDialer(EgressPolicy(**policy), answers)  # pyright: ignore[reportArgumentType]


async def test_private_answers_are_refused_public_ones_kept() -> None:
    found = await dialer(Answers(["10.0.0.1", "8.8.8.8", "::1"])).resolve(parse_host("mixed.example"), 443)
    assert found == [ip_address("8.8.8.8")]
    with pytest.raises(EgressBlocked, match="private"):
        await dialer(Answers(["10.0.0.1"])).resolve(parse_host("inside.example"), 443)


async def test_local_names_are_refused_without_asking() -> None:
    answers = Answers()
    for name in ("localhost", "foo.localhost", "printer.local", "metadata.google.internal", "127.1", "[::1]"):
        with pytest.raises(EgressBlocked):
            await dialer(answers).resolve(parse_host(name), 80)
    assert answers.asked == 0


async def test_a_rule_names_what_may_be_reached() -> None:
    rules = HostRules.parse(["example.com", "203.0.113.0/24"])
    assert await dialer(Answers(["8.8.8.8"]), rules=rules).resolve(parse_host("www.example.com"), 443)
    with pytest.raises(EgressBlocked, match="egress domains"):
        await dialer(Answers(["8.8.8.8"]), rules=rules).resolve(parse_host("other.net"), 443)
    with pytest.raises(EgressBlocked):
        await dialer(Answers(), rules=rules).resolve(parse_host("8.8.8.8"), 443)


async def test_own_ports_stay_closed_even_with_a_rule() -> None:
    opened = HostRules.parse(["localhost:8420"])
    with pytest.raises(EgressBlocked, match="own port"):
        await dialer(Answers(["127.0.0.1"]), opened=opened, own_ports=frozenset({8420})).resolve(
            parse_host("localhost"), 8420
        )


async def test_it_connects_to_the_address_it_checked() -> None:
    connections = 0

    async def count(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal connections
        connections += 1
        writer.close()

    server = await asyncio.start_server(count, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    async with server:
        host = parse_host("rebind.example")
        # The first answer is public and never reached; a second look-up would lead to our listener.
        answers = Answers(["192.0.2.1"], ["127.0.0.1"])
        with pytest.raises(EgressBlocked):
            await dialer(answers).connect(host, port)
        assert answers.asked == 1
        assert connections == 0
        opened = HostRules.parse([f"rebind.example:{port}"])
        reader, writer = await dialer(Answers(["127.0.0.1"]), opened=opened).connect(host, port)
        assert writer.get_extra_info("peername")[0] == "127.0.0.1"
        assert await reader.read() == b""
        writer.close()
        await writer.wait_closed()
    assert connections == 1


async def test_the_next_address_is_tried() -> None:
    server = await asyncio.start_server(lambda _r, w: w.close(), "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    async with server:
        opened = HostRules.parse([f"two.example:{port}"])
        _, writer = await dialer(Answers(["::1", "127.0.0.1"]), opened=opened).connect(parse_host("two.example"), port)
        writer.close()
        await writer.wait_closed()


async def test_a_name_without_address() -> None:
    with pytest.raises(NameNotResolved):
        await system_resolver("no-such-name.invalid", 80)
