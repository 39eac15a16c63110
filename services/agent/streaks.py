"""The same action with the same outcome in a row (SPEC §6, max_repeats).

Two actions are the same where tool, operation and arguments are (as canonical bytes). Two outcomes are the same where
the outcome's code is and, for one that went well, the page's state: the URL that the action left it at, and a digest
of what the action gave, without what is new in every answer.
"""

from __future__ import annotations

import hashlib

import msgspec
from google.protobuf.message import Message
from hyperkitty.agent.v1.agent_service_pb2 import ActResponse
from hyperkitty.agent.v1.agents_pb2 import AgentLimits, ToolCall

from services.kit.errors import Refusal, reason


class Streak(msgspec.Struct, frozen=True):
    """How often the last action was done with the same outcome, in a row."""

    action: str = ""
    outcome: str = ""
    count: int = 0


def action_of(call: ToolCall) -> str:
    """What an action is, as a digest."""
    return _digest(call.SerializeToString(deterministic=True))


def outcome_of(outcome: ActResponse | Refusal) -> str:
    """How an action ended, as a digest."""
    if isinstance(outcome, Refusal):
        return reason(outcome.code)
    same = ActResponse()
    same.CopyFrom(outcome)
    same.ClearField("action_id")
    same.ClearField("warning")
    page = same.browser
    if page.HasField("read_page"):
        # Random in every answer, by its purpose.
        page.read_page.ClearField("boundary")
    if page.HasField("screenshot"):
        page.screenshot.ClearField("artifact")
    return _digest(page.changed.url.encode(), _bytes(same))


def prolonged(streak: Streak, action: str, outcome: str) -> Streak:
    """The streak after another action. An outcome that is not known ends it."""
    if not action:
        return Streak()
    repeats = action == streak.action and outcome == streak.outcome
    return Streak(action, outcome, streak.count + 1 if repeats else 1)


def repeated(streak: Streak, call: ToolCall) -> int:
    """How often an action that is proposed was done already, in a row and to the same end."""
    return streak.count if streak.count and streak.action == action_of(call) else 0


def warning(streak: Streak, limits: AgentLimits) -> str:
    """What to tell the planner with the last repeat but one; empty before."""
    if streak.count != limits.max_repeats - 1:
        return ""
    return (
        f"max_repeats: the same action had the same outcome {streak.count} times in a row; "
        f"after {limits.max_repeats} the next one fails the agent: do something else"
    )


def _bytes(message: Message) -> bytes:
    return message.SerializeToString(deterministic=True)


def _digest(*parts: bytes) -> str:
    digest = hashlib.blake2b(digest_size=16)
    for part in parts:
        digest.update(len(part).to_bytes(8, "big"))
        digest.update(part)
    return digest.hexdigest()
