"""Rules that name hosts (SPEC §5): `example.com` (and subdomains), `=example.com`, `host:port`, IP, CIDR."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from ipaddress import IPv4Network, IPv6Network, ip_network

from publicsuffixlist import PublicSuffixList

from services.kit.addresses import Address
from services.kit.hosts import Host, InvalidHost, parse_host


class InvalidRule(ValueError):
    """A rule that cannot be understood, or that would cover a public suffix."""


@dataclass(frozen=True)
class Rule:
    """One rule, canonical. Exactly one of `host` and `network` is set."""

    host: Host | None = None
    subdomains: bool = False
    port: int | None = None
    network: IPv4Network | IPv6Network | None = None

    def matches(self, host: Host, port: int) -> bool:
        """Whether it covers this host and port."""
        if self.network is not None:
            return host.address is not None and _within(self.network, host.address)
        if self.host is None or (self.port is not None and self.port != port):
            return False
        if host == self.host:
            return True
        return self.subdomains and host.address is None and host.name.endswith("." + self.host.name)

    def __str__(self) -> str:
        if self.network is not None:
            return str(self.network)
        if self.port is not None:
            return f"{self.host}:{self.port}"
        return str(self.host) if self.subdomains or (self.host and self.host.address) else f"={self.host}"


def _within(network: IPv4Network | IPv6Network, address: Address) -> bool:
    return address.version == network.version and address in network


@lru_cache(maxsize=1)
def _suffixes() -> PublicSuffixList:
    # Unknown top-level names (an intranet's) are told apart from listed suffixes below.
    return PublicSuffixList(accept_unknown=False)


def _refuse_suffix(text: str, host: Host, *, names_one_host: bool) -> None:
    if host.address is not None:
        return
    if _suffixes().is_public(host.name):
        raise InvalidRule(f"{text!r} is a public suffix: it would cover everybody's sites under it")
    if "." not in host.name and host.name != "localhost" and not names_one_host:
        raise InvalidRule(f"{text!r} would cover a whole top-level domain; write ={host.name} for the one host")


def _split_port(text: str) -> tuple[str, int | None]:
    """`host:port` into its halves; an IPv6 literal needs brackets to have a port."""
    if text.count(":") > 1 and not text.startswith("["):
        return text, None
    if text.startswith("["):
        literal, bracket, rest = text.partition("]")
        if rest and not rest.startswith(":"):
            raise InvalidRule(f"{text!r} is not [address]:port")
        host, port = literal + bracket, rest[1:] if rest else None
    else:
        host, colon, after = text.partition(":")
        port = after if colon else None
    if port is None:
        return host, None
    if not (port.isascii() and port.isdigit() and 1 <= int(port) <= 65535):
        raise InvalidRule(f"{text!r} has no port between 1 and 65535 after its colon")
    return host, int(port)


def parse_rule(text: str) -> Rule:
    """One rule in canonical form; raises InvalidRule saying what is wrong with it."""
    exact = text.startswith("=")
    body = text[1:] if exact else text
    if not body or len(body) > 300 or body != body.strip() or "*" in body:
        raise InvalidRule(f"{text[:100]!r} is not a rule: example.com, =example.com, host:port, an IP or a CIDR")
    if "/" in body:
        if exact:
            raise InvalidRule(f"{text[:100]!r}: a network cannot be exact")
        try:
            return Rule(network=ip_network(body, strict=True))
        except ValueError as error:
            raise InvalidRule(f"{text[:100]!r} is not a network such as 203.0.113.0/24") from error
    name, port = _split_port(body)
    try:
        host = parse_host(name)
    except InvalidHost as error:
        raise InvalidRule(f"{text[:100]!r} names no host") from error
    one_host = exact or port is not None
    _refuse_suffix(text, host, names_one_host=one_host)
    return Rule(host=host, subdomains=not one_host and host.address is None, port=port)


@dataclass(frozen=True)
class HostRules:
    """A set of rules."""

    rules: tuple[Rule, ...] = ()

    @classmethod
    def parse(cls, texts: Iterable[str]) -> HostRules:
        """Raises InvalidRule for the first rule that is none."""
        return cls(tuple(dict.fromkeys(parse_rule(text) for text in texts)))

    @property
    def is_empty(self) -> bool:
        return not self.rules

    def allows(self, host: Host, port: int) -> bool:
        """Whether some rule covers the host and port."""
        return any(rule.matches(host, port) for rule in self.rules)

    def allows_address(self, address: Address) -> bool:
        """Whether an IP or CIDR rule covers an address that a name resolved to."""
        as_host = Host(str(address), address)
        return any(rule.port is None and rule.matches(as_host, 0) for rule in self.rules)

    def opens(self, host: Host, port: int) -> bool:
        """Whether a `host:port` rule names exactly this: only such a rule reaches loopback and private hosts."""
        return any(rule.port is not None and rule.matches(host, port) for rule in self.rules)

    def canonical(self) -> list[str]:
        """The rules as text, each in its one form."""
        return [str(rule) for rule in self.rules]
