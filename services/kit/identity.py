"""Who is calling: signed by the caller's service, checked by every service (SPEC §2)."""

from __future__ import annotations

import re
from collections import OrderedDict
from collections.abc import Generator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path

from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import load_pem_private_key, load_pem_public_key
from google.protobuf.message import DecodeError
from hyperkitty.auth.v1.identity_pb2 import CallerIdentity, SignedIdentity
from hyperkitty.operations.v1.errors_pb2 import ErrorCode
from hyperkitty.options.v1 import options_pb2

from services.kit import logs
from services.kit.clock import Clock
from services.kit.errors import Refusal
from services.kit.methods import MethodFacts

METADATA_KEY = "hk-identity-bin"
SYSTEM_TENANT = "system"

_GATEWAY = "gateway"
_SYSTEM = "system:"
_LIFETIME_MS = 60_000
_LONGEST_LIFETIME_MS = 10 * 60_000
_SKEW_MS = 5_000
# A signature is made again when less than this is left of it.
_REUSE_LEFT_MS = 40_000
_REMEMBERED = 1_024
_KEY_ID = re.compile(r"[a-z][a-z0-9_-]{0,40}")

log = logs.get(__name__)


class KeyUnreadable(Exception):
    """A key file is missing, unreadable or of another kind."""


@dataclass(frozen=True)
class VerifiedIdentity:
    """An identity whose signature was checked, and the service that signed it."""

    identity: CallerIdentity
    signer: str


def unauthenticated(message: str) -> Refusal:
    """No valid caller identity."""
    return Refusal(ErrorCode.ERROR_CODE_UNAUTHENTICATED, message)


def system_identity(service: str) -> CallerIdentity:
    """A service acting on its own account: recovery, health (SPEC §2)."""
    return CallerIdentity(tenant=SYSTEM_TENANT, token_id=_SYSTEM + service)


def is_system(identity: CallerIdentity) -> bool:
    """Whether a service acts on its own account."""
    return identity.token_id.startswith(_SYSTEM)


def load_private_key(path: Path) -> Ed25519PrivateKey:
    """The Ed25519 key in a PKCS8 PEM file. Raises KeyUnreadable."""
    try:
        key = load_pem_private_key(path.read_bytes(), None)
    except (OSError, ValueError, TypeError, UnsupportedAlgorithm) as error:
        raise KeyUnreadable(f"{path}: {type(error).__name__}") from error
    if not isinstance(key, Ed25519PrivateKey):
        raise KeyUnreadable(f"{path} holds no Ed25519 key")
    return key


class Signer:
    """Signs identities with this service's key."""

    def __init__(self, service: str, key: Ed25519PrivateKey, clock: Clock) -> None:
        self.service = service
        self._key = key
        self._clock = clock
        self._made: OrderedDict[tuple[bytes, str], tuple[int, bytes]] = OrderedDict()

    def sign(self, identity: CallerIdentity, audience: str) -> bytes:
        """A serialized SignedIdentity for one service, good for 60 s or until the identity's own expiry."""
        now = self._clock.now_ms()
        cache_key = (identity.SerializeToString(deterministic=True), audience)
        made = self._made.get(cache_key)
        if made is not None and made[0] - now > _REUSE_LEFT_MS:
            return made[1]
        expires = now + _LIFETIME_MS
        if identity.expires_at_ms:
            expires = min(expires, identity.expires_at_ms)
        dated = CallerIdentity()
        dated.CopyFrom(identity)
        dated.audience, dated.issued_at_ms, dated.expires_at_ms = audience, now, expires
        payload = dated.SerializeToString()
        signed = SignedIdentity(payload=payload, key_id=self.service, signature=self._key.sign(payload))
        data = signed.SerializeToString()
        self._made[cache_key] = (expires, data)
        if len(self._made) > _REMEMBERED:
            self._made.popitem(last=False)
        return data


