"""Hosts as a browser reads them: the WHATWG URL parser's view (ada), never the text as typed.

`0x7f.1`, `①②⑦.⓪.⓪.①` and `127.0.0.1` are one host; socket functions and `ipaddress` see three.
"""

from __future__ import annotations

from dataclasses import dataclass
from ipaddress import IPv6Address, ip_address

import ada_url

from services.kit.addresses import Address, Judgement, judge

DEFAULT_PORTS = {"http": 80, "ws": 80, "https": 443, "wss": 443, "ftp": 21}

# Names that by their registration never lead to a public host (RFC 6761, RFC 6762, RFC 8375, ICANN 2024).
_LOCAL_SUFFIXES = ("localhost", "local", "internal", "home.arpa")


class InvalidHost(ValueError):
    """Text that the URL standard does not accept as a host."""


@dataclass(frozen=True)
class Host:
    """A canonical host: lower case, ASCII (IDNA), without a trailing dot, an address where it is one."""

    name: str
    address: Address | None = None

    def __str__(self) -> str:
        return f"[{self.name}]" if isinstance(self.address, IPv6Address) else self.name


def _host(hostname: str) -> Host:
    bare = hostname[1:-1] if hostname.startswith("[") else hostname
    bare = bare.removesuffix(".")
    if not bare:
        raise InvalidHost(f"no host in {hostname!r}")
    try:
        address = ip_address(bare)
    except ValueError:
        return Host(bare)
    return Host(str(address), address)


def parse_host(text: str) -> Host:
    """The host that a browser would reach for this text; raises InvalidHost."""
    if not text or any(character in text for character in "/\\@?#"):
        raise InvalidHost(f"not a host: {text[:100]!r}")
    wrapped = f"[{text}]" if text.count(":") > 1 and not text.startswith("[") else text
    try:
        url = ada_url.URL(f"http://{wrapped}/")
    except ValueError as error:
        raise InvalidHost(f"not a host: {text[:100]!r}") from error
    if url.port or (not wrapped.startswith("[") and ":" in wrapped):
        raise InvalidHost(f"a host without a port was expected: {text[:100]!r}")
    return _host(url.hostname)


def host_and_port(url: str) -> tuple[Host, int]:
    """Host and effective port of an absolute URL as a browser reads it; raises InvalidHost.

    Only for schemes with an authority and a known default port (http, https, ws, wss, ftp).
    """
    try:
        parsed = ada_url.URL(url)
    except ValueError as error:
        raise InvalidHost(f"not a URL: {url[:200]!r}") from error
    scheme = parsed.protocol.removesuffix(":")
    if scheme not in DEFAULT_PORTS:
        raise InvalidHost(f"no host in a {scheme[:40]!r} URL")
    return _host(parsed.hostname), int(parsed.port) if parsed.port else DEFAULT_PORTS[scheme]


def judge_host(host: Host) -> Judgement | None:
    """What can be said without resolving: an address's verdict, a local name's; None: ask the resolver."""
    if host.address is not None:
        return judge(host.address)
    for suffix in _LOCAL_SUFFIXES:
        if host.name == suffix or host.name.endswith("." + suffix):
            return Judgement(False, f"local name .{suffix}")
    return None
