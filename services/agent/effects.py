"""What an action did to its agent's standing, read from what its tool answered."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from typing import cast

from google.protobuf import struct_pb2
from google.protobuf.descriptor import Descriptor
from google.protobuf.message import Message
from hyperkitty.agent.v1.agent_service_pb2 import ActResponse
from hyperkitty.agent.v1.agents_pb2 import AgentAction

from services.agent.proposals import Proposal
from services.agent.records import ActionEntry
from services.kit.errors import Refusal, reason

OK = "ok"
_MOST_ARTIFACTS = 20
_ARTIFACT_ID = "artifact_id"


def succeeded(action: AgentAction, proposal: Proposal, response: ActResponse) -> ActionEntry:
    """The entry of an action that ended well; `action` has its duration already."""
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


def failed(action: AgentAction, refusal: Refusal) -> ActionEntry:
    """The entry of an action that ended with an error."""
    action.outcome = reason(refusal.code)
    return ActionEntry(action)
