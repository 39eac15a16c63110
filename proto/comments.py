"""The contract's comments by full name: what the catalogue, OpenAPI, the CLI and the reference say of each thing.

Generated code does not carry comments, so `generate.py` writes them beside it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator

from google.protobuf.descriptor_pb2 import DescriptorProto, EnumDescriptorProto, FileDescriptorProto, FileDescriptorSet

NAME = "hyperkitty/contract_comments.json"


def comments_json(image: bytes) -> bytes:
    """`{"hyperkitty.browser.v1.ClickOperation.target": "What to act on.", …}` of a FileDescriptorSet with positions."""
    found: dict[str, str] = {}
    for file in FileDescriptorSet.FromString(image).file:
        if file.package.startswith("hyperkitty."):
            names = dict(_names(file))
            for location in file.source_code_info.location:
                name = names.get(tuple(location.path))
                if name and location.leading_comments:
                    found[name] = " ".join(location.leading_comments.split())
    return json.dumps(found, indent=0, sort_keys=True, ensure_ascii=False).encode()


def _names(file: FileDescriptorProto) -> Iterator[tuple[tuple[int, ...], str]]:
    """Source paths (field numbers and places, descriptor.proto) with the full names of what stands there."""
    for place, message in enumerate(file.message_type):
        yield from _message((4, place), message, file.package)
    for place, enum in enumerate(file.enum_type):
        yield from _enum((5, place), enum, file.package)
    for place, service in enumerate(file.service):
        name = f"{file.package}.{service.name}"
        yield (6, place), name
        for number, method in enumerate(service.method):
            yield (6, place, 2, number), f"{name}.{method.name}"


def _message(path: tuple[int, ...], message: DescriptorProto, scope: str) -> Iterator[tuple[tuple[int, ...], str]]:
    name = f"{scope}.{message.name}"
    yield path, name
    for place, field in enumerate(message.field):
        yield (*path, 2, place), f"{name}.{field.name}"
    for place, nested in enumerate(message.nested_type):
        yield from _message((*path, 3, place), nested, name)
    for place, enum in enumerate(message.enum_type):
        yield from _enum((*path, 4, place), enum, name)


def _enum(path: tuple[int, ...], enum: EnumDescriptorProto, scope: str) -> Iterator[tuple[tuple[int, ...], str]]:
    name = f"{scope}.{enum.name}"
    yield path, name
    for place, value in enumerate(enum.value):
        yield (*path, 2, place), f"{name}.{value.name}"
