from __future__ import annotations

from ipaddress import ip_address

import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.kit.host_rules import HostRules, InvalidRule, parse_rule
from services.kit.hosts import parse_host


def allows(rule: str, host: str, port: int = 443) -> bool:
    return HostRules.parse([rule]).allows(parse_host(host), port)


def test_a_domain_covers_itself_and_its_subdomains() -> None:
    assert allows("example.com", "example.com")
    assert allows("example.com", "a.b.example.com")
    assert allows("Example.COM.", "WWW.EXAMPLE.com.")
    assert not allows("example.com", "notexample.com")
    assert not allows("example.com", "example.com.evil.net")
    assert not allows("example.com", "com")


def test_an_exact_host_covers_nothing_else() -> None:
    assert allows("=example.com", "example.com")
    assert not allows("=example.com", "www.example.com")


def test_a_host_and_port_covers_only_these() -> None:
    assert allows("localhost:3000", "localhost", 3000)
    assert not allows("localhost:3000", "localhost", 3001)
    assert not allows("127.0.0.1:3000", "localhost", 3000)
    assert not allows("example.com:8080", "www.example.com", 8080)
    assert allows("[::1]:3000", "::1", 3000)


def test_only_host_and_port_opens_private_hosts() -> None:
    rules = HostRules.parse(["localhost", "127.0.0.1", "127.0.0.0/8", "localhost:3000"])
    assert rules.opens(parse_host("localhost"), 3000)
    assert not rules.opens(parse_host("localhost"), 80)
    assert not rules.opens(parse_host("127.0.0.1"), 3000)


def test_addresses_and_networks() -> None:
    assert allows("203.0.113.7", "203.0.113.7")
    assert not allows("203.0.113.7", "203.0.113.8")
    assert allows("203.0.113.0/24", "0xcb007107")
    assert allows("2001:db8::/32", "2001:db8::5")
    assert not allows("203.0.113.0/24", "example.com")
    assert HostRules.parse(["203.0.113.0/24"]).allows_address(ip_address("203.0.113.9"))
    assert not HostRules.parse(["203.0.113.9:80"]).allows_address(ip_address("203.0.113.9"))


def test_idna_and_case_are_folded() -> None:
    assert allows("bücher.example", "xn--bcher-kva.example")
    assert allows("xn--bcher-kva.example", "BÜCHER.example")


@pytest.mark.parametrize(
    "text",
    [
        "com",
        "co.uk",
        "=co.uk",
        "github.io",
        "CO.UK.",
        "intranet",
        "*.example.com",
        "",
        "=",
        " example.com",
        "a b.com",
        "http://example.com",
        "example.com/path",
        "example.com:0",
        "example.com:65536",
        "example.com:x",
        "10.0.0.1/8",
        "=10.0.0.0/8",
        "[::1",
        "[::1]3000",
        "user@example.com",
        "com:443",
        "x" * 400,
    ],
)
def test_what_is_no_rule_is_refused(text: str) -> None:
    with pytest.raises(InvalidRule):
        parse_rule(text)


def test_an_intranet_host_can_be_named_alone() -> None:
    assert allows("=intranet", "intranet")
    assert allows("intranet:8080", "intranet", 8080)


@pytest.mark.parametrize(
    "text", ["example.com", "=example.com", "localhost:3000", "203.0.113.7", "10.0.0.0/8", "[::1]:80"]
)
def test_canonical_text_parses_to_the_same_rule(text: str) -> None:
    assert parse_rule(str(parse_rule(text))) == parse_rule(text)


@given(st.text(max_size=50))
def test_any_text_parses_or_is_refused(text: str) -> None:
    try:
        rule = parse_rule(text)
    except InvalidRule:
        return
    assert parse_rule(str(rule)) == rule
