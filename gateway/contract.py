"""The linked contract as the gateway serves it: every rpc of the generated packages, and where it is served."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

import hyperkitty
from google.protobuf import message_factory
from google.protobuf.descriptor import FileDescriptor, MethodDescriptor, ServiceDescriptor
from google.protobuf.message import Message
from hyperkitty.options.v1 import options_pb2

GATEWAY = "gateway"
# Packages without a process of their own (SPEC §2); every other area's process has the area's name.
_SERVED_BY = {"events": "health", "operations": "health"}


@dataclass(frozen=True, slots=True)
class Rpc:
    """One rpc: its types, its options, and the process that serves it."""

    path: str
    """`/package.Service/Method`, as gRPC names it."""
    area: str
    """The package's area, as tokens name services: `browser`, `events`, …"""
    process: str
    """The process that serves it: `browser`, `health`, `gateway`, …"""
    request_class: type[Message]
    response_class: type[Message]
    client_streaming: bool
    server_streaming: bool
    options: options_pb2.MethodOptions
    method: MethodDescriptor = field(repr=False)

    @property
    def answers_secret(self) -> bool:
        """Its answer holds a secret that is shown once: no copy of the answer may be kept."""
        return any(field.GetOptions().debug_redact for field in self.method.output_type.fields)

    @property
    def name(self) -> str:
        """`Service.Method`, for messages and metrics."""
        return f"{self.method.containing_service.name}.{self.method.name}"


def rpcs(services: Iterable[ServiceDescriptor]) -> list[Rpc]:
    """The rpcs of `services`, in the contract's order."""
    return [_rpc(method) for service in services for method in service.methods]


def linked_services() -> list[ServiceDescriptor]:
    """The services of every `hyperkitty.<area>.v1.*_service_pb2`, by full name."""
    services = [service for file in _files() for service in file.services_by_name.values()]
    return sorted(services, key=lambda service: service.full_name)


def _rpc(method: MethodDescriptor) -> Rpc:
    service = method.containing_service
    # A copy: what GetOptions returns belongs to the descriptor.
    options = options_pb2.MethodOptions()
    options.CopyFrom(method.GetOptions().Extensions[options_pb2.method])
    area = service.file.package.split(".")[1] if "." in service.file.package else service.file.package
    return Rpc(
        path=f"/{service.full_name}/{method.name}",
        area=area,
        process=GATEWAY if options.gateway else _SERVED_BY.get(area, area),
        request_class=message_factory.GetMessageClass(method.input_type),
        response_class=message_factory.GetMessageClass(method.output_type),
        client_streaming=method.client_streaming,
        server_streaming=method.server_streaming,
        options=options,
        method=method,
    )


def _files() -> Iterator[FileDescriptor]:
    # Areas only: clients/python also holds the client and the CLI, which a server must not import.
    for area in pkgutil.iter_modules(hyperkitty.__path__):
        if not area.ispkg:
            continue
        package = f"hyperkitty.{area.name}.v1"
        try:
            versioned = importlib.import_module(package)
        except ModuleNotFoundError:
            continue
        for module in pkgutil.iter_modules(versioned.__path__):
            if module.name.endswith("_service_pb2"):
                yield importlib.import_module(f"{package}.{module.name}").DESCRIPTOR
