"""What a caller sends: taken whole or refused, naming the field, what was expected and what was there."""

from __future__ import annotations

import json
from typing import cast

import pytest
from google.protobuf import message_factory
from google.protobuf.descriptor import Descriptor
from google.protobuf.message import Message
from hyperkitty.agent.v1 import agent_service_pb2, agents_pb2, grants_pb2
from hyperkitty.auth.v1 import secret_service_pb2
from hyperkitty.browser.v1 import operations_pb2, sessions_pb2, targets_pb2
from hyperkitty.events.v1 import event_service_pb2
from hyperkitty.health.v1 import health_pb2
from hyperkitty.messaging.v1 import messages_pb2
from hyperkitty.operations.v1.errors_pb2 import ErrorCode

from gateway.transcoding.decode import decoder, field_decoder, text_decoder
from gateway.transcoding.json_text import parse
from gateway.transcoding.mismatch import Mismatch
from gateway.transcoding.well_known import DEEPEST
from services.kit.errors import Refusal

OPERATION = operations_pb2.BrowserOperation.DESCRIPTOR
CREATE = agent_service_pb2.CreateAgentRequest.DESCRIPTOR
CALL = agents_pb2.ToolCall.DESCRIPTOR
TARGET = targets_pb2.Target.DESCRIPTOR
OUTGOING = messages_pb2.OutgoingMessage.DESCRIPTOR
LIMITS = agents_pb2.AgentLimits.DESCRIPTOR
SETTINGS = sessions_pb2.SessionSettings.DESCRIPTOR
UPLOAD = operations_pb2.UploadFile.DESCRIPTOR
HEALTH = health_pb2.ServiceHealth.DESCRIPTOR


def read(message_type: Descriptor, text: str) -> Message:
    message = message_factory.GetMessageClass(message_type)()
    decoder(message_type)(message, parse(text.encode()))
    return message


def refused(message_type: Descriptor, text: str) -> Mismatch:
    with pytest.raises(Mismatch) as caught:
        read(message_type, text)
    return caught.value


def test_op_and_args() -> None:
    click = read(OPERATION, '{"op":"click","args":{"target":{"ref":"e12"},"modifiers":["alt","shift"],"count":2}}')
    expected = operations_pb2.BrowserOperation()
    expected.click.target.ref = "e12"
    expected.click.modifiers.extend([operations_pb2.MODIFIER_ALT, operations_pb2.MODIFIER_SHIFT])
    expected.click.count = 2
    assert click == expected


def test_args_may_be_left_out_and_their_order_does_not_matter() -> None:
    expected = operations_pb2.BrowserOperation()
    expected.create_session.SetInParent()
    assert read(OPERATION, '{"op":"create_session"}') == expected
    assert read(OPERATION, '{"args":{},"op":"create_session"}') == expected


def test_tool_op_and_args() -> None:
    expected = agents_pb2.ToolCall()
    expected.browser.open_tab.url = "http://a/"
    assert read(CALL, '{"tool":"browser","op":"open_tab","args":{"url":"http://a/"}}') == expected
    expected.message.list.conversation_id = "c"
    assert read(CALL, '{"args":{"conversation_id":"c"},"op":"list","tool":"message"}') == expected


def test_grants() -> None:
    made = read(
        CREATE,
        '{"capabilities":["click",{"click":{"ask":true}},{"navigate":{"allowed_domains":["a.b"],"ask":true}},'
        '{"navigate":{}},{"hover":{}}]}',
    )
    domains = grants_pb2.NavigateScope(allowed_domains=["a.b"])
    assert made == agent_service_pb2.CreateAgentRequest(
        capabilities=[
            grants_pb2.Grant(capability="click"),
            grants_pb2.Grant(capability="click", ask=True),
            grants_pb2.Grant(capability="navigate", ask=True, navigate=domains),
            grants_pb2.Grant(capability="navigate", navigate=grants_pb2.NavigateScope()),
            grants_pb2.Grant(capability="hover"),
        ]
    )


