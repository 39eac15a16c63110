"""The JSON forms of SPEC §11, written out."""

from __future__ import annotations

import math

import pytest
from google.protobuf.message import Message
from hyperkitty.agent.v1 import agent_service_pb2, agents_pb2, grants_pb2
from hyperkitty.auth.v1 import identity_pb2, token_service_pb2
from hyperkitty.browser.v1 import browser_service_pb2, operations_pb2, sessions_pb2, targets_pb2
from hyperkitty.events.v1 import event_service_pb2
from hyperkitty.health.v1 import health_pb2
from hyperkitty.operations.v1 import errors_pb2, operation_service_pb2
from hyperkitty.search.v1 import search_pb2

from gateway.transcoding import forms
from gateway.transcoding.encode import encode_present, encoder, envelope_encoder, field_encoder
from gateway.transcoding.json_text import dump

EMPTY_TAB = (
    '"session_id":"","url":"","title":"","status":"unspecified","opener_tab_id":"","dialog":null,'
    '"created_at_ms":0,"updated_at_ms":0'
)
EMPTY_CHANGED = (
    '{"url":"http://a/","title":"","navigation":null,"dialog":null,"new_tabs":[],"download":null,"synthetic":false}'
)


def written(message: Message) -> str:
    return dump(encoder(forms.type_of(message))(message)).decode()


def test_scalars_enums_defaults_and_lists() -> None:
    limits = agents_pb2.AgentLimits(max_actions=3, max_execution_ms=2**62)
    assert written(limits) == (
        '{"max_actions":3,"max_execution_ms":4611686018427387904,"max_network_requests":0,"max_search_iterations":0,'
        '"max_repeats":0}'
    )
    policy = sessions_pb2.NetworkPolicy(allowed_domains=["a.b"])
    assert written(policy) == '{"allowed_domains":["a.b"],"blocked_domains":[],"egress_domains":[]}'
    tab = sessions_pb2.BrowserTab(tab_id="tab_1", status=sessions_pb2.TAB_STATUS_LOADING)
    assert '"status":"loading"' in written(tab)
    cookie = operations_pb2.Cookie(same_site=operations_pb2.SAME_SITE_STRICT)
    assert '"same_site":"strict"' in written(cookie)


def test_an_enum_number_from_a_newer_service_is_shown_as_it_is() -> None:
    tab = sessions_pb2.BrowserTab()
    tab.ParseFromString(b"\x28\x63")
    assert '"status":99' in written(tab)


def test_bytes_are_base64() -> None:
    assert '"content":"/wA="' in written(operations_pb2.UploadFile(content=b"\xff\x00"))


def test_struct_is_the_json_that_it_holds() -> None:
    error = errors_pb2.Error(code=errors_pb2.ERROR_CODE_STALE_REF)
    error.details.update({"a": [1, 2.5, None, True, {"b": "c"}], "empty": {}, "none": []})
    whole = encoder(error.DESCRIPTOR)(error)
    assert whole == {
        "code": "stale_ref",
        "message": "",
        "hint": "",
        "details": {"a": [1, 2.5, None, True, {"b": "c"}], "empty": {}, "none": []},
    }


def test_maps() -> None:
    health = health_pb2.ServiceHealth(counts={"sessions": 2**40}, facts={"sandbox": "on"})
    assert '"counts":{"sessions":1099511627776},"facts":{"sandbox":"on"}' in written(health)
    document = search_pb2.SourceDocument()
    document.citation_map["res_1"].start = 4
    assert '"citation_map":{"res_1":{"start":4,"end":0}}' in written(document)


def test_unset_messages_and_optionals_are_null_and_unset_arms_absent() -> None:
    asked = event_service_pb2.StreamEventsRequest(category_prefix="agent", since_ms=0)
    assert written(asked) == '{"category_prefix":"agent","subject":"","after_sequence":null,"since_ms":0}'
    # Beside a flattened field there is no null: there the object is another message's.
    assert written(targets_pb2.Target(ref="e1")) == '{"ref":"e1","name":"","exact":false}'
    assert written(targets_pb2.Target(text="", nth=0)) == '{"text":"","name":"","nth":0,"exact":false}'


