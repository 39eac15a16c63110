"""The OpenAPI 3.1 document of a route table."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import cast

from google.protobuf.descriptor import Descriptor, FieldDescriptor
from hyperkitty.operations.v1 import errors_pb2

from gateway.openapi.bounds import Schema, is_required
from gateway.openapi.schemas import Schemas, described, scalar
from gateway.routing.http_rule import http_rules
from gateway.routing.request import WHOLE
from gateway.routing.routes import Kind, Route
from gateway.transcoding import forms
from services.kit.json_values import JsonValue

PATH = "/api/openapi.json"
_WORD = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_REQUEST_ID: Schema = {"type": "string", "pattern": "^[A-Za-z0-9._:-]{1,64}$"}
_OPERATION_ID: Schema = {"type": "string", "pattern": "^op_[0-9A-HJKMNP-TV-Z]{26}$"}
_PROBES: dict[str, str] = {
    "/livez": "Whether the gateway lives; open without a token.",
    "/readyz": "Whether the gateway and the services behind it serve; open without a token.",
    "/metrics": "Prometheus metrics; needs a token with the scope metrics.",
    PATH: "This document.",
}


def document(table: Iterable[Route], version: str) -> Schema:
    """The document."""
    return _Document().build(table, version)


class _Document:
    def __init__(self) -> None:
        self._sent = Schemas(sent=True)
        self._answered = Schemas(sent=False)

    def build(self, table: Iterable[Route], version: str) -> Schema:
        paths: dict[str, Schema] = {path: {"get": _probe(path, about)} for path, about in _PROBES.items()}
        for route in table:
            paths.setdefault(_path(route), {})[route.verb.lower()] = self._operation(route)
        error = self._answered.of(errors_pb2.Error.DESCRIPTOR)
        components = {**self._sent.components, **self._answered.components}
        components["Failure"] = {
            "type": "object",
            "description": "What a call that was refused or failed is answered with.",
            "properties": {
                "operation_id": _OPERATION_ID,
                "request_id": _REQUEST_ID,
                "status": {"const": "failed", "description": "Of everything but GET."},
                "error": error,
            },
            "required": ["request_id", "error"],
        }
        return {
            "openapi": "3.1.0",
            "info": {
                "title": "HyperKitty",
                "version": version,
                "description": "Real web browsers for agents, safely. Generated from the contract.",
            },
            "security": [{"bearer": []}],
            "paths": cast("JsonValue", dict(sorted(paths.items()))),
            "components": {
                "schemas": dict(sorted(components.items())),
                "securitySchemes": {"bearer": {"type": "http", "scheme": "bearer"}},
            },
        }

    def _operation(self, route: Route) -> Schema:
        method = route.rpc.method
        name = _WORD.sub("_", method.name).lower()
        parameters = [*self._path_parameters(route), *self._query_parameters(route)]
        if route.is_operation and not route.rpc.answers_secret:
            parameters.append(_IDEMPOTENCY_KEY)
        operation: Schema = {
            "operationId": name if route.kind is not Kind.WEBSOCKET else f"{name}_socket",
            "tags": [route.rpc.area],
            **described(method.full_name),
            "parameters": cast("JsonValue", parameters),
            "responses": {**self._answer(route), "4XX": _FAILED, "5XX": _FAILED},
        }
        if route.reader.takes_body:
            operation["requestBody"] = self._body(route)
        return operation

    def _path_parameters(self, route: Route) -> list[Schema]:
        return [
            {"name": _last(path), "in": "path", "required": True, **_parameter(_resolved(route, path))}
            for path in route.template.variables
        ]

    def _query_parameters(self, route: Route) -> list[Schema]:
        body = _body_of(route)
        if body == WHOLE:
            return []
        taken = {path.partition(".")[0] for path in route.template.variables} | {body}
        fields = [each for each in _request(route).fields if each.name not in taken and not forms.is_message(each)]
        return [{"name": field.name, "in": "query", **_parameter(field)} for field in fields]

    def _body(self, route: Route) -> Schema:
        request, body = _request(route), _body_of(route)
        if body == WHOLE:
            fields = [field for field in request.fields if field.name not in route.template.variables]
            schema = self._sent.object(request, fields)
            required = any(is_required(field) for field in fields)
        else:
            field = request.fields_by_name[body]
            inner = forms.message_type(field)
            schema = self._sent.of(inner)
            in_path = {_last(path) for path in route.template.variables}
            required = any(is_required(each) and each.name not in in_path for each in inner.fields)
        return {"required": required, "content": {"application/json": {"schema": schema}}}

    def _answer(self, route: Route) -> Schema:
        if route.kind is Kind.WEBSOCKET:
            schema = self._answered.of(route.rpc.method.output_type)
            about = "Switches to a WebSocket, on which each message is one JSON object of this form."
            return {"101": {"description": about, "content": {"application/json": {"schema": schema}}}}
        if route.kind is Kind.DOWNLOAD:
            return {"200": _content("The bytes.", "application/octet-stream", {})}
        result = self._result(route)
        if route.kind is Kind.NDJSON:
            return {"200": _content("One JSON object a line, of this form.", "application/x-ndjson", result)}
        if not route.is_operation:
            return {"200": _content("What was asked for.", "application/json", result)}
        return {"200": _content("The operation succeeded.", "application/json", self._envelope(route, result))}

    def _result(self, route: Route) -> Schema:
        response = route.rpc.method.output_type
        name = next((rule.response_body for rule in http_rules(route.rpc.method) if rule.response_body), "")
        if not name:
            return self._answered.of(response)
        field = response.fields_by_name[name]
        if forms.is_message(field) and not field.is_repeated:
            return self._answered.of(forms.message_type(field))
        return self._answered.field(field)

    def _envelope(self, route: Route, result: Schema) -> Schema:
        beside = [field for field in route.rpc.method.output_type.fields if forms.is_envelope(field)]
        return {
            "type": "object",
            "properties": {
                "operation_id": _OPERATION_ID,
                **{field.name: self._answered.field(field) for field in beside},
                "request_id": _REQUEST_ID,
                "status": {"const": "succeeded"},
                "result": result,
            },
            "required": ["operation_id", *(field.name for field in beside), "request_id", "status", "result"],
        }


_FAILED: Schema = {
    "description": "Refused or failed: what was wrong, and what to do next.",
    "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Failure"}}},
}
_IDEMPOTENCY_KEY: Schema = {
    "name": "idempotency-key",
    "in": "header",
    "description": "A repeat with this key within 24 hours returns the first answer.",
    "schema": {"type": "string", "minLength": 1, "maxLength": 200, "pattern": "^[!-~]+$"},
}


def _content(about: str, media_type: str, schema: Schema) -> Schema:
    return {"description": about, "content": {media_type: {"schema": schema}}}


def _probe(path: str, about: str) -> Schema:
    operation: Schema = {
        "operationId": path.strip("/").replace("/", "_").replace(".", "_"),
        "tags": ["gateway"],
        "description": about,
        "responses": {"200": {"description": "It does."}, "4XX": _FAILED, "5XX": {"description": "It does not."}},
    }
    return operation if path in ("/metrics", PATH) else {**operation, "security": []}


def _parameter(field: FieldDescriptor) -> Schema:
    single = scalar(field, bounded=True)
    schema: Schema = {"type": "array", "items": single} if field.is_repeated else single
    return {**described(field.full_name), "schema": schema}


def _path(route: Route) -> str:
    names = iter(route.template.variables)
    segments = [f"{{{_last(next(names))}}}" if each is None else each for each in route.template.segments]
    return "/" + "/".join(segments)


def _last(path: str) -> str:
    return path.rpartition(".")[2]


def _resolved(route: Route, path: str) -> FieldDescriptor:
    holder = _request(route)
    *parents, last = path.split(".")
    for parent in parents:
        holder = forms.message_type(holder.fields_by_name[parent])
    return holder.fields_by_name[last]


def _request(route: Route) -> Descriptor:
    return route.rpc.method.input_type


def _body_of(route: Route) -> str:
    verb, text = route.verb.lower(), route.template.text
    return next((rule.body for rule in http_rules(route.rpc.method) if (rule.verb, rule.template) == (verb, text)), "")
