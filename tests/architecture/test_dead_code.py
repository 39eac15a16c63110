"""Nothing in the product is used by nobody. Fields of messages, structs and enums are data, and not judged here."""

from __future__ import annotations

import importlib
import re
from pathlib import Path

from vulture.core import Vulture

TREE = Path(__file__).resolve().parents[2]
ROOTS = ("services", "gateway", "deploy", "clients/python/hyperkitty", "proto")
KINDS = {"function", "class", "method", "property", "import", "unreachable_code"}
# Called by a library that finds them by name.
CALLED_BY_NAME = {
    "do_GET", "do_POST", "do_HEAD", "log_message",  # http.server
    "connection_made", "connection_lost", "data_received", "datagram_received", "eof_received", "error_received",
    "pause_writing", "resume_writing",  # asyncio protocols
    "capture_signals",  # uvicorn
    "intercept_service", "intercept_unary_unary", "intercept_unary_stream", "intercept_stream_unary",
    "intercept_stream_stream",  # grpc.aio interceptors
    "model_config", "settings_customise_sources",  # pydantic
}  # fmt: skip
# CDP's tables are kept whole: one definition a command, whether or not an operation sends it yet.
TABLES = re.compile(r"/services/browser/cdp/domains/\w+\.py$")
GENERATED = ["*_pb2.py", "*_pb2_grpc.py"]


def rpc_names() -> set[str]:
    """Methods of the contract's servicers: grpc calls them."""
    names: set[str] = set()
    for stub in sorted((TREE / "clients" / "python").rglob("*_pb2.py")):
        module = ".".join(stub.relative_to(TREE / "clients" / "python").with_suffix("").parts)
        for service in importlib.import_module(module).DESCRIPTOR.services_by_name.values():
            names.update(method.name for method in service.methods)
    return names


def test_everything_is_used() -> None:
    scanner = Vulture(
        ignore_names=sorted(CALLED_BY_NAME | rpc_names()), ignore_decorators=["@handles*", "@*validator*", "@pytest.*"]
    )
    scanner.scavenge(  # pyright: ignore[reportUnknownMemberType]
        [str(TREE / root) for root in (*ROOTS, "tests")], exclude=GENERATED
    )
    unused = [
        f"{item.filename.relative_to(TREE)}:{item.first_lineno} {item.typ} {item.name}"
        for item in scanner.get_unused_code(min_confidence=60)
        if item.typ in KINDS
        and not TABLES.search(item.filename.as_posix())
        and "/tests/" not in item.filename.as_posix()
    ]
    assert not unused, "\n".join(unused)
