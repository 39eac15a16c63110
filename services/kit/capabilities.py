"""The closed list of operations and capabilities, read from the contract's options (SPEC §4, §6)."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from importlib import resources

from google.protobuf.message import Message
from hyperkitty.browser.v1 import operations_pb2
from hyperkitty.options.v1 import options_pb2

AGENT_TOOLS = frozenset({"search", "message"})
"""Capabilities that are tools of an agent, not browser operations."""


@dataclass(frozen=True, slots=True)
class OperationFacts:
    """What the contract says of one browser operation."""

    name: str
    message: str
    capability: str
    write: bool
    event: str
    intent_event: str
    default_timeout_ms: int
    covering: frozenset[str]
    """Capabilities any of which allows it, its own among them."""
    control_lane: bool
    core: bool
    on_tab: bool
    """Its message names a tab."""
    on_session: bool
    """Its message names a session."""
    effect: options_pb2.Effect.ValueType


@cache
def operations() -> dict[str, OperationFacts]:
    """Every browser operation by its name, in the contract's order."""
    arms = operations_pb2.BrowserOperation.DESCRIPTOR.oneofs_by_name["operation"].fields
    facts: dict[str, OperationFacts] = {}
    for arm in arms:
        declared = arm.GetOptions().Extensions[options_pb2.operation]
        message = arm.message_type
        assert message is not None, arm.name
        names = message.fields_by_name
        facts[arm.name] = OperationFacts(
            name=arm.name,
            message=message.full_name,
            capability=declared.capability,
            write=declared.effect == options_pb2.EFFECT_WRITE,
            event=declared.event,
            intent_event=declared.intent_event,
            default_timeout_ms=declared.default_timeout_ms,
            covering=frozenset({declared.capability, *declared.covered_by}),
            control_lane=declared.control_lane,
            core=declared.core,
            on_tab="tab_id" in names,
            on_session="session_id" in names,
            effect=declared.effect,
        )
    return facts


@cache
def by_message() -> dict[str, OperationFacts]:
    """Every browser operation by the full name of its request message."""
    return {facts.message: facts for facts in operations().values()}


@cache
def capabilities() -> frozenset[str]:
    """Every name that may be granted."""
    return frozenset(facts.capability for facts in operations().values()) | AGENT_TOOLS


def facts_of(operation: operations_pb2.BrowserOperation) -> OperationFacts | None:
    """The facts of the operation that is set; None when none is."""
    name = operation.WhichOneof("operation")
    return None if name is None else operations()[name]


def arm_of(operation: operations_pb2.BrowserOperation) -> Message:
    """The message of the operation that is set. Raises ValueError when none is."""
    name = operation.WhichOneof("operation")
    if name is None:
        raise ValueError("no operation is set")
    return getattr(operation, name)


@cache
def comments() -> dict[str, str]:
    """The contract's comments by full name, as generation left them."""
    text = resources.files("hyperkitty").joinpath("contract_comments.json").read_text()
    return {str(name): str(comment) for name, comment in json.loads(text).items()}
