"""Bearer tokens: who shows one, by its hash."""

from __future__ import annotations

import hashlib
import hmac
import re
from pathlib import Path
from typing import Protocol

from hyperkitty.auth.v1.identity_pb2 import CallerIdentity, TokenScopes
from hyperkitty.operations.v1.errors_pb2 import ErrorCode

from services.kit.errors import Refusal

ROOT_FILE = "root.token"
ROOT_ID = "root"
ROOT_TENANT = "default"

_BEARER = re.compile(r"bearer +([A-Za-z0-9._~+/-]+=*) *", re.IGNORECASE)
_LONGEST = 1_024
_SHORTEST_ROOT = 16


class TokenError(Exception):
    """The root token cannot be read: the gateway must not start without it."""


class TokenTable(Protocol):
    """Tokens that somebody made, by the SHA-256 of their secret."""

    def find(self, digest: bytes) -> CallerIdentity | None:
        """Whose token it is; None when there is none, or when it has ended."""
        ...


def digest_of(secret: str) -> bytes:
    """What is kept of a token. Secrets have over 128 random bits: one round of a fast hash is enough."""
    return hashlib.sha256(secret.encode()).digest()


def read_root_token(home: Path) -> bytes:
    """The digest of the token in `<home>/root.token`. Raises TokenError when there is none."""
    path = home / ROOT_FILE
    try:
        secret = path.read_text(encoding="ascii").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise TokenError(f"no root token in {path}: {error}; `hyperkitty up` makes one") from None
    if len(secret) < _SHORTEST_ROOT:
        raise TokenError(f"the root token in {path} is shorter than {_SHORTEST_ROOT} characters")
    return digest_of(secret)


class Authenticator:
    """Says who is calling from an `authorization` header (RFC 6750)."""

    def __init__(self, root_digest: bytes, table: TokenTable | None = None) -> None:
        self._root = root_digest
        self._table = table

    def caller(self, authorization: str | None) -> CallerIdentity:
        """The identity behind `Bearer <token>`. Raises Refusal unauthenticated, which repeats nothing of the token."""
        if not authorization:
            raise _refused("no token was sent")
        match = _BEARER.fullmatch(authorization) if len(authorization) <= _LONGEST else None
        if match is None:
            raise _refused("the authorization is not `Bearer <token>`")
        digest = digest_of(match[1])
        if hmac.compare_digest(digest, self._root):
            return CallerIdentity(tenant=ROOT_TENANT, token_id=ROOT_ID, scopes=TokenScopes(root=True))
        caller = self._table.find(digest) if self._table is not None else None
        if caller is None:
            raise _refused("the token is not known, or has ended")
        return caller


def _refused(message: str) -> Refusal:
    return Refusal(
        ErrorCode.ERROR_CODE_UNAUTHENTICATED,
        message,
        hint="Send `Authorization: Bearer <token>`: the root token is in root.token of the home; create_token makes "
        "others.",
    )
