"""Who speaks to whom (SPEC §8): `agent_…`, `user:<name>`, `system`."""

from __future__ import annotations

import json

from google.protobuf import struct_pb2
from hyperkitty.auth.v1.identity_pb2 import CallerIdentity
from hyperkitty.messaging.v1.messages_pb2 import Message, MessageType
from hyperkitty.operations.v1.errors_pb2 import ErrorCode

from services.kit.errors import Refusal
from services.kit.identity import is_system
from services.kit.json_values import from_struct

MOST_PAYLOAD_BYTES = 256 * 1024
SYSTEM = "system"
_USER = "user:"
_ROOT = "user:root"


def name_of(identity: CallerIdentity) -> str:
    """The name that a caller speaks under: its agent's, else its token's; a service's own is `system`."""
    if identity.agent_id:
        return identity.agent_id
    if is_system(identity):
        return SYSTEM
    return _ROOT if identity.scopes.root else f"{_USER}{identity.token_id}"


def sender_for(identity: CallerIdentity, asked: str) -> str:
    """The sender of a message; only a root token speaks for others. Raises Refusal not_authorized."""
    own = name_of(identity)
    if not asked or asked == own:
        return own
    if identity.scopes.root and not identity.agent_id:
        return asked
    raise Refusal(
        ErrorCode.ERROR_CODE_NOT_AUTHORIZED,
        f"the caller speaks as {own}, not as {asked}",
        hint="send_message without sender.",
        details={"sender": asked, "own": own},
    )


def _kind(address: str) -> str:
    return "system" if address == SYSTEM else "user" if address.startswith(_USER) else "agent"


def type_of(sender: str, recipient: str) -> MessageType.ValueType:
    """The type that two addresses make. The contract has none for two people: it is the system that carries it."""
    return {
        ("user", "agent"): MessageType.MESSAGE_TYPE_USER_TO_AGENT,
        ("agent", "user"): MessageType.MESSAGE_TYPE_AGENT_TO_USER,
        ("agent", "agent"): MessageType.MESSAGE_TYPE_AGENT_TO_AGENT,
    }.get((_kind(sender), _kind(recipient)), MessageType.MESSAGE_TYPE_SYSTEM)


def payload_bytes(payload: struct_pb2.Struct) -> int:
    """Size as canonical JSON. Raises Refusal payload_too_large over 256 KiB."""
    size = len(json.dumps(from_struct(payload), ensure_ascii=False, sort_keys=True, separators=(",", ":")).encode())
    if size > MOST_PAYLOAD_BYTES:
        raise Refusal(
            ErrorCode.ERROR_CODE_PAYLOAD_TOO_LARGE,
            f"a payload is at most {MOST_PAYLOAD_BYTES} bytes as JSON, this one has {size}",
            hint="Send less at once, in several messages of one conversation_id.",
            details={"field": "payload", "bytes": size, "limit": MOST_PAYLOAD_BYTES},
        )
    return size


def sees_all(identity: CallerIdentity) -> bool:
    """Whether a caller sees every tenant."""
    return identity.scopes.root or is_system(identity)


def may_read(identity: CallerIdentity, message: Message) -> bool:
    """A token sees its tenant's messages; one that is an agent's, those to and from the agent."""
    if not sees_all(identity) and message.tenant != identity.tenant:
        return False
    return not identity.agent_id or identity.agent_id in (message.sender, message.recipient)
