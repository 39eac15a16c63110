"""What a list of grants allows (SPEC §6): asked by the agent service before a call and by the acting service again."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from google.protobuf.message import Message
from hyperkitty.agent.v1.grants_pb2 import Grant
from hyperkitty.operations.v1.errors_pb2 import ErrorCode

from services.kit.capabilities import OperationFacts, capabilities
from services.kit.errors import Refusal
from services.kit.host_rules import HostRules, InvalidRule
from services.kit.hosts import InvalidHost, host_and_port
from services.kit.masking import without_credentials
from services.kit.validation import refuse_fields

# The grant whose scope judges URLs, whichever operation names them.
_NAVIGATE = "navigate"
# Documents without a host: their content comes with the call, so no scope of hosts covers them.
_BLANK = "about:blank"


@dataclass(frozen=True, slots=True)
class NavigationScope:
    """Which top-level documents may be loaded. `allowed` None: every public host."""

    allowed: HostRules | None
    blocked: HostRules

    def allows(self, url: str) -> bool:
        """Whether a top-level document of this URL is inside. What cannot be understood is outside."""
        if url == _BLANK:
            return True
        try:
            host, port = host_and_port(url)
        except InvalidHost:
            # data: and blob: have no host: allowed only where no scope is set (SPEC §5).
            return self.allowed is None and self.blocked.is_empty and url[:5].lower() == "data:"
        if self.blocked.allows(host, port):
            return False
        return self.allowed is None or self.allowed.allows(host, port)


def navigation_scope(allowed: Sequence[str], blocked: Sequence[str]) -> NavigationScope:
    """The scope of two lists of rules. Raises InvalidRule."""
    return NavigationScope(HostRules.parse(allowed) if allowed else None, HostRules.parse(blocked))


def check_grants(grants: Iterable[Grant]) -> None:
    """Refuse a list that names what does not exist or scopes what has no scope; raises Refusal invalid_arguments."""
    seen: set[str] = set()
    for place, grant in enumerate(grants):
        field = f"capabilities[{place}]"
        if grant.capability not in capabilities():
            raise _invalid(
                field,
                f"{grant.capability!r} is no capability",
                known=sorted(capabilities()),
            )
        if grant.capability in seen:
            raise _invalid(field, f"{grant.capability!r} is granted twice")
        seen.add(grant.capability)
        scope = grant.WhichOneof("scope")
        if scope is not None and scope != grant.capability:
            raise _invalid(field, f"{grant.capability!r} cannot be scoped as {scope!r}")
        if scope == _NAVIGATE:
            if not (grant.navigate.allowed_domains or grant.navigate.blocked_domains):
                # A planner that computes an empty list means nothing, not everything.
                raise _invalid(f"{field}.navigate", "names no domain; grant plain navigate for every public host")
            try:
                navigation_scope(grant.navigate.allowed_domains, grant.navigate.blocked_domains)
            except InvalidRule as error:
                raise _invalid(f"{field}.navigate", str(error)) from error


def _invalid(field: str, message: str, **details: list[str]) -> Refusal:
    refusal = refuse_fields([(field, message)])
    refusal.details.update(details)
    return refusal


def granting(grants: Iterable[Grant], facts: OperationFacts) -> Grant | None:
    """The grant that allows an operation: its own where there is one, else one that covers it; None: none does."""
    covering: Grant | None = None
    for grant in grants:
        if grant.capability == facts.capability:
            return grant
        if grant.capability in facts.covering:
            covering = covering or grant
    return covering


def scope_of(grants: Iterable[Grant]) -> NavigationScope | None:
    """The navigation scope that `navigate` was granted with; None when it was not granted."""
    for grant in grants:
        if grant.capability == _NAVIGATE:
            return navigation_scope(grant.navigate.allowed_domains, grant.navigate.blocked_domains)
    return None


def check_operation(grants: Sequence[Grant], facts: OperationFacts, operation: Message) -> None:
    """Refuse an operation that the grants do not cover; raises Refusal not_authorized."""
    if granting(grants, facts) is None:
        raise Refusal(
            ErrorCode.ERROR_CODE_NOT_AUTHORIZED,
            f"the agent has no grant for {facts.name}",
            details={"operation": facts.name, "needs_one_of": sorted(facts.covering)},
        )
    url = str(getattr(operation, "url", ""))
    if not facts.write or not url or url == _BLANK:
        return
    scope = scope_of(grants)
    if scope is None:
        raise Refusal(
            ErrorCode.ERROR_CODE_NOT_AUTHORIZED,
            f"{facts.name} with a URL needs a grant for navigate",
            details={"operation": facts.name, "needs_one_of": [_NAVIGATE]},
        )
    if not scope.allows(url):
        shown = without_credentials(url)
        raise Refusal(
            ErrorCode.ERROR_CODE_NOT_AUTHORIZED,
            f"the agent's grant for navigate does not cover {shown[:200]!r}",
            details={
                "operation": facts.name,
                "url": shown[:2000],
                "allowed_domains": scope.allowed.canonical() if scope.allowed else [],
            },
        )
