"""What is checked of a proposal after state and limits, before anything else hears of it (SPEC §6): grant, arguments.

A URL outside the grant's scope is judged after the arguments: only a URL that is one can be outside.
"""

from __future__ import annotations

from collections.abc import Sequence

from hyperkitty.agent.v1.agents_pb2 import MessageToolOperation
from hyperkitty.agent.v1.grants_pb2 import Grant
from hyperkitty.browser.v1.operations_pb2 import CreateSessionOperation
from hyperkitty.operations.v1.errors_pb2 import ErrorCode

from services.agent.limits import ACTION_MS
from services.agent.proposals import Proposal
from services.kit import grants as kit_grants
from services.kit.errors import Refusal
from services.kit.host_rules import HostRules, InvalidRule
from services.kit.validation import check_message, refuse_fields


def check_grant(grants: Sequence[Grant], proposal: Proposal) -> None:
    """Raises Refusal not_authorized where no grant covers the operation, unimplemented where one asks a person."""
    if proposal.facts is None:
        grant = next((each for each in grants if each.capability == proposal.tool), None)
        needed = [proposal.tool]
    else:
        grant = kit_grants.granting(grants, proposal.facts)
        needed = sorted(proposal.facts.covering)
    if grant is None:
        raise _not_authorized(proposal, f"the agent has no grant for {proposal.op}", needs_one_of=needed)
    if grant.ask:
        raise Refusal(
            ErrorCode.ERROR_CODE_UNIMPLEMENTED,
            f"the grant for {grant.capability} asks a person first, which is not served yet",
            hint=f"create_agent with a grant for {grant.capability} without ask.",
            details={"operation": proposal.op},
        )


def check_arguments(agent_id: str, grants: Sequence[Grant], proposal: Proposal) -> None:
    """Raises Refusal invalid_arguments (field by field), or not_authorized for what the grants' scope leaves out."""
    check_message(proposal.args, within="args")
    timeout_ms = int(getattr(proposal.args, "timeout_ms", 0))
    if timeout_ms > ACTION_MS:
        raise refuse_fields([("args.timeout_ms", f"through an agent at most {ACTION_MS}, not {timeout_ms}")])
    if proposal.facts is not None:
        kit_grants.check_operation(grants, proposal.facts, proposal.args)
    if isinstance(proposal.args, CreateSessionOperation):
        _check_session(agent_id, grants, proposal, proposal.args)
    if proposal.tool == "message":
        _check_message(agent_id, proposal.call.message, proposal)


def _check_session(agent_id: str, grants: Sequence[Grant], proposal: Proposal, wanted: CreateSessionOperation) -> None:
    if wanted.owner_agent_id not in ("", agent_id):
        raise _not_authorized(proposal, "a session that an agent makes is its own", owner=wanted.owner_agent_id)
    granted = next((grant.navigate.allowed_domains for grant in grants if grant.capability == "navigate"), ())
    opened = _opening(granted)
    policy = wanted.network_policy
    for field in ("allowed_domains", "blocked_domains", "egress_domains"):
        try:
            rules = HostRules.parse(getattr(policy, field))
        except InvalidRule as error:
            raise refuse_fields([(f"args.network_policy.{field}", str(error))]) from error
        # Only host:port opens a loopback or private address (SPEC §5), and only a grant may say so to an agent.
        if field != "blocked_domains" and not _opening(rules.canonical()) <= opened:
            asked = sorted(_opening(rules.canonical()) - opened)
            raise _not_authorized(proposal, f"the agent's grant for navigate does not name {asked[0]}", rules=asked)


def _opening(rules: Sequence[str]) -> frozenset[str]:
    parsed = HostRules.parse(rules)
    return frozenset(str(rule) for rule in parsed.rules if rule.port is not None)


def _check_message(agent_id: str, operation: MessageToolOperation, proposal: Proposal) -> None:
    speaks_as = operation.send.sender if proposal.op == "send" else operation.list.recipient
    if speaks_as not in ("", agent_id):
        raise _not_authorized(proposal, f"an agent speaks and reads as itself only, not as {speaks_as}")


def _not_authorized(proposal: Proposal, message: str, **details: str | list[str]) -> Refusal:
    return Refusal(ErrorCode.ERROR_CODE_NOT_AUTHORIZED, message, details={"operation": proposal.op, **details})
