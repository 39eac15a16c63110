"""Who speaks to whom (SPEC §8)."""

import pytest
from google.protobuf import struct_pb2
from hyperkitty.auth.v1.identity_pb2 import CallerIdentity, TokenScopes
from hyperkitty.messaging.v1.messages_pb2 import Message, MessageType
from hyperkitty.operations.v1.errors_pb2 import ErrorCode

from services.kit.errors import Refusal
from services.kit.identity import system_identity
from services.messaging.addresses import MOST_PAYLOAD_BYTES, may_read, name_of, payload_bytes, sender_for, type_of

AGENT = "agent_01JGXYZ0000000000000000000"
OTHER = "agent_01JGXYZ0000000000000000001"
ROOT = CallerIdentity(tenant="default", token_id="tok_r", scopes=TokenScopes(root=True))
PERSON = CallerIdentity(tenant="default", token_id="tok_p", scopes=TokenScopes(services=["messaging"]))
BOUND = CallerIdentity(tenant="default", token_id="tok_b", agent_id=AGENT)


def test_the_senders_name_comes_from_the_token() -> None:
    assert name_of(ROOT) == "user:root"
    assert name_of(PERSON) == "user:tok_p"
    assert name_of(BOUND) == AGENT
    assert name_of(system_identity("agent")) == "system"


@pytest.mark.parametrize(
    ("identity", "asked", "sender"),
    [
        (PERSON, "", "user:tok_p"),
        (PERSON, "user:tok_p", "user:tok_p"),
        (PERSON, "user:boss", None),
        (PERSON, "system", None),
        (ROOT, "user:boss", "user:boss"),
        (ROOT, "system", "system"),
        (BOUND, "", AGENT),
        (BOUND, OTHER, None),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_only_root_speaks_for_others(identity: CallerIdentity, asked: str, sender: str | None) -> None:
    if sender is not None:
        assert sender_for(identity, asked) == sender
        return
    with pytest.raises(Refusal) as caught:
        sender_for(identity, asked)
    assert caught.value.code == ErrorCode.ERROR_CODE_NOT_AUTHORIZED


def test_a_root_token_that_acts_for_an_agent_speaks_as_the_agent() -> None:
    acting = CallerIdentity(tenant="default", token_id="tok_r", scopes=TokenScopes(root=True), agent_id=AGENT)
    with pytest.raises(Refusal):
        sender_for(acting, "user:boss")


def test_types_follow_from_addresses() -> None:
    assert type_of("user:x", AGENT) == MessageType.MESSAGE_TYPE_USER_TO_AGENT
    assert type_of(AGENT, "user:x") == MessageType.MESSAGE_TYPE_AGENT_TO_USER
    assert type_of(AGENT, OTHER) == MessageType.MESSAGE_TYPE_AGENT_TO_AGENT
    assert type_of("system", AGENT) == MessageType.MESSAGE_TYPE_SYSTEM
    assert type_of(AGENT, "system") == MessageType.MESSAGE_TYPE_SYSTEM


def test_a_payload_is_measured_as_canonical_json() -> None:
    payload = struct_pb2.Struct()
    payload.update({"text": "é" * 10})
    assert payload_bytes(payload) == len('{"text":""}') + 20
    payload.update({"text": "x" * (MOST_PAYLOAD_BYTES - len('{"text":""}'))})
    assert payload_bytes(payload) == MOST_PAYLOAD_BYTES
    payload.update({"text": "x" * MOST_PAYLOAD_BYTES})
    with pytest.raises(Refusal) as caught:
        payload_bytes(payload)
    assert caught.value.code == ErrorCode.ERROR_CODE_PAYLOAD_TOO_LARGE


def test_what_a_caller_may_read() -> None:
    mine = Message(tenant="default", sender=AGENT, recipient="user:x")
    others = Message(tenant="default", sender=OTHER, recipient="user:x")
    elsewhere = Message(tenant="other", sender=AGENT, recipient="user:x")
    assert [may_read(BOUND, each) for each in (mine, others, elsewhere)] == [True, False, False]
    assert [may_read(PERSON, each) for each in (mine, others, elsewhere)] == [True, True, False]
    assert may_read(ROOT, elsewhere)