def test_null_is_an_unset_message_or_optional_and_nothing_else() -> None:
    assert read(CREATE, '{"limits":null,"objective":null}') == agent_service_pb2.CreateAgentRequest()
    assert read(TARGET, '{"ref":"e1","nth":null}') == targets_pb2.Target(ref="e1")
    # An empty allow list allows everything: null must not be taken for it.
    policy = sessions_pb2.NetworkPolicy.DESCRIPTOR
    assert refused(policy, '{"allowed_domains":null}').path == "allowed_domains"


def test_a_target_may_be_x_and_y() -> None:
    assert read(TARGET, '{"x":1,"y":2.5}') == targets_pb2.Target(point=targets_pb2.Point(x=1, y=2.5))
    assert refused(TARGET, '{"ref":"e1","x":1}').path == ""


def test_optional_zero_is_present() -> None:
    message = read(event_service_pb2.StreamEventsRequest.DESCRIPTOR, '{"after_sequence":0}')
    assert message.HasField("after_sequence")


@pytest.mark.parametrize("text", ["9223372036854775807", "-9223372036854775808"])
def test_64_bit_bounds(text: str) -> None:
    message = read(LIMITS, f'{{"max_execution_ms":{text}}}')
    assert message == agents_pb2.AgentLimits(max_execution_ms=int(text))


WRONG = [
    (LIMITS, '{"max_actions":"5"}', "max_actions", "integer", 'string "5"'),
    (LIMITS, '{"max_actions":5.0}', "max_actions", "integer", "number 5.0"),
    (LIMITS, '{"max_actions":1e2}', "max_actions", "integer", "number 100.0"),
    (LIMITS, '{"max_actions":true}', "max_actions", "integer", "boolean true"),
    (LIMITS, '{"max_actions":null}', "max_actions", "integer", "null"),
    (LIMITS, '{"max_actions":[1]}', "max_actions", "integer", "array"),
    (LIMITS, '{"max_actions":2147483648}', "max_actions", "integer from -2147483648 to 2147483647", None),
    (LIMITS, '{"max_execution_ms":9223372036854775808}', "max_execution_ms", None, "integer 9223372036854775808"),
    (LIMITS, f'{{"max_execution_ms":{"9" * 50}}}', "max_execution_ms", None, "integer of more than 40 digits"),
    (SETTINGS, '{"headed":1}', "headed", "boolean", "integer 1"),
    (SETTINGS, '{"headed":"true"}', "headed", "boolean", 'string "true"'),
    (SETTINGS, '{"locale":5}', "locale", "string", "integer 5"),
    (SETTINGS, '{"locale":"\\ud800"}', "locale", "string", None),
    (SETTINGS, '{"permissions":"camera"}', "permissions", "array", 'string "camera"'),
    (SETTINGS, '{"permissions":["a",null]}', "permissions[1]", "string", "null"),
    (SETTINGS, '{"viewport":[]}', "viewport", "object", "array"),
    (SETTINGS, '{"viewport":{"device_scale_factor":"2"}}', "viewport.device_scale_factor", "number", 'string "2"'),
    (SETTINGS, '{"viewport":{"device_scale_factor":1e999}}', "viewport.device_scale_factor", "finite number", None),
    (SETTINGS, '{"viewport":{"device_scale_factor":true}}', "viewport.device_scale_factor", "number", "boolean true"),
    (SETTINGS, '{"http_credentials":[{},{"origin":1}]}', "http_credentials[1].origin", "string", "integer 1"),
    (SETTINGS, '{"dialogs":1}', "dialogs", "string", "integer 1"),
    (UPLOAD, '{"content":"@@"}', "content", "base64 string", "string"),
    (UPLOAD, '{"content":"YQ"}', "content", "base64 string", "string"),
    (UPLOAD, '{"content":"Y Q="}', "content", "base64 string", "string"),
    (HEALTH, '{"counts":{"a":1,"b":"x"}}', "counts.b", "integer", 'string "x"'),
    (HEALTH, '{"counts":[]}', "counts", "object", "array"),
    (CREATE, "[]", "", "object", "array"),
    (CREATE, '"x"', "", "object", 'string "x"'),
    (CREATE, '{"capabilities":[5]}', "capabilities[0]", None, "integer 5"),
    (CREATE, '{"capabilities":[{"navigate":null}]}', "capabilities[0].navigate", "object", "null"),
    (CREATE, '{"capabilities":[{"navigate":{"ask":1}}]}', "capabilities[0].navigate.ask", "boolean", "integer 1"),
    (CREATE, '{"capabilities":[{"navigate":{"allowed_domains":"a"}}]}', None, "array", 'string "a"'),
    (OPERATION, '{"op":5}', "op", "string", "integer 5"),
    (OPERATION, '{"op":"click","args":[]}', "args", "object", "array"),
    (OPERATION, '{"op":"click","args":null}', "args", "object", "null"),
    (CALL, '{"tool":"browser","op":"click","args":{"target":{"ref":1}}}', "args.target.ref", "string", "integer 1"),
    (OUTGOING, '{"payload":[]}', "payload", "object", "array"),
    (OUTGOING, '{"payload":{"a":{"b":[1e400]}}}', "payload.a.b[0]", "finite number", None),
    (OUTGOING, '{"payload":{"a":9007199254740993}}', "payload.a", None, "integer 9007199254740993"),
    (OUTGOING, '{"payload":{"\\udfff":1}}', None, "string", None),
]


