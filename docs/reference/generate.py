"""Write the reference from its sources, the contract and the settings table: `python -m docs.reference.generate`.

With `--check` nothing is written; exit code 1 when a page is not what it would be.
"""

from __future__ import annotations

import importlib
import pkgutil
import sys
from collections.abc import Iterable
from pathlib import Path

import hyperkitty
from google.api import annotations_pb2, http_pb2
from google.protobuf.descriptor import EnumDescriptor, FieldDescriptor, FileDescriptor, MethodDescriptor
from hyperkitty.events.v1 import events_pb2
from hyperkitty.operations.v1 import errors_pb2
from hyperkitty.options.v1 import options_pb2

from services.kit import settings
from services.kit.capabilities import OperationFacts, comments, operations

HERE = Path(__file__).resolve().parent
HEAD = "<!-- Written by `python -m docs.reference.generate`; do not edit. -->\n"
VERBS = ("get", "post", "put", "delete", "patch")


def table(columns: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    """A Markdown table."""
    names = list(columns)
    lines = [names, ["---"] * len(names), *[[cell.replace("|", "\\|") for cell in row] for row in rows]]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines) + "\n"


def operations_page() -> str:
    """Every browser operation: what it needs, what it takes, what it gives."""
    return "\n".join(["# Browser operations\n", *(_operation(facts) for facts in operations().values())])


def _operation(facts: OperationFacts) -> str:
    package = importlib.import_module("hyperkitty.browser.v1.operations_pb2")
    asked = package.BrowserOperation.DESCRIPTOR.fields_by_name[facts.name].message_type
    given = package.BrowserResult.DESCRIPTOR.fields_by_name[facts.name].message_type
    others = ", ".join(f"`{name}`" for name in sorted(facts.covering - {facts.capability}))
    needs = f"`{facts.capability}`" + (f" (or {others})" if others else "")
    kind = f"write; intent `{facts.intent_event}`, outcome" if facts.write else "read; published as"
    return (
        f"## {facts.name}\n\n{comments()[facts.message]} Grant: {needs}. A {kind} `{facts.event}`.\n\n"
        f"{_fields('Argument', asked.fields)}\n{_fields('Result', given.fields)}"
    )


def _fields(title: str, fields: Iterable[FieldDescriptor]) -> str:
    rows = [(f"`{field.name}`", _type(field), comments().get(field.full_name, "")) for field in fields]
    return table((title, "Type", "Meaning"), rows)


def _type(field: FieldDescriptor) -> str:
    if field.message_type is not None and field.message_type.GetOptions().map_entry:
        return "object"
    if field.message_type is not None:
        name = field.message_type.name
    elif field.enum_type is not None:
        name = " · ".join(_enum_texts(field.enum_type))
    else:
        name = _SCALARS[field.type]
    return f"list of {name}" if field.is_repeated else name


_SCALARS = {
    FieldDescriptor.TYPE_STRING: "string",
    FieldDescriptor.TYPE_BOOL: "bool",
    FieldDescriptor.TYPE_BYTES: "base64",
    FieldDescriptor.TYPE_DOUBLE: "number",
    FieldDescriptor.TYPE_INT32: "int32",
    FieldDescriptor.TYPE_INT64: "int64",
}


def _enum_texts(enum: EnumDescriptor) -> list[str]:
    prefix = enum.values_by_number[0].name.removesuffix("UNSPECIFIED")
    return [f"`{value.name.removeprefix(prefix).lower()}`" for value in enum.values if value.number]


def events_page() -> str:
    """Every category of event."""
    rows = [
        (f"`{value.GetOptions().Extensions[options_pb2.category]}`", comments()[_value_name(value.name)])
        for value in events_pb2.EventCategory.DESCRIPTOR.values
        if value.number
    ]
    listed = {row[0] for row in rows}
    declared = {f"`{facts.event}`": f"The operation {facts.name} ended well." for facts in operations().values()}
    rows += [(event, meaning) for event, meaning in declared.items() if event not in listed]
    return "# Event categories\n\n" + table(("Category", "Meaning"), rows)


def _value_name(name: str) -> str:
    return f"hyperkitty.events.v1.EventCategory.{name}"


def errors_page() -> str:
    """Every error code."""
    rows: list[tuple[str, str, str]] = []
    for value in errors_pb2.ErrorCode.DESCRIPTOR.values:
        facts = value.GetOptions().Extensions[options_pb2.error]
        if value.number:
            meaning = comments()[f"hyperkitty.operations.v1.ErrorCode.{value.name}"]
            rows.append((f"`{value.name.removeprefix('ERROR_CODE_').lower()}`", str(facts.http_status), meaning))
    return "# Error codes\n\n" + table(("Code", "HTTP", "Meaning"), rows)


def files() -> list[FileDescriptor]:
    """Every file of the contract, by name."""
    found: dict[str, FileDescriptor] = {}
    for module in pkgutil.walk_packages(hyperkitty.__path__, "hyperkitty."):
        if module.name.endswith("_pb2") and ".buf." not in module.name:
            descriptor = importlib.import_module(module.name).DESCRIPTOR
            found[descriptor.name] = descriptor
    return [found[name] for name in sorted(found)]


def routes_page() -> str:
    """Every route."""
    methods = [method for file in files() for service in file.services_by_name.values() for method in service.methods]
    rows = [
        (f"`{route}`", f"`{method.containing_service.name}.{method.name}`", comments()[method.full_name])
        for method in methods
        for route in _routes(method)
    ]
    return "# Routes\n\n" + table(("Route", "rpc", "Meaning"), sorted(rows, key=_path))


def _path(row: tuple[str, str, str]) -> str:
    return row[0].partition(" ")[2]


def _routes(method: MethodDescriptor) -> list[str]:
    rule = http_pb2.HttpRule()
    # googleapis-common-protos types its extension as a plain FieldDescriptor.
    rule.CopyFrom(method.GetOptions().Extensions[annotations_pb2.http])  # pyright: ignore[reportArgumentType]
    socket = method.GetOptions().Extensions[options_pb2.method].websocket
    found = [f"{verb.upper()} {getattr(rule, verb)}" for verb in VERBS if getattr(rule, verb)]
    return found + ([f"WS {socket}"] if socket else [])


def pages() -> dict[str, str]:
    """Every page by its file name."""
    return {
        "operations.md": operations_page(),
        "events.md": events_page(),
        "errors.md": errors_page(),
        "routes.md": routes_page(),
        "settings.md": "# Settings\n\nRead from the environment; a value that cannot be understood, or a name that is"
        " not in this table, refuses to start.\n\n" + settings.markdown() + "\n",
    }


def main() -> int:
    """Exit code 1 when `--check` finds a stale page."""
    stale = [name for name, text in pages().items() if not _same(HERE / name, HEAD + text)]
    if "--check" not in sys.argv:
        for name in stale:
            (HERE / name).write_text(HEAD + pages()[name])
        return 0
    for name in stale:
        print(f"docs/reference/{name} is stale: run `python -m docs.reference.generate`", file=sys.stderr)
    return 1 if stale else 0


def _same(path: Path, text: str) -> bool:
    return path.exists() and path.read_text() == text


if __name__ == "__main__":
    sys.exit(main())
