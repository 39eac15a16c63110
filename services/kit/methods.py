"""What the contract says of each rpc, worked out once per method (DESIGN §3)."""

from __future__ import annotations

import re
from dataclasses import dataclass

from google.protobuf import descriptor_pool
from google.protobuf.message import Message
from google.protobuf.message_factory import GetMessageClass
from hyperkitty.options.v1 import options_pb2

# Services without a caller identity: they tell nothing of anybody's data (SPEC §2).
OPEN_SERVICES = frozenset(
    {"grpc.health.v1.Health", "grpc.reflection.v1alpha.ServerReflection", "grpc.reflection.v1.ServerReflection"}
)
_WORD = re.compile(r"(?<!^)(?=[A-Z])")


@dataclass(frozen=True)
class MethodFacts:
    """One rpc."""

    path: str
    # `browser` of hyperkitty.browser.v1: what a token's `services` name.
    area: str
    # `create_session` of CreateSession: the kind of its Operation, unless the handler says otherwise.
    kind: str
    is_operation: bool
    scope: options_pb2.Scope.ValueType
    callers: frozenset[str]
    system_callers: frozenset[str]
    streams_requests: bool
    streams_responses: bool
    response_type: type[Message]


class NotInContract(LookupError):
    """No descriptor of this service is loaded."""


def snake_case(name: str) -> str:
    """`CreateSession` → `create_session`."""
    return _WORD.sub("_", name).lower()


def methods_of(service: str) -> list[MethodFacts]:
    """Every rpc of a service by its full name. Raises NotInContract."""
    try:
        descriptor = descriptor_pool.Default().FindServiceByName(service)
    except KeyError as error:
        raise NotInContract(service) from error
    found: list[MethodFacts] = []
    for method in descriptor.methods:
        options = method.GetOptions().Extensions[options_pb2.method]
        found.append(
            MethodFacts(
                path=f"/{service}/{method.name}",
                area=service.split(".")[1] if service.startswith("hyperkitty.") else service,
                kind=snake_case(method.name),
                is_operation=options.operation,
                scope=options.scope,
                callers=frozenset(options.callers),
                system_callers=frozenset(options.system_callers),
                streams_requests=method.client_streaming,
                streams_responses=method.server_streaming,
                response_type=GetMessageClass(method.output_type),
            )
        )
    return found
