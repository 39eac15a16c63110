"""Host and Origin: what keeps other sites' pages out (DNS rebinding, CSRF, cross-site WebSocket; SPEC §11)."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterable

from hyperkitty.operations.v1.errors_pb2 import ErrorCode

from services.kit.errors import Refusal

# RFC 9110 §7.2: host, and an optional port. An IPv6 address stands in brackets.
_HOST = re.compile(r"(?P<name>\[[0-9a-f:.]+\]|[a-z0-9_.-]+)(?::(?P<port>[0-9]{1,5}))?")
_ORIGIN = re.compile(r"(?P<scheme>https?)://(?P<host>.+)")
_DEFAULT_PORTS = {"http": "80", "https": "443"}


class HostRules:
    """Loopback names and addresses, and the configured names, with any port."""

    def __init__(self, names: Iterable[str] = ()) -> None:
        self._names = frozenset(name.strip().lower().rstrip(".") for name in names if name.strip())

    def check(self, host: str, origin: str | None) -> None:
        """Raises Refusal not_authorized for a Host that is not ours, or an Origin that is not this Host's."""
        parsed = _HOST.fullmatch(host.lower())
        if parsed is None or not self._is_ours(parsed["name"]):
            raise _refused(
                f"the Host {host[:100]!r} is not one of this gateway's",
                "Use a loopback name, or name this host in HYPERKITTY_ALLOWED_HOSTS; get_health then answers.",
            )
        if origin is not None and not self._same(origin.lower(), host.lower()):
            raise _refused(
                f"pages of {origin[:100]!r} may not call this gateway",
                "Open the gateway's own pages under the name that you call it by; get_health then answers.",
            )

    def _is_ours(self, name: str) -> bool:
        name = name.rstrip(".")
        if name in self._names or name == "localhost" or name.endswith(".localhost"):
            return True
        try:
            return ipaddress.ip_address(name.strip("[]")).is_loopback
        except ValueError:
            return False

    @staticmethod
    def _same(origin: str, host: str) -> bool:
        """Whether an Origin has the authority that the request was sent to (a proxy in front may speak https)."""
        parsed = _ORIGIN.fullmatch(origin)
        if parsed is None:
            return False
        theirs, ours = _HOST.fullmatch(parsed["host"]), _HOST.fullmatch(host)
        if theirs is None or ours is None:
            return False
        default = _DEFAULT_PORTS[parsed["scheme"]]
        return theirs["name"] == ours["name"] and (theirs["port"] or default) == (ours["port"] or default)


def _refused(message: str, hint: str) -> Refusal:
    return Refusal(ErrorCode.ERROR_CODE_NOT_AUTHORIZED, message, hint=hint)
