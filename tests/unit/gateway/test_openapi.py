"""The OpenAPI document: valid, whole, and true of what transcoding writes and reads."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any, cast

import jsonschema
import openapi_spec_validator
import pytest
from google.protobuf import message_factory
from google.protobuf.descriptor import Descriptor, OneofDescriptor
from google.protobuf.message import Message
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gateway.contract import linked_services, rpcs
from gateway.openapi.document import document
from gateway.routing.routes import Kind, Route, routes
from gateway.transcoding import forms
from gateway.transcoding.forms import OneofForm
from gateway.transcoding.json_text import dump
from tests.unit.gateway.messages import messages

TABLE = routes(rpcs(linked_services()))
DOCUMENT: dict[str, Any] = json.loads(dump(document(TABLE, "1.2.3")))
OPERATIONS = {operation["operationId"]: operation for path in DOCUMENT["paths"].values() for operation in path.values()}
SESSION = "sess_01ARZ3NDEKTSV4RRFFQ69G5FAV"


def name_of(route: Route) -> str:
    word = "".join(f"_{each.lower()}" if each.isupper() else each for each in route.rpc.method.name).lstrip("_")
    return f"{word}_socket" if route.kind is Kind.WEBSOCKET else word


def faults(schema: dict[str, Any], value: Any) -> list[str]:
    """What does not agree with a schema of the document."""
    validator: Any = jsonschema.Draft202012Validator({**schema, "components": DOCUMENT["components"]})
    return [f"{list(each.absolute_path)}: {each.message[:300]}" for each in validator.iter_errors(value)]


def valid(schema: dict[str, Any], value: object) -> bool:
    return faults(schema, value) == []


def sent(operation: str, body: object) -> bool:
    return valid(OPERATIONS[operation]["requestBody"]["content"]["application/json"]["schema"], body)


def test_the_document_is_openapi() -> None:
    openapi_spec_validator.validate(DOCUMENT)
    assert DOCUMENT["info"]["version"] == "1.2.3"


def test_every_route_is_in_it() -> None:
    for route in TABLE:
        path = "/" + "/".join("{}" if segment is None else segment for segment in route.template.segments)
        known = {
            "/".join("{}" if part.startswith("{") else part for part in each.split("/")): set(verbs)
            for each, verbs in DOCUMENT["paths"].items()
        }
        assert route.verb.lower() in known[path], path
        assert name_of(route) in OPERATIONS


def test_everything_is_described() -> None:
    assert [name for name, operation in OPERATIONS.items() if not operation.get("description")] == []


def _is_result(oneof: OneofDescriptor) -> bool:
    return forms.oneof_form(oneof) is OneofForm.FLATTEN_ARM


def is_whole(message: Message) -> bool:
    """Whether it holds a result wherever it must: a service never answers without."""
    descriptor = forms.type_of(message)
    if any(_is_result(oneof) and message.WhichOneof(oneof.name) is None for oneof in descriptor.oneofs):
        return False
    singular = [each for each in descriptor.fields if each.message_type is not None and not each.is_repeated]
    results = [each.name for each in singular if any(_is_result(oneof) for oneof in forms.message_type(each).oneofs)]
    if any(not message.HasField(name) and descriptor.fields_by_name[name].containing_oneof is None for name in results):
        return False
    return all(is_whole(each) for each in _held(message))


def _held(message: Message) -> Iterator[Message]:
    """Every message in its fields, those of lists too."""
    for field, value in message.ListFields():
        if field.message_type is None or forms.is_map(field):
            continue
        yield from cast("Iterable[Message]", value if field.is_repeated else [value])


ANSWERED = [
    (route, OPERATIONS[name_of(route)]["responses"]["200"]["content"]["application/json"]["schema"])
    for route in TABLE
    if route.kind is Kind.UNARY
]


@pytest.mark.parametrize(("route", "schema"), ANSWERED, ids=[name_of(route) for route, _ in ANSWERED])
@settings(max_examples=5, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(data=st.data())
def test_answers_are_as_it_says(route: Route, schema: dict[str, Any], data: st.DataObject) -> None:
    response = data.draw(messages(route.rpc.method.output_type).filter(is_whole))
    result = json.loads(dump(route.result(response)))
    if route.is_operation:
        schema = schema["properties"]["result"]
    assert faults(schema, result) == []


def test_the_examples_of_the_specification_are_requests() -> None:
    assert sent("create_agent", {"capabilities": ["create_session", "navigate", "open_tab", "read_page"]})
    assert sent("create_agent", {"capabilities": [{"navigate": {"allowed_domains": ["example.com"]}}]})
    assert sent("create_agent", {"capabilities": [{"click": {"ask": True}}], "limits": {"max_actions": 3}})
    assert sent("act", {"tool": "browser", "op": "create_session", "args": {}})
    url = "https://example.com"
    assert sent("act", {"tool": "browser", "op": "open_tab", "args": {"session_id": SESSION, "url": url}})
    assert sent("execute", {"op": "click", "args": {"target": {"ref": "e12"}}})
    assert sent("execute", {"op": "click", "args": {"target": {"role": "button", "name": "Go"}}})
    assert sent("execute", {"op": "click", "args": {"target": {"point": {"x": 1, "y": 2}}}}) or sent(
        "execute", {"op": "click", "args": {"target": {"x": 1, "y": 2}}}
    )
    policy = {"allowed_domains": ["example.com"], "egress_domains": []}
    assert sent("create_session", {"profile": "", "settings": {}, "network_policy": policy})


REFUSED: list[tuple[str, dict[str, object]]] = [
    ("create_agent", {"capabilities": [{"navigate": {"domains": []}}]}),
    ("create_agent", {"capabilities": ["Click!"]}),
    ("create_agent", {"limits": {"max_actions": -1}}),
    ("create_agent", {"tenant": "mine"}),
    ("act", {"tool": "browser", "op": "evaluate", "args": {}}),
    ("act", {"tool": "shell", "op": "run", "args": {}}),
    ("execute", {"op": "click", "args": {"target": {"ref": 12}}}),
    ("execute", {"args": {}}),
]


@pytest.mark.parametrize(("operation", "body"), REFUSED)
def test_what_is_refused_is_no_request(operation: str, body: object) -> None:
    assert not sent(operation, body)


def test_numbers_of_64_bits_are_numbers_and_enums_words() -> None:
    event = DOCUMENT["components"]["schemas"]["Event"]["properties"]
    assert event["sequence"]["type"] == "integer"
    assert "created" in DOCUMENT["components"]["schemas"]["Agent"]["properties"]["state"]["enum"]


def test_fresh_messages_have_the_form_it_says() -> None:
    """An empty message has every field that is told as required."""
    for route in TABLE:
        if route.kind is Kind.UNARY and not route.is_operation:
            descriptor: Descriptor = route.rpc.method.output_type
            empty = message_factory.GetMessageClass(descriptor)()
            schema = OPERATIONS[name_of(route)]["responses"]["200"]["content"]["application/json"]["schema"]
            assert valid(schema, json.loads(dump(route.result(empty)))), name_of(route)
