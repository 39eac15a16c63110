"""The Tiltfile names what there is. Tilt itself does not run here: its builtins are stood in for.

Starlark's syntax is Python's where the Tiltfile uses it (https://github.com/bazelbuild/starlark/blob/master/spec.md),
so that Python evaluates it; what Starlark has not is looked for.
"""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Any

from deploy.docker.build import images
from deploy.processes import EDGE_PORT, NATS, TABLE

TREE = Path(__file__).resolve().parents[3]
TILTFILE = TREE / "tilt" / "Tiltfile"
# https://docs.tilt.dev/api.html
BUILTINS = (
    "allow_k8s_contexts", "docker_build", "k8s_resource", "k8s_yaml", "kustomize", "link", "local", "local_resource",
    "port_forward",
)  # fmt: skip
# Statements that Starlark does not have.
FOREIGN = (
    ast.Import, ast.ImportFrom, ast.ClassDef, ast.Try, ast.With, ast.While, ast.Raise, ast.Global, ast.Nonlocal,
    ast.Delete, ast.Assert, ast.Yield, ast.Await, ast.JoinedStr, ast.NamedExpr, ast.Set, ast.GeneratorExp,
)  # fmt: skip

Call = tuple[tuple[Any, ...], dict[str, Any]]


def evaluated() -> dict[str, list[Call]]:
    """The calls of Tilt's builtins that the file makes."""
    calls: dict[str, list[Call]] = {name: [] for name in BUILTINS}

    def stand_in(name: str) -> Any:
        def record(*arguments: Any, **options: Any) -> str:
            calls[name].append((arguments, options))
            return f"{name} {arguments}"

        return record

    names: dict[str, Any] = {name: stand_in(name) for name in BUILTINS}
    code = compile(TILTFILE.read_text(), str(TILTFILE), "exec")
    exec(code, {"__builtins__": {}, "TRIGGER_MODE_MANUAL": 1, **names})
    return calls


def test_it_is_starlark() -> None:
    tree = ast.parse(TILTFILE.read_text())
    assert not [ast.unparse(node)[:80] for node in ast.walk(tree) if isinstance(node, FOREIGN)]


def test_every_image_is_built_as_the_build_command_does() -> None:
    built = {arguments[0]: options for arguments, options in evaluated()["docker_build"]}
    assert set(built) == {f"hyperkitty/{image.name}" for image in images()}
    for image in images():
        options = built[f"hyperkitty/{image.name}"]
        assert options["dockerfile"] == f"../deploy/docker/{image.dockerfile}"
        assert (TREE / "tilt" / options["dockerfile"]).exists()
        assert options["build_args"] == dict(argument.split("=") for argument in image.arguments)
        assert options["target"] == image.target
        for path in options["only"]:
            assert (TREE / path).exists(), path


def test_every_process_is_a_resource_and_the_edge_is_forwarded() -> None:
    calls = evaluated()
    resources = {arguments[0]: options for arguments, options in calls["k8s_resource"]}
    assert set(resources) == {*(process.name for process in TABLE), "seccomp"}
    for process in TABLE:
        if process is not NATS:
            assert set(process.needs) <= set(resources[process.name]["resource_deps"])
    assert [arguments for arguments, _ in calls["port_forward"]] == [(EDGE_PORT, EDGE_PORT)]
    for arguments, _ in calls["kustomize"]:
        assert (TREE / "tilt" / arguments[0] / "kustomization.yaml").exists()
