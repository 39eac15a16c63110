"""What an action did to its agent's standing, read from what its tool answered."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from typing import cast

from google.protobuf import struct_pb2
from google.protobuf.descriptor import Descriptor
from google.protobuf.message import Message
from hyperkitty.agent.v1.agent_service_pb2 import ActResponse
from hyperkitty.agent.v1.agents_pb2 import AgentAction
from hyperkitty.operations.v1.errors_pb2 import ErrorCode

from services.agent import streaks
from services.agent.proposals import Proposal
from services.agent.records import ActionEntry
from services.kit.errors import Refusal, reason

OK = "ok"
_MOST_ARTIFACTS = 20
_ARTIFACT_ID = "artifact_id"


@dataclass(frozen=True, slots=True)
class Done:
    """What a tool answered. Of a browser's: where it was done, and what that session has sent in all."""

    response: ActResponse
    session_id: str = ""
    network_requests: int = 0


def succeeded(action: AgentAction, proposal: Proposal, done: Done) -> ActionEntry:
    """The entry of an action that ended well; `action` has its duration already."""
    response = done.response
    action.outcome = OK
    action.artifact_ids.extend(_artifact_ids(response))
    opened = closed = ""
    if proposal.op == "create_session":
        opened = response.browser.create_session.session_id
    elif proposal.op == "close_session":
        closed = proposal.session_id
    return ActionEntry(
        action,
        opened=(opened,) if opened else (),
        closed=(closed,) if closed else (),
        search_iterations=_search_iterations(response) if proposal.is_search else 0,
        session_id=done.session_id,
        network_requests=done.network_requests,
        repeat_of=streaks.action_of(proposal.call),
        repeat_outcome=streaks.outcome_of(response),
    )


def _search_iterations(response: ActResponse) -> int:
    """Rounds that a search took; at least one, whatever it says."""
    told = response.search.diagnostics.fields.get("iterations", struct_pb2.Value())
    return max(1, int(told.number_value))


def _artifact_ids(response: ActResponse) -> list[str]:
    found = dict.fromkeys(each for each in _named(response) if each)
    return list(found)[:_MOST_ARTIFACTS]


def _named(message: Message) -> Iterable[str]:
    """Every artifact_id in a message."""
    for field, value in message.ListFields():
        if field.name == _ARTIFACT_ID and isinstance(value, str):
            yield value
        elif field.message_type is None or not _can_name(field.message_type):
            continue
        elif field.is_repeated:
            for item in cast("Iterable[Message]", value):
                yield from _named(item)
        elif isinstance(value, Message):
            yield from _named(value)


@cache
def _can_name(descriptor: Descriptor) -> bool:
    """Whether a message of this type can hold an artifact_id; most results cannot, and are not walked."""
    seen: set[str] = set()
    waiting = [descriptor]
    while waiting:
        each = waiting.pop()
        if each.full_name in seen or each.GetOptions().map_entry:
            continue
        seen.add(each.full_name)
        if _ARTIFACT_ID in each.fields_by_name:
            return True
        waiting += [field.message_type for field in each.fields if field.message_type is not None]
    return False


def failed(action: AgentAction, refusal: Refusal, proposal: Proposal | None = None) -> ActionEntry:
    """The entry of an action that ended with an error; takes what the error tells of the session out of it.

    Without `proposal` it never reached its tool.
    """
    action.outcome = reason(refusal.code)
    if proposal is None:
        return ActionEntry(action)
    sent = refusal.details.pop("sent", None)
    session_id, requests = (sent.get("session_id"), sent.get("network_requests")) if isinstance(sent, dict) else ("", 0)
    return ActionEntry(
        action,
        session_id=session_id if isinstance(session_id, str) else "",
        network_requests=int(requests) if isinstance(requests, (int, float)) else 0,
        # A search that its provider failed has asked it at least once.
        search_iterations=int(proposal.is_search and refusal.code == ErrorCode.ERROR_CODE_PROVIDER_FAILED),
        repeat_of=streaks.action_of(proposal.call),
        repeat_outcome=streaks.outcome_of(refusal),
    )
