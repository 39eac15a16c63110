"""TokenService: making, listing and revoking bearer tokens (SPEC §11)."""

from __future__ import annotations

import secrets
from collections.abc import Iterable

from hyperkitty.auth.v1 import token_service_pb2 as pb
from hyperkitty.auth.v1.identity_pb2 import TokenScopes
from hyperkitty.auth.v1.token_service_pb2_grpc import TokenServiceServicer
from hyperkitty.auth.v1.tokens_pb2 import Token
from hyperkitty.operations.v1.errors_pb2 import ErrorCode

from gateway.access.issued import IssuedTokens
from gateway.access.tokens import ROOT_TENANT, digest_of
from services.kit import capabilities, record
from services.kit.clock import Clock
from services.kit.errors import Refusal
from services.kit.identity import current_identity
from services.kit.ids import new_id
from services.kit.operations import current_operation
from services.kit.paging import page_of
from services.kit.validation import refuse_fields

MOST_TOKENS = 5_000
_SECRET_BYTES = 32


class TokenServicer(TokenServiceServicer):
    """Only root tokens come as far as here: the contract's scope says so. View sessions are not served yet."""

    def __init__(self, issued: IssuedTokens, services: Iterable[str], clock: Clock) -> None:
        self._issued = issued
        self._services = frozenset(services)
        self._clock = clock

    async def CreateToken(self, request: pb.CreateTokenRequest, context: object) -> pb.CreateTokenResponse:
        """Makes a token; its secret is in this answer only."""
        del context
        self._check_names(request)
        await self._make_room()
        secret = f"hk_{secrets.token_urlsafe(_SECRET_BYTES)}"
        now = self._clock.now_ms()
        token = Token(
            token_id=new_id("tok"),
            tenant=request.tenant or ROOT_TENANT,
            scopes=TokenScopes(
                capabilities=sorted(set(request.capabilities)),
                services=sorted(set(request.services)),
                approve=request.approve,
                metrics=request.metrics,
            ),
            agent_id=request.agent_id,
            expires_at_ms=now + request.expires_in_ms if request.expires_in_ms else 0,
            rate_per_minute=request.rate_per_minute,
            created_at_ms=now,
            created_by=current_identity().token_id,
        )
        current_operation().subject = token.token_id
        await self._issued.add(token, digest_of(secret))
        record.outcome(
            "auth.token.created",
            data={
                "tenant": token.tenant,
                "capabilities": list(token.scopes.capabilities),
                "services": list(token.scopes.services),
                "agent_id": token.agent_id,
                "expires_at_ms": token.expires_at_ms,
            },
        )
        return pb.CreateTokenResponse(info=token, token=secret)

    async def ListTokens(self, request: pb.ListTokensRequest, context: object) -> pb.ListTokensResponse:
        """Tokens without their secrets, newest first."""
        del context
        tokens, next_page = page_of(
            self._issued.all(), request.page_size, request.page_token, key=lambda token: token.token_id
        )
        return pb.ListTokensResponse(tokens=tokens, next_page_token=next_page)

    async def RevokeToken(self, request: pb.RevokeTokenRequest, context: object) -> pb.RevokeTokenResponse:
        """Ends a token, here at once, elsewhere as fast as the bucket's watch."""
        del context
        token = self._issued.get(request.token_id)
        current_operation().subject = request.token_id
        if token is None:
            raise Refusal(
                ErrorCode.ERROR_CODE_NOT_FOUND,
                f"there is no token {request.token_id}",
                hint="list_tokens shows those that are there.",
            )
        await self._issued.remove(request.token_id)
        record.outcome("auth.token.revoked", data={"tenant": token.tenant})
        return pb.RevokeTokenResponse(revoked=token)

    def _check_names(self, request: pb.CreateTokenRequest) -> None:
        """A misspelt scope would be a token that does less than somebody thinks. Raises Refusal invalid_arguments."""
        browser = capabilities.capabilities() - capabilities.AGENT_TOOLS
        problems = [
            (f"{field}[{place}]", f"{name!r} is none of {', '.join(sorted(known))}"[:400])
            for field, names, known in (
                ("capabilities", request.capabilities, browser),
                ("services", request.services, self._services),
            )
            for place, name in enumerate(names)
            if name not in known
        ]
        if problems:
            raise refuse_fields(problems)

    async def _make_room(self) -> None:
        """Forgets expired tokens when there are very many. Raises Refusal resource_exhausted."""
        tokens = self._issued.all()
        if len(tokens) < MOST_TOKENS:
            return
        now = self._clock.now_ms()
        expired = [token.token_id for token in tokens if token.expires_at_ms and token.expires_at_ms <= now]
        for token_id in expired:
            await self._issued.remove(token_id)
        if not expired:
            raise Refusal(
                ErrorCode.ERROR_CODE_RESOURCE_EXHAUSTED,
                f"there are {len(tokens)} tokens",
                hint="revoke_token ends those that nobody needs; list_tokens shows them.",
            )
