"""Which IP addresses are public: the IANA special-purpose registries as a table of our own.

`ipaddress.is_global` of Python 3.11 is wrong for several (DESIGN §10), so it is not asked. An address that
carries another one inside (IPv4-mapped, IPv4-compatible, NAT64, 6to4, Teredo) is judged by what it carries.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network

Address = IPv4Address | IPv6Address


@dataclass(frozen=True)
class Judgement:
    """Whether an address may be reached without a rule, and which registry entry says so."""

    public: bool
    reason: str


# IANA IPv4 Special-Purpose Address Registry; True where it says "globally reachable".
# The longest matching prefix decides. 192.88.99.0/24 is marked deprecated without a verdict: not public.
_V4: tuple[tuple[str, bool, str], ...] = (
    ("0.0.0.0/8", False, "this network (RFC 791)"),
    ("10.0.0.0/8", False, "private use (RFC 1918)"),
    ("100.64.0.0/10", False, "shared address space (RFC 6598)"),
    ("127.0.0.0/8", False, "loopback (RFC 1122)"),
    ("169.254.0.0/16", False, "link local (RFC 3927)"),
    ("172.16.0.0/12", False, "private use (RFC 1918)"),
    ("192.0.0.0/24", False, "IETF protocol assignments (RFC 6890)"),
    ("192.0.0.9/32", True, "port control protocol anycast (RFC 7723)"),
    ("192.0.0.10/32", True, "TURN anycast (RFC 8155)"),
    ("192.0.2.0/24", False, "documentation (RFC 5737)"),
    ("192.31.196.0/24", True, "AS112-v4 (RFC 7535)"),
    ("192.52.193.0/24", True, "AMT (RFC 7450)"),
    ("192.88.99.0/24", False, "deprecated 6to4 relay anycast (RFC 7526)"),
    ("192.168.0.0/16", False, "private use (RFC 1918)"),
    ("192.175.48.0/24", True, "direct delegation AS112 service (RFC 7534)"),
    ("198.18.0.0/15", False, "benchmarking (RFC 2544)"),
    ("198.51.100.0/24", False, "documentation (RFC 5737)"),
    ("203.0.113.0/24", False, "documentation (RFC 5737)"),
    ("224.0.0.0/4", False, "multicast (RFC 5771)"),
    ("240.0.0.0/4", False, "reserved (RFC 1112)"),
    ("255.255.255.255/32", False, "limited broadcast (RFC 8190)"),
)

# IANA IPv6 Special-Purpose Address Registry, inside the only block that is allocated for global unicast.
_V6: tuple[tuple[str, bool, str], ...] = (
    ("::/0", False, "outside global unicast 2000::/3 (RFC 4291)"),
    ("2000::/3", True, "global unicast (RFC 4291)"),
    ("::/128", False, "unspecified (RFC 4291)"),
    ("::1/128", False, "loopback (RFC 4291)"),
    ("64:ff9b:1::/48", False, "local-use translation (RFC 8215)"),
    ("100::/64", False, "discard only (RFC 6666)"),
    ("100:0:0:1::/64", False, "dummy prefix (RFC 9780)"),
    ("2001::/23", False, "IETF protocol assignments (RFC 2928)"),
    ("2001:1::1/128", True, "port control protocol anycast (RFC 7723)"),
    ("2001:1::2/128", True, "TURN anycast (RFC 8155)"),
    ("2001:1::3/128", True, "DNS-SD SRP anycast (RFC 9665)"),
    ("2001:2::/48", False, "benchmarking (RFC 5180)"),
    ("2001:3::/32", True, "AMT (RFC 7450)"),
    ("2001:4:112::/48", True, "AS112-v6 (RFC 7535)"),
    ("2001:10::/28", False, "deprecated ORCHID (RFC 4843)"),
    ("2001:20::/28", True, "ORCHIDv2 (RFC 7343)"),
    ("2001:30::/28", True, "drone remote id (RFC 9374)"),
    ("2001:db8::/32", False, "documentation (RFC 3849)"),
    ("2620:4f:8000::/48", True, "direct delegation AS112 service (RFC 7534)"),
    ("3fff::/20", False, "documentation (RFC 9637)"),
    ("5f00::/16", False, "segment routing SIDs (RFC 9602)"),
    ("fc00::/7", False, "unique local (RFC 4193)"),
    ("fe80::/10", False, "link local (RFC 4291)"),
    ("fec0::/10", False, "deprecated site local (RFC 3879)"),
    ("ff00::/8", False, "multicast (RFC 4291)"),
)


def _longest_first(rows: list[tuple[int, int, bool, str]]) -> list[tuple[int, int, bool, str]]:
    return sorted(rows, key=lambda row: row[0], reverse=True)


def _compile(table: tuple[tuple[str, bool, str], ...], bits: int) -> list[tuple[int, int, bool, str]]:
    rows: list[tuple[int, int, bool, str]] = []
    for text, public, reason in table:
        network = IPv4Network(text) if bits == 32 else IPv6Network(text)
        rows.append((network.prefixlen, int(network.network_address), public, reason))
    return _longest_first(rows)


_ROWS = {32: _compile(_V4, 32), 128: _compile(_V6, 128)}


def _look_up(value: int, bits: int) -> Judgement:
    for length, network, public, reason in _ROWS[bits]:
        shift = bits - length
        if value >> shift == network >> shift:
            return Judgement(public, reason)
    return Judgement(True, "globally reachable")


def carried(address: IPv6Address) -> tuple[tuple[IPv4Address, ...], str]:
    """The IPv4 addresses that an IPv6 address carries, and by which scheme; none for most."""
    value = int(address)
    low = IPv4Address(value & 0xFFFFFFFF)
    prefix96 = value >> 32
    if prefix96 == 0xFFFF:
        return (low,), "IPv4-mapped"
    if prefix96 == 0 and value > 1:
        return (low,), "IPv4-compatible"
    if prefix96 == 0x0064_FF9B << 64:
        return (low,), "NAT64"
    if value >> 112 == 0x2002:
        return (IPv4Address((value >> 80) & 0xFFFFFFFF),), "6to4"
    if value >> 96 == 0x2001_0000:
        # The server's address in the clear, the client's with every bit flipped (RFC 4380 §4).
        return (IPv4Address((value >> 64) & 0xFFFFFFFF), IPv4Address(int(low) ^ 0xFFFFFFFF)), "Teredo"
    return (), ""


@lru_cache(maxsize=4096)
def judge(address: Address) -> Judgement:
    """Whether the address may be reached without a rule (SPEC §5, egress policy)."""
    if isinstance(address, IPv4Address):
        return _look_up(int(address), 32)
    inner, scheme = carried(address)
    for each in inner:
        verdict = _look_up(int(each), 32)
        if not verdict.public:
            return Judgement(False, f"{scheme} {each}: {verdict.reason}")
    if inner:
        return Judgement(True, f"{scheme} of a public address")
    return _look_up(int(address), 128)


def is_public(address: Address) -> bool:
    """Whether the IANA registries call the address globally reachable."""
    return judge(address).public