@pytest.mark.parametrize(
    ("message_type", "text", "path", "expected", "got"), WRONG, ids=[each[1][:60] for each in WRONG]
)
def test_wrong_types(
    message_type: Descriptor, text: str, path: str | None, expected: str | None, got: str | None
) -> None:
    mismatch = refused(message_type, text)
    if path is not None:
        assert mismatch.path == path
    if expected is not None:
        assert mismatch.expected == expected
    if got is not None:
        assert mismatch.got == got
    refusal = mismatch.refusal()
    assert refusal.code == ErrorCode.ERROR_CODE_INVALID_ARGUMENTS
    (violation,) = cast("list[dict[str, object]]", refusal.details["fields"])
    assert violation["field"] == mismatch.path
    # It can be told whatever was in it.
    json.dumps(refusal.details, ensure_ascii=False).encode()
    refusal.message.encode()


UNKNOWN: list[tuple[Descriptor, str, str, list[str] | None]] = [
    (CREATE, '{"capabilites":[]}', "capabilites", ["capabilities"]),
    (CREATE, '{"limits":{"max_action":1}}', "limits.max_action", ["max_actions"]),
    (CREATE, '{"capabilities":[{"click":{"allowed_domains":[]}}]}', "capabilities[0].click.allowed_domains", []),
    (CREATE, '{"capabilities":[{"navigate":{"domains":[]}}]}', "capabilities[0].navigate.domains", None),
    (OPERATION, '{"op":"clik","args":{}}', "op", ["click"]),
    (OPERATION, '{"op":"click","args":{},"x":1}', "x", []),
    (OPERATION, '{"click":{}}', "click", []),
    (OPERATION, '{"op":"click","args":{"target":{"rf":"e1"}}}', "args.target.rf", ["ref"]),
    (OPERATION, '{"op":"click","args":{"button":"LEFT"}}', "args.button", []),
    (OPERATION, '{"op":"click","args":{"button":"lef"}}', "args.button", ["left"]),
    (CALL, '{"tool":"browsers","op":"click"}', "tool", ["browser"]),
    (CALL, '{"tool":"search","op":"click"}', "op", []),
]


@pytest.mark.parametrize(("message_type", "text", "path", "near"), UNKNOWN, ids=[each[1] for each in UNKNOWN])
def test_unknown_names(message_type: Descriptor, text: str, path: str, near: list[str] | None) -> None:
    mismatch = refused(message_type, text)
    assert mismatch.path == path
    assert "unknown" in mismatch.problem
    if near is not None:
        assert mismatch.near[:1] == near


