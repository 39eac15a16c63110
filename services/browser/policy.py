"""Where a session may go (SPEC §5): what was asked for, narrowed by the creating agent's grants."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from hyperkitty.agent.v1.grants_pb2 import Grant
from hyperkitty.browser.v1.sessions_pb2 import NetworkPolicy
from hyperkitty.operations.v1.errors_pb2 import ErrorCode

from services.kit.dialer import EgressPolicy
from services.kit.errors import Refusal
from services.kit.grants import NavigationScope, navigation_scope
from services.kit.host_rules import HostRules, InvalidRule
from services.kit.hosts import Host, InvalidHost, host_and_port, judge_host
from services.kit.validation import refuse_fields

_LISTS = ("allowed_domains", "blocked_domains", "egress_domains")


def session_policy(asked: NetworkPolicy, grants: Iterable[Grant] | None) -> NetworkPolicy:
    """The policy of a new session; `grants` None: a person's. Raises Refusal invalid_arguments, not_authorized."""
    policy = NetworkPolicy(**{name: _canonical(name, getattr(asked, name)) for name in _LISTS})
    if grants is None:
        return policy
    scope = next((grant.navigate for grant in grants if grant.capability == "navigate"), None)
    allowed = list(scope.allowed_domains) if scope is not None else []
    blocked = list(scope.blocked_domains) if scope is not None else []
    _check_narrower(policy, allowed)
    return NetworkPolicy(
        allowed_domains=policy.allowed_domains or _canonical("allowed_domains", allowed),
        blocked_domains=dict.fromkeys([*policy.blocked_domains, *_canonical("blocked_domains", blocked)]),
        egress_domains=policy.egress_domains,
    )


def _canonical(name: str, rules: Sequence[str]) -> list[str]:
    try:
        return HostRules.parse(rules).canonical()
    except InvalidRule as error:
        raise refuse_fields([(f"network_policy.{name}", str(error))]) from error


def _check_narrower(policy: NetworkPolicy, granted: Sequence[str]) -> None:
    """An agent's session is never wider than its grants: each rule it asks for must be one of theirs."""
    known = set(_canonical("allowed_domains", granted))
    wider = [rule for rule in policy.allowed_domains if known and rule not in known]
    # A host with a port opens a private address: an agent's call never does that by itself.
    opening = HostRules.parse(policy.egress_domains).rules
    wider += [str(rule) for rule in opening if rule.port is not None and str(rule) not in known]
    if wider:
        raise Refusal(
            ErrorCode.ERROR_CODE_NOT_AUTHORIZED,
            f"the agent's grant for navigate does not hold {', '.join(wider[:5])}",
            details={"rules": wider[:50]},
        )


def egress_policy(policy: NetworkPolicy, own_ports: frozenset[int]) -> EgressPolicy:
    """What the session's proxy enforces."""
    return EgressPolicy(
        rules=HostRules.parse(policy.egress_domains) if policy.egress_domains else None,
        opened=HostRules.parse([*policy.allowed_domains, *policy.egress_domains]),
        own_ports=own_ports,
    )


def scope_of(policy: NetworkPolicy) -> NavigationScope:
    """Which top-level documents the session may load."""
    return navigation_scope(policy.allowed_domains, policy.blocked_domains)


def private_destination(url: str) -> tuple[Host, int] | None:
    """Host and port of a URL that needs a rule of its own, as it stands in the URL; None for every other URL."""
    try:
        host, port = host_and_port(url)
    except InvalidHost:
        return None
    judgement = judge_host(host)
    return None if judgement is None or judgement.public else (host, port)
