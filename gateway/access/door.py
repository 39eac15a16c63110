"""The one check that every call passes, whichever front it came through: who is it, may it, and what if not."""

from __future__ import annotations

from google.protobuf.message import Message
from hyperkitty.auth.v1.identity_pb2 import CallerIdentity
from hyperkitty.operations.v1.errors_pb2 import ErrorCode

from gateway.access.denials import Denials
from gateway.access.leases import Lease, Leases
from gateway.access.origins import HostRules
from gateway.access.rights import AuthTable
from gateway.access.tokens import Authenticator
from gateway.contract import Rpc
from services.kit.errors import Refusal

_DENIALS = frozenset({ErrorCode.ERROR_CODE_UNAUTHENTICATED, ErrorCode.ERROR_CODE_NOT_AUTHORIZED})


class Door:
    """Hosts, tokens and rights in one place; a refusal here becomes an `auth.denied` event."""

    def __init__(
        self, hosts: HostRules, authenticator: Authenticator, table: AuthTable, denials: Denials, leases: Leases
    ) -> None:
        self._hosts = hosts
        self._authenticator = authenticator
        self._table = table
        self._denials = denials
        self._leases = leases

    def check_host(self, host: str | None, origin: str | None) -> None:
        """Raises Refusal not_authorized."""
        self._hosts.check(host or "", origin)

    def caller(self, authorization: str | None) -> CallerIdentity:
        """Who is calling. Raises Refusal unauthenticated."""
        return self._authenticator.caller(authorization)

    def lease(self, caller: CallerIdentity) -> Lease:
        """What a call runs in, `async with`: ends with its token, as Refusal unauthenticated."""
        return self._leases.lease(caller)

    def check(self, rpc: Rpc, caller: CallerIdentity, request: Message | None = None) -> CallerIdentity:
        """The identity to make the call with. Raises Refusal not_authorized."""
        return self._table.check(rpc, caller, request)

    def note(self, refusal: Refusal, *, source: str, request_id: str, what: str) -> None:
        """Puts a refusal of this door on the log; other refusals are not its business."""
        if refusal.code in _DENIALS:
            self._denials.note(refusal, source=source, request_id=request_id, what=what)
