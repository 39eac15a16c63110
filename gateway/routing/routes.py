"""The route table: made from the contract, never by hand."""

from __future__ import annotations

import enum
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from gateway.contract import Rpc
from gateway.routing.field_names import FieldNames
from gateway.routing.http_rule import HttpRule, http_rules
from gateway.routing.request import RequestReader
from gateway.routing.router import Router
from gateway.routing.template import Template, parse_template
from gateway.transcoding import forms
from gateway.transcoding.encode import Encode, EncodeObject, encoder, envelope_encoder, field_encoder
from gateway.transcoding.forms import FormError

_VERBS = ("get", "put", "post", "delete", "patch")
# What one JSON body may hold, in bytes. 16 MiB is what an upload of ten files of 1 MiB takes in base64.
JSON_LIMIT = 1 << 20
UPLOAD_LIMIT = 16 << 20


class Kind(enum.Enum):
    """How the answer of a route travels."""

    UNARY = "one JSON object"
    NDJSON = "one JSON object a line"
    DOWNLOAD = "the bytes themselves"
    WEBSOCKET = "one JSON object a message"


@dataclass(frozen=True, slots=True)
class Route:
    """One HTTP binding of an rpc."""

    verb: str
    template: Template
    rpc: Rpc
    kind: Kind
    reader: RequestReader
    names: FieldNames
    result: Encode
    envelope: EncodeObject | None
    body_limit: int

    @property
    def is_operation(self) -> bool:
        """Its answer is an Operation's: {operation_id, request_id, status, result | error}."""
        return self.rpc.options.operation

    @property
    def has_status(self) -> bool:
        """Its refusals carry `status: failed` (SPEC §10: every POST and DELETE, and PUT)."""
        return self.verb != "GET"


def routes(rpcs: Iterable[Rpc]) -> list[Route]:
    """Every binding of every rpc; FormError for one that cannot be served as it is written."""
    return [route for rpc in rpcs for route in _routes_of(rpc)]


def router_of(table: Iterable[Route]) -> Router[Route]:
    """The router over a route table."""
    router: Router[Route] = Router()
    for route in table:
        router.add(route.verb, route.template, route)
    return router


def _routes_of(rpc: Rpc) -> Iterator[Route]:
    for rule in http_rules(rpc.method):
        yield _bound(rpc, rule)
    if rpc.options.websocket:
        template = parse_template(rpc.options.websocket)
        reader = RequestReader(rpc, template.variables, "", strict=not rpc.client_streaming)
        yield _route(rpc, "GET", template, Kind.WEBSOCKET, reader, "", "")


def _bound(rpc: Rpc, rule: HttpRule) -> Route:
    verb = rule.verb
    if verb not in _VERBS:
        raise FormError(f"{rpc.name}: the http rule {verb} is not supported")
    if rpc.client_streaming:
        raise FormError(f"{rpc.name}: a client's stream cannot be an HTTP request; give it a websocket")
    template = parse_template(rule.template)
    if verb == "get" and rule.body:
        raise FormError(f"{rpc.name}: GET takes no body")
    kind = Kind.UNARY
    if rpc.server_streaming:
        kind = Kind.DOWNLOAD if rpc.options.download else Kind.NDJSON
    reader = RequestReader(rpc, template.variables, rule.body)
    return _route(rpc, verb.upper(), template, kind, reader, rule.body, rule.response_body)


def _route(
    rpc: Rpc, verb: str, template: Template, kind: Kind, reader: RequestReader, body: str, response_body: str
) -> Route:
    request, response = rpc.method.input_type, rpc.method.output_type
    if response_body and response_body not in response.fields_by_name:
        raise FormError(f"{rpc.name}: {response.full_name} has no field {response_body}")
    takes_bytes = forms.walk(request, lambda field: field.type == field.TYPE_BYTES)
    return Route(
        verb=verb,
        template=template,
        rpc=rpc,
        kind=kind,
        reader=reader,
        names=FieldNames(request, body),
        result=field_encoder(response.fields_by_name[response_body]) if response_body else encoder(response),
        envelope=envelope_encoder(response),
        body_limit=UPLOAD_LIMIT if takes_bytes else JSON_LIMIT,
    )
