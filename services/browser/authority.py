"""Whether a caller may run an operation here: asked of the signed identity, whichever door the call came through."""

from __future__ import annotations

from collections import OrderedDict

from google.protobuf.message import Message
from hyperkitty.auth.v1.identity_pb2 import CallerIdentity
from hyperkitty.operations.v1.errors_pb2 import ErrorCode

from services.kit import grants
from services.kit.capabilities import OperationFacts
from services.kit.errors import Refusal

SERVICE = "browser"
_MOST_AGENTS = 10_000


class Fences:
    """The highest fencing number seen of each agent: a call of an older claim is refused (SPEC §6, at most once).

    Bounded: the agents not heard of for longest are forgotten; their old calls have run into their deadlines.
    """

    def __init__(self) -> None:
        self._seen: OrderedDict[str, int] = OrderedDict()

    def check(self, agent_id: str, number: int) -> None:
        """Refuse a number smaller than one seen; raises Refusal wrong_state."""
        seen = self._seen.get(agent_id, 0)
        if number < seen:
            raise Refusal(
                ErrorCode.ERROR_CODE_WRONG_STATE,
                f"the action's claim {number} is older than the agent's claim {seen}",
                details={"fencing_number": number, "newest": seen},
            )
        self._seen[agent_id] = number
        self._seen.move_to_end(agent_id)
        if len(self._seen) > _MOST_AGENTS:
            self._seen.popitem(last=False)


def check_caller(identity: CallerIdentity, facts: OperationFacts, operation: Message, fences: Fences) -> None:
    """Refuse a caller whose identity does not cover the operation; raises Refusal not_authorized."""
    if identity.HasField("delegation"):
        if not identity.agent_id:
            raise _refused("a delegated identity names no agent")
        fences.check(identity.agent_id, identity.delegation.fencing_number)
        grants.check_operation(identity.delegation.grants, facts, operation)
        return
    if identity.agent_id:
        raise _refused("a token bound to an agent acts through the agent's own actions only")
    if identity.token_id.startswith("system:"):
        return  # which methods a service may call as itself is in the contract, and was checked
    scopes = identity.scopes
    if not (scopes.root or SERVICE in scopes.services or facts.covering.intersection(scopes.capabilities)):
        raise _refused(
            f"the token does not cover {facts.name}", operation=facts.name, needs_one_of=sorted(facts.covering)
        )


def check_owner(identity: CallerIdentity, tenant: str, owner_agent_id: str, session_id: str) -> None:
    """Refuse a session of another tenant (as if it did not exist) or, for an agent, one that is not its own."""
    check_tenant(identity, tenant, session_id)
    if identity.HasField("delegation") and identity.agent_id != owner_agent_id:
        raise _refused(f"the agent does not own {session_id}", session_id=session_id)


def check_tenant(identity: CallerIdentity, tenant: str, entity_id: str) -> None:
    """Refuse an entity of another tenant as if it did not exist; raises Refusal not_found."""
    if identity.scopes.root or identity.token_id.startswith("system:") or identity.tenant == tenant:
        return
    raise not_found(entity_id)


def not_found(entity_id: str) -> Refusal:
    """The refusal for an id that names nothing the caller may see."""
    return Refusal(ErrorCode.ERROR_CODE_NOT_FOUND, f"there is no {entity_id!r}", details={"id": entity_id})


def _refused(message: str, **details: str | list[str]) -> Refusal:
    return Refusal(ErrorCode.ERROR_CODE_NOT_AUTHORIZED, message, details=details)
