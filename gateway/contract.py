"""The linked contract: every service of the generated packages, and where it is served."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterator

import hyperkitty
from google.protobuf.descriptor import FileDescriptor, ServiceDescriptor


def linked_services() -> list[ServiceDescriptor]:
    """The services of every `hyperkitty.<area>.v1.*_service_pb2`, by full name."""
    services = [service for file in _files() for service in file.services_by_name.values()]
    return sorted(services, key=lambda service: service.full_name)


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
