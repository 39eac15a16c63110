"""Rules that hold kit and the contract together (DESIGN §2, §3)."""

from __future__ import annotations

import ast
import importlib
import re
from pathlib import Path

import pytest
from google.protobuf import descriptor_pool
from hyperkitty.operations.v1.errors_pb2 import ErrorCode
from hyperkitty.options.v1 import options_pb2

from services.kit import errors
from services.kit.capabilities import operations
from services.kit.categories import catalogue
from services.kit.hints import HINTS
from services.kit.methods import methods_of

TREE = Path(__file__).resolve().parents[2]
CONTRACT = TREE / "clients" / "python" / "hyperkitty"
# Recording calls whose first argument is a category.
RECORDING = {"intent", "start_intent", "outcome", "note", "emit"}
NAME = re.compile(r"\b[a-z]+(?:_[a-z]+)+\b")
# Words of hints that are fields or settings, not operations.
NOT_OPERATIONS = re.compile(r"details\.\w+|settings\.\w+|\w+_domains|\w+_ms|idempotency-key")


def product_files() -> list[Path]:
    return [path for root in ("services", "gateway") for path in sorted((TREE / root).rglob("*.py"))]


def services_of_the_contract() -> list[str]:
    """Full names of every service; their modules are imported for it."""
    names: list[str] = []
    for path in sorted(CONTRACT.rglob("*_service_pb2.py")):
        module = importlib.import_module("hyperkitty." + ".".join(path.relative_to(CONTRACT).with_suffix("").parts))
        names += [service.full_name for service in module.DESCRIPTOR.services_by_name.values()]
    return names


def rpc_names() -> set[str]:
    return {method.kind for service in services_of_the_contract() for method in methods_of(service)}


def test_only_nats_files_import_nats() -> None:
    for path in product_files():
        imported = {
            (alias.name if isinstance(node, ast.Import) else node.module or "").split(".")[0]
            for node in ast.walk(ast.parse(path.read_text()))
            if isinstance(node, ast.Import | ast.ImportFrom)
            for alias in node.names
        }
        allowed = path.parent == TREE / "services" / "kit" and path.name.startswith("nats_")
        assert allowed or "nats" not in imported, path


def test_kit_knows_no_service() -> None:
    for path in (TREE / "services" / "kit").glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ImportFrom) and node.module:
                assert not re.match(r"services\.(?!kit\b)|gateway|deploy|tests", node.module), (path, node.module)


def test_servers_and_channels_are_built_in_one_place() -> None:
    for path in product_files():
        text = path.read_text()
        if path.name != "serving.py" or path.parent.name != "kit":
            assert "aio.server(" not in text, path
        if path.name != "clients.py" or path.parent.name != "kit":
            assert not re.search(r"aio\.(in)?secure_channel\(", text), path


@pytest.mark.parametrize("code", sorted(HINTS))
def test_every_hint_names_an_operation_of_this_product_and_nothing_that_is_none(code: int) -> None:
    known = set(operations()) | rpc_names()
    words = set(re.findall(r"[a-z_]+", HINTS[ErrorCode.ValueType(code)]))
    assert words & known, HINTS[ErrorCode.ValueType(code)]
    rest = NOT_OPERATIONS.sub("", HINTS[ErrorCode.ValueType(code)])
    assert {name for name in NAME.findall(rest) if name not in known} == set()


def test_every_code_has_statuses_and_a_hint() -> None:
    for value in ErrorCode.DESCRIPTOR.values:
        if value.number:
            assert 400 <= errors.http_status(ErrorCode.ValueType(value.number)) < 600
            assert ErrorCode.ValueType(value.number) in HINTS


def test_every_method_says_who_may_call_it() -> None:
    for service in services_of_the_contract():
        for method in methods_of(service):
            assert method.scope != options_pb2.SCOPE_UNSPECIFIED, method.path


def test_categories_in_the_code_are_in_the_catalogue() -> None:
    for path in product_files():
        for node in ast.walk(ast.parse(path.read_text())):
            if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute) or not node.args:
                continue
            first, owner = node.args[0], node.func.value
            is_record = isinstance(owner, ast.Name) and owner.id == "record" and node.func.attr in RECORDING
            if is_record and isinstance(first, ast.Constant):
                assert first.value in catalogue(), (path, first.value)


def test_the_pool_holds_the_whole_contract() -> None:
    for service in services_of_the_contract():
        assert descriptor_pool.Default().FindServiceByName(service).full_name == service
