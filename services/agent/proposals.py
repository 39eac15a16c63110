"""What a planner proposes, as the checks and the record see it: (tool, op, args)."""

from __future__ import annotations

from dataclasses import dataclass

from google.protobuf import struct_pb2
from google.protobuf.message import Message
from hyperkitty.agent.v1.agents_pb2 import ToolCall

from services.kit.capabilities import OperationFacts, operations
from services.kit.json_values import to_struct
from services.kit.masking import masked
from services.kit.validation import refuse_fields

# An entry in the history is at most 2 KiB (SPEC §3); its arguments leave room for the rest.
_ARGS_BYTES = 1_200
_MOST_TEXT = 300


@dataclass(frozen=True)
class Proposal:
    """One proposed action. `args` is the operation's own message; `facts` are set for browser operations."""

    call: ToolCall
    tool: str
    op: str
    args: Message
    facts: OperationFacts | None

    @property
    def session_id(self) -> str:
        """The session that it names; empty where it names none."""
        return str(getattr(self.args, "session_id", ""))

    @property
    def is_search(self) -> bool:
        """Whether it uses up iterations of searches."""
        return self.tool == "search"

    def masked(self) -> struct_pb2.Struct:
        """Its arguments for history and events: without secrets, and small enough for an entry of 2 KiB."""
        return to_struct(masked(self.args, most_text=_MOST_TEXT), _ARGS_BYTES)


def read(call: ToolCall) -> Proposal:
    """The proposal in a call; raises Refusal invalid_arguments where no tool or no operation is set."""
    tool = call.WhichOneof("tool")
    if tool is None:
        raise refuse_fields([("tool", "one of browser, search, message is needed")])
    operation: Message = getattr(call, tool)
    op = operation.WhichOneof("operation")
    if op is None:
        raise refuse_fields([("op", f"an operation of the tool {tool} is needed")])
    args: Message = getattr(operation, op)
    return Proposal(call, tool, op, args, operations()[op] if tool == "browser" else None)
