from __future__ import annotations

import json
from ipaddress import IPv4Address, IPv6Address, ip_address
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.kit.addresses import carried, is_public, judge
from services.kit.hosts import Host, InvalidHost, host_and_port, judge_host, parse_host

VECTORS = json.loads((Path(__file__).parents[2] / "cases/28-private-ip-encodings/vectors.json").read_text())

PRIVATE_V4 = ["127.0.0.1", "10.1.2.3", "169.254.169.254", "192.168.1.1", "100.64.0.1", "0.0.0.0", "192.0.0.8"]
PUBLIC_V4 = ["8.8.8.8", "1.1.1.1", "192.0.0.9", "192.31.196.1", "100.128.0.1", "172.32.0.1", "193.0.0.1"]


@pytest.mark.parametrize("vector", VECTORS, ids=lambda vector: repr(vector["url"]))
def test_every_spelling_of_the_case(vector: dict[str, str | None]) -> None:
    url, verdict = str(vector["url"]), vector["verdict"]
    if verdict == "invalid":
        with pytest.raises(InvalidHost):
            host_and_port(url)
        return
    host, _ = host_and_port(url)
    assert str(host) == str(vector["canonical_host"]).removesuffix(".")
    judgement = judge_host(host)
    assert {"deny": False, "allow": True, "resolve": None}[str(verdict)] == (judgement and judgement.public)


@pytest.mark.parametrize("text", PRIVATE_V4)
def test_private_addresses_and_all_that_carry_them(text: str) -> None:
    assert not is_public(ip_address(text))
    for carrier in carriers(IPv4Address(text)):
        assert not is_public(carrier), carrier


@pytest.mark.parametrize("text", PUBLIC_V4)
def test_public_addresses_and_all_that_carry_them(text: str) -> None:
    assert is_public(ip_address(text))
    for carrier in carriers(IPv4Address(text)):
        assert is_public(carrier), carrier


def carriers(inner: IPv4Address) -> list[IPv6Address]:
    value = int(inner)
    server = int(IPv4Address("8.8.8.8"))
    return [
        IPv6Address((0xFFFF << 32) | value),
        IPv6Address((0x0064_FF9B << 96) | value),
        IPv6Address((0x2002 << 112) | (value << 80) | 1),
        IPv6Address((0x2001_0000 << 96) | (server << 64) | (value ^ 0xFFFFFFFF)),
        IPv6Address((0x2001_0000 << 96) | (value << 64) | (server ^ 0xFFFFFFFF)),
    ]


@pytest.mark.parametrize(
    "text",
    [
        "::",
        "::1",
        "::7f00:1",
        "fe80::1",
        "fec0::1",
        "fc00::1",
        "fd12:3456::1",
        "ff02::1",
        "2001:db8::1",
        "4000::1",
        "64:ff9b:1::1",
        "100::1",
        "2001:2::1",
        "2001:5::1",
        "3fff::1",
        "5f00::1",
        "e000::1",
        "2001:10::1",
    ],
)
def test_what_the_registry_does_not_call_reachable(text: str) -> None:
    assert not is_public(ip_address(text))


@pytest.mark.parametrize("text", ["2606:4700:4700::1111", "2001:4:112::1", "2001:20::1", "2620:4f:8000::1", "2a00::1"])
def test_what_the_registry_calls_reachable(text: str) -> None:
    assert is_public(ip_address(text))


@given(st.integers(0, 2**32 - 1))
def test_a_carrier_is_judged_as_what_it_carries(value: int) -> None:
    inner = IPv4Address(value)
    for carrier in carriers(inner):
        assert inner in carried(carrier)[0]
        assert is_public(carrier) == is_public(inner)


@given(st.integers(0, 2**32 - 1))
def test_every_numeric_spelling_is_one_host(value: int) -> None:
    dotted = str(IPv4Address(value))
    parts = [int(part) for part in dotted.split(".")]
    spellings = [
        str(value),
        hex(value),
        oct(value).replace("0o", "0"),
        ".".join(hex(part) for part in parts),
        ".".join(f"0{part:o}" for part in parts),
        f"{parts[0]}.{value & 0xFFFFFF}",
        f"{parts[0]}.{parts[1]}.{value & 0xFFFF}",
        dotted + ".",
        "".join(f"%{ord(character):02x}" for character in dotted),
    ]
    for spelling in spellings:
        assert host_and_port(f"http://{spelling}/")[0] == Host(dotted, IPv4Address(value)), spelling


@given(st.ip_addresses(v=6))
def test_ipv6_spellings_are_one_host(address: IPv6Address) -> None:
    assert parse_host(address.exploded).address == address
    assert host_and_port(f"https://[{address.compressed}]:444/")[0].address == address


@given(st.text(max_size=60))
def test_no_text_makes_it_raise_anything_else(text: str) -> None:
    try:
        host = parse_host(text)
    except InvalidHost:
        return
    assert host.name
    assert host.name == host.name.lower()


def test_reasons_name_the_registry_entry() -> None:
    assert "loopback" in judge(ip_address("::ffff:127.0.0.1")).reason
    assert judge(ip_address("::ffff:127.0.0.1")).reason.startswith("IPv4-mapped")