class PublicKeys:
    """The public keys of all services: `<service>.pub` in a directory; a key that was replaced is read again."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._keys: dict[str, tuple[int, Ed25519PublicKey]] = {}

    def candidates(self, service: str) -> Generator[Ed25519PublicKey]:
        """The known key, then the one on disk when it is another."""
        known = self._keys.get(service)
        if known is not None:
            yield known[1]
        if not _KEY_ID.fullmatch(service):
            return
        path = self._directory / f"{service}.pub"
        try:
            changed = path.stat().st_mtime_ns
            if known is not None and known[0] == changed:
                return
            key = load_pem_public_key(path.read_bytes())
        except (OSError, ValueError, UnsupportedAlgorithm):
            return
        if isinstance(key, Ed25519PublicKey):
            self._keys[service] = (changed, key)
            yield key


class Verifier:
    """Checks signed identities meant for one service."""

    def __init__(self, audience: str, keys: PublicKeys, clock: Clock) -> None:
        self._audience = audience
        self._keys = keys
        self._clock = clock
        self._checked: OrderedDict[bytes, VerifiedIdentity] = OrderedDict()

    def verify(self, data: bytes | None) -> VerifiedIdentity:
        """The identity in a call's metadata. Raises Refusal unauthenticated."""
        if not data:
            raise unauthenticated("the call carries no caller identity")
        verified = self._checked.get(data)
        if verified is None:
            verified = self._check_signature(data)
            self._checked[data] = verified
            if len(self._checked) > _REMEMBERED:
                self._checked.popitem(last=False)
        self._check_content(verified.identity)
        return verified

    def _check_signature(self, data: bytes) -> VerifiedIdentity:
        signed, identity = SignedIdentity(), CallerIdentity()
        try:
            signed.ParseFromString(data)
            identity.ParseFromString(signed.payload)
        except DecodeError:
            raise unauthenticated("the caller identity cannot be read") from None
        for key in self._keys.candidates(signed.key_id):
            try:
                key.verify(signed.signature, signed.payload)
            except InvalidSignature:
                continue
            return VerifiedIdentity(identity, signed.key_id)
        raise unauthenticated("the caller identity's signature is not valid")

    def _check_content(self, identity: CallerIdentity) -> None:
        now = self._clock.now_ms()
        if identity.audience != self._audience:
            raise unauthenticated(f"the caller identity is meant for {identity.audience!r}, not for this service")
        if identity.expires_at_ms <= now:
            raise unauthenticated("the caller identity has expired")
        lifetime = identity.expires_at_ms - identity.issued_at_ms
        if identity.issued_at_ms > now + _SKEW_MS or lifetime > _LONGEST_LIFETIME_MS:
            raise unauthenticated("the caller identity's times are not valid")
        if not identity.tenant or not identity.token_id:
            raise unauthenticated("the caller identity names no tenant or token")


def check_signer(verified: VerifiedIdentity, method: MethodFacts) -> None:
    """Refuses an identity that its signer may not use for this rpc. Raises Refusal unauthenticated."""
    identity, signer = verified.identity, verified.signer
    if is_system(identity):
        if identity.token_id != _SYSTEM + signer or signer not in method.system_callers | method.callers:
            raise unauthenticated(f"{identity.token_id} may not call this method as itself")
        return
    if identity.HasField("delegation") and identity.delegation.method != method.path:
        raise unauthenticated("the delegated identity is good for another method")
    if signer == _GATEWAY:
        return
    if signer not in method.callers or not identity.HasField("delegation"):
        raise unauthenticated(f"{signer} may not sign an identity for this method")


def check_scope(identity: CallerIdentity, method: MethodFacts) -> None:
    """Refuses a token whose scopes do not cover the rpc. Raises Refusal not_authorized.

    Capabilities of browser operations are checked where the operation is known; a delegated identity is bound by
    the agent's grants instead.
    """
    scopes = identity.scopes
    if scopes.root or is_system(identity) or identity.HasField("delegation"):
        return
    allowed = {
        options_pb2.SCOPE_ANY: True,
        options_pb2.SCOPE_CAPABILITY: True,
        options_pb2.SCOPE_SERVICE: method.area in scopes.services,
        options_pb2.SCOPE_APPROVE: scopes.approve,
    }.get(method.scope, False)
    if not allowed:
        raise Refusal(
            ErrorCode.ERROR_CODE_NOT_AUTHORIZED,
            f"the token does not cover {method.kind}",
            details={"method": method.kind, "service": method.area},
        )


_incoming: ContextVar[CallerIdentity | None] = ContextVar("incoming_identity", default=None)
_outgoing: ContextVar[CallerIdentity | None] = ContextVar("outgoing_identity", default=None)


def current_identity() -> CallerIdentity:
    """The caller of the rpc being handled. Raises LookupError outside of one."""
    identity = _incoming.get()
    if identity is None:
        raise LookupError("no call is being handled here")
    return identity


def set_caller(identity: CallerIdentity) -> None:
    """Makes it the caller of the current task from here on; gRPC gives each call a task of its own."""
    _incoming.set(identity)


def outgoing_identity() -> CallerIdentity | None:
    """The identity that calls made here carry; None: the service's own."""
    return _outgoing.get()


@contextmanager
def calling_as(identity: CallerIdentity) -> Generator[None]:
    """Calls made inside carry this identity, signed by this service."""
    token = _outgoing.set(identity)
    try:
        yield
    finally:
        _outgoing.reset(token)