def test_op_args_and_tool() -> None:
    operation = operations_pb2.BrowserOperation()
    operation.close_session.session_id = "sess_1"
    assert written(operation) == '{"op":"close_session","args":{"session_id":"sess_1","timeout_ms":0}}'
    call = agents_pb2.ToolCall(browser=operation)
    assert written(call) == '{"tool":"browser","op":"close_session","args":{"session_id":"sess_1","timeout_ms":0}}'


def test_a_result_is_its_arm_with_what_changed_beside_it() -> None:
    result = operations_pb2.BrowserResult()
    result.open_tab.tab_id = "tab_1"
    assert written(result) == f'{{"tab_id":"tab_1",{EMPTY_TAB}}}'
    result.changed.url = "http://a/"
    assert written(result) == f'{{"tab_id":"tab_1",{EMPTY_TAB},"changed":{EMPTY_CHANGED}}}'


def test_through_an_agent_the_action_id_stands_in_the_envelope() -> None:
    answer = agent_service_pb2.ActResponse(action_id="act_1")
    answer.browser.open_tab.tab_id = "tab_1"
    answer.browser.changed.url = "http://a/"
    assert written(answer) == f'{{"tab_id":"tab_1",{EMPTY_TAB},"changed":{EMPTY_CHANGED}}}'
    envelope = envelope_encoder(answer.DESCRIPTOR)
    assert envelope is not None
    assert envelope(answer) == {"action_id": "act_1", "warning": ""}
    assert envelope_encoder(operations_pb2.BrowserResult.DESCRIPTOR) is None


def test_a_flattened_field_gives_its_fields() -> None:
    answer = browser_service_pb2.OpenTabResponse()
    answer.tab.tab_id = "tab_1"
    assert written(answer) == f'{{"tab_id":"tab_1",{EMPTY_TAB}}}'
    made = token_service_pb2.CreateTokenResponse(token="hk_x")
    made.info.token_id = "tok_1"
    made.info.scopes.CopyFrom(identity_pb2.TokenScopes(approve=True))
    assert written(made) == (
        '{"token_id":"tok_1","tenant":"","scopes":{"root":false,"capabilities":[],"services":[],"approve":true,'
        '"metrics":false},"agent_id":"","expires_at_ms":0,"rate_per_minute":0,"created_at_ms":0,"created_by":"",'
        '"token":"hk_x"}'
    )


@pytest.mark.parametrize(
    ("grant", "text"),
    [
        (grants_pb2.Grant(capability="click"), '"click"'),
        (grants_pb2.Grant(capability="click", ask=True), '{"click":{"ask":true}}'),
        (grants_pb2.Grant(capability="navigate"), '"navigate"'),
        (
            grants_pb2.Grant(capability="navigate", navigate=grants_pb2.NavigateScope(allowed_domains=["example.com"])),
            '{"navigate":{"allowed_domains":["example.com"]}}',
        ),
        (
            grants_pb2.Grant(capability="get_cookies", ask=True, get_cookies=grants_pb2.CookieScope(values=True)),
            '{"get_cookies":{"values":true,"ask":true}}',
        ),
    ],
)
def test_grants(grant: grants_pb2.Grant, text: str) -> None:
    assert written(grant) == text


def test_streams_hold_only_the_parts_that_are_set() -> None:
    beat = event_service_pb2.StreamEventsResponse()
    beat.heartbeat.last_sequence = 7
    assert encode_present(beat) == {"heartbeat": {"last_sequence": 7}}
    chunk = operation_service_pb2.ReadArtifactResponse(chunk=b"a")
    assert encode_present(chunk) == {"chunk": "YQ=="}


def test_response_body() -> None:
    answer = agent_service_pb2.GetAgentResponse()
    answer.agent.agent_id = "agent_1"
    whole = field_encoder(answer.DESCRIPTOR.fields_by_name["agent"])(answer)
    assert isinstance(whole, dict)
    assert whole["agent_id"] == "agent_1"
    listed = agent_service_pb2.ListAgentsResponse()
    assert field_encoder(listed.DESCRIPTOR.fields_by_name["agents"])(listed) == []


def test_what_json_has_no_form_for_is_null() -> None:
    assert dump({"a": math.nan, "b": math.inf}) == b'{"a":null,"b":null}'