@pytest.mark.parametrize(
    ("message_type", "text", "path"),
    [
        (OPERATION, "{}", "op"),
        (OPERATION, '{"args":{}}', "op"),
        (CALL, '{"op":"click"}', "tool"),
        (CALL, '{"tool":"browser"}', "op"),
    ],
)
def test_missing_names(message_type: Descriptor, text: str, path: str) -> None:
    mismatch = refused(message_type, text)
    assert mismatch.path == path
    assert mismatch.problem.startswith("missing")


def test_two_arms_of_a_oneof() -> None:
    mismatch = refused(TARGET, '{"ref":"e1","selector":"a"}')
    assert mismatch.path == "selector"
    assert "ref and selector exclude each other" in mismatch.problem


def test_two_capabilities_in_one_entry() -> None:
    assert refused(CREATE, '{"capabilities":[{"click":{},"type":{}}]}').path == "capabilities[0]"


def test_a_secret_is_not_repeated() -> None:
    put = secret_service_pb2.PutSecretRequest.DESCRIPTOR
    mismatch = refused(put, '{"value":12345}')
    assert (mismatch.path, mismatch.expected, mismatch.got) == ("value", "string", "integer")
    assert "12345" not in mismatch.refusal().message


def test_nesting_that_a_service_could_not_read_is_refused() -> None:
    deepest = '{"payload":' + '{"a":' * DEEPEST + "1" + "}" * DEEPEST + "}"
    message = read(OUTGOING, deepest)
    assert messages_pb2.OutgoingMessage.FromString(message.SerializeToString()) == message
    assert "nested deeper" in refused(OUTGOING, deepest.replace('{"a":1}', '{"a":{"a":1}}')).problem
    assert "nested deeper" in refused(OUTGOING, '{"payload":{"a":' + "[" * 40 + "]" * 40 + "}}").problem


def test_fields_one_by_one() -> None:
    request = event_service_pb2.ListRecentEventsRequest()
    fields = request.DESCRIPTOR.fields_by_name
    text_decoder(fields["limit"])(request, ["7"])
    text_decoder(fields["subject"])(request, [""])
    field_decoder(fields["category_prefix"])(request, "agent")
    assert request == event_service_pb2.ListRecentEventsRequest(limit=7, category_prefix="agent")


@pytest.mark.parametrize("texts", [["x"], ["1.0"], [" 1"], ["+1"], [""], ["0x1"], ["1", "2"], ["2147483648"], ["٣"]])
def test_texts_that_are_no_integer(texts: list[str]) -> None:
    field = event_service_pb2.ListRecentEventsRequest.DESCRIPTOR.fields_by_name["limit"]
    with pytest.raises(Mismatch):
        text_decoder(field)(event_service_pb2.ListRecentEventsRequest(), texts)


BAD_TEXT = [
    (b'{"a":1,', "line 1 column 8"),
    (b'{"a":\n x}', "line 2 column 2"),
    (b"{'a':1}", "line 1 column 2"),
    (b'{"a":1}{}', "line 1 column 8"),
    (b'{"a":NaN}', "NaN is not JSON"),
    (b'{"a":-Infinity}', "-Infinity is not JSON"),
    (b'{"a":{"b":1,"b":2}}', '"b" stands twice'),
    (b"\xff{}", "not UTF-8 at byte 0"),
    (b"\xef\xbb\xbf{}", "line 1 column 1"),
    (b'{"a":"\x01"}', "control character"),
    (b"[" * 100_000, "nested too deeply"),
    (b'{"a":' + b"1" * 10_000 + b"}", "too many digits"),
    (b"nul", "line 1 column 1"),
]


@pytest.mark.parametrize(("body", "message"), BAD_TEXT, ids=[str(each[0][:20]) for each in BAD_TEXT])
def test_text_that_is_no_json(body: bytes, message: str) -> None:
    with pytest.raises(Refusal) as caught:
        parse(body)
    assert caught.value.code == ErrorCode.ERROR_CODE_INVALID_ARGUMENTS
    assert message in caught.value.message


def test_an_empty_body_is_an_empty_object() -> None:
    assert parse(b"") == {}
    assert parse(b" \r\n") == {}
