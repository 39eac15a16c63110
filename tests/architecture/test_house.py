"""House rules that a reader of one file cannot see: sizes, names, who may touch what (DESIGN sections 2 and 6)."""

from __future__ import annotations

import ast
import re
import statistics
import subprocess
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

TREE = Path(__file__).resolve().parents[2]
PRODUCT = ("services", "gateway", "deploy", "clients/python/hyperkitty", "proto")
GENERATED = re.compile(r"_pb2(_grpc)?\.pyi?$|/hyperkitty/\w+/(\w+/)?__init__\.py$")
FILE_LINES = 500
MEDIAN_LINES = 150
FUNCTION_LINES = 60
# Names that say nothing about what is inside.
EMPTY_NAMES = {"utils", "util", "helpers", "helper", "manager", "managers", "common", "misc"}


@cache
def sources(*roots: str) -> tuple[Path, ...]:
    """Hand-written Python files below the roots."""
    found = [path for root in roots for path in sorted((TREE / root).rglob("*.py"))]
    return tuple(path for path in found if not GENERATED.search(path.as_posix()))


def name_of(path: Path) -> str:
    return path.relative_to(TREE).as_posix()


@cache
def tree_of(path: Path) -> ast.Module:
    return ast.parse(path.read_text())


def imports_of(path: Path) -> set[str]:
    """Modules a file names in its imports, wherever in the file."""
    found: set[str] = set()
    for node in ast.walk(tree_of(path)):
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and node.level == 0:
            found.add(node.module)
    return found


def calls_of(path: Path) -> Iterator[str]:
    """Dotted names of what a file calls."""
    for node in ast.walk(tree_of(path)):
        if isinstance(node, ast.Call):
            yield ast.unparse(node.func)


def test_no_file_is_over_the_hard_stop_and_most_are_small() -> None:
    lines = {name_of(path): len(path.read_text().splitlines()) for path in sources(*PRODUCT, "tests")}
    assert not {name: count for name, count in lines.items() if count > FILE_LINES}
    product = [count for name, count in lines.items() if not name.startswith("tests/")]
    assert statistics.median(product) < MEDIAN_LINES


def test_a_function_fits_a_screen() -> None:
    long = [
        f"{name_of(path)}:{node.lineno} {node.name} ({node.end_lineno - node.lineno + 1} lines)"
        for path in sources(*PRODUCT)
        for node in ast.walk(tree_of(path))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and node.end_lineno is not None
        and node.end_lineno - node.lineno + 1 > FUNCTION_LINES
    ]
    assert not long


def test_names_say_what_is_inside() -> None:
    parts = {(part, name_of(path)) for path in sources(*PRODUCT, "tests") for part in name_of(path).split("/")}
    assert not [path for part, path in parts if part.removesuffix(".py") in EMPTY_NAMES]


def test_packages_say_nothing_but_what_they_are() -> None:
    """A folder's __init__.py is empty or a docstring."""
    for path in sources(*PRODUCT):
        if path.name == "__init__.py":
            body = tree_of(path).body
            assert len(body) <= 1, name_of(path)
            assert not body or (isinstance(body[0], ast.Expr) and ast.get_docstring(tree_of(path))), name_of(path)


def test_only_kit_speaks_nats() -> None:
    allowed = re.compile(r"services/kit/nats_\w+\.py$")
    others = [name_of(path) for path in sources(*PRODUCT) if not allowed.search(name_of(path))]
    assert not [name for name in others if any(m.split(".")[0] == "nats" for m in imports_of(TREE / name))]


@pytest.mark.parametrize(
    ("calls", "room"),
    [
        (re.compile(r"(^|\.)aio\.server$|^grpc\.server$"), "services/kit/serving.py"),
        (re.compile(r"(^|\.)(in)?secure_channel$"), "services/kit/clients.py"),
    ],
)
def test_only_one_room_builds_servers_and_one_channels(calls: re.Pattern[str], room: str) -> None:
    builders = {name_of(path) for path in sources(*PRODUCT) for call in calls_of(path) if calls.search(call)}
    # The client that people install imports nothing of the application, so it has a channel of its own.
    assert builders <= {room, "clients/python/hyperkitty/client/connection.py"}


def test_every_module_says_what_it_is() -> None:
    silent = [
        name_of(path) for path in sources(*PRODUCT) if path.read_text().strip() and not ast.get_docstring(tree_of(path))
    ]
    assert not silent


def test_the_tree_is_about_the_product() -> None:
    """Nothing in it depends on, or names, the place where it was written."""
    hosts = re.compile(r"/work/(shared|main)\b|pypi\.org|pythonhosted|registry\.npmjs|deb\.debian\.org|proxy\.golang")
    listed = subprocess.run(["git", "ls-files"], cwd=TREE, capture_output=True, text=True, timeout=20)
    names = [
        name for name in listed.stdout.split("\n") if name and name != "uv.lock" and name != name_of(Path(__file__))
    ]
    texts = {name: (TREE / name).read_text(errors="ignore") for name in names if (TREE / name).is_file()}
    assert not [name for name, text in texts.items() if hosts.search(text)]
