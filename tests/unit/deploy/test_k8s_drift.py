"""Manifests, images and the edge say what the table of processes says: ports, names, commands, settings, secrets."""

from __future__ import annotations

import ast
import json
import re
import sys
import tomllib
from pathlib import Path
from typing import Any, cast

import pytest
import yaml

from deploy import processes
from deploy.docker.build import images
from deploy.k8s.secrets import generate, manifests, names_of
from deploy.processes import NATS, TABLE, Process
from services.kit.settings import table as settings_table

TREE = Path(__file__).resolve().parents[3]
BASE = TREE / "deploy" / "k8s" / "base"
SERVICES = [process for process in TABLE if process is not NATS]
# Names under which a library is imported that are not its own: https://packaging.python.org/en/latest/glossary
DISTRIBUTION = {
    "google": "protobuf",
    "grpc": "grpcio",
    "grpc_health": "grpcio-health-checking",
    "grpc_reflection": "grpcio-reflection",
    "nats": "nats-py",
    "opentelemetry": "opentelemetry-api",
    "hyperkitty": "hyperkitty",
}


def documents(*paths: Path) -> list[dict[str, Any]]:
    return [
        cast("dict[str, Any]", document)
        for path in paths
        for document in yaml.safe_load_all(path.read_text())
        if document is not None
    ]


def base(kind: str) -> dict[str, dict[str, Any]]:
    """Objects of a kind in the base, by name."""
    found = documents(*sorted(BASE.glob("*.yaml")))
    return {each["metadata"]["name"]: each for each in found if each.get("kind") == kind}


def workload(name: str) -> dict[str, Any]:
    return {**base("StatefulSet"), **base("Deployment")}[name]


def pod(name: str) -> dict[str, Any]:
    return cast("dict[str, Any]", workload(name)["spec"]["template"]["spec"])


def container(name: str) -> dict[str, Any]:
    return next(each for each in pod(name)["containers"] if each["name"] == name)


def settings() -> dict[str, str]:
    return cast("dict[str, str]", base("ConfigMap")["settings"]["data"])


def test_every_process_has_a_workload_a_service_and_a_budget() -> None:
    names = {process.name for process in TABLE}
    assert set(base("StatefulSet")) | set(base("Deployment")) == names
    assert set(base("Service")) == {*names, "edge"}
    assert set(base("PodDisruptionBudget")) == names


@pytest.mark.parametrize("process", SERVICES, ids=lambda process: process.name)
def test_a_workload_runs_its_module_from_its_image(process: Process) -> None:
    found = container(process.name)
    assert found["args"] == ["python", "-m", process.module]
    assert found["image"] == f"hyperkitty/{process.name}:dev"
    ports = {port["name"]: port["containerPort"] for port in found["ports"]}
    assert ports == {"grpc": processes.POD_GRPC_PORT, "metrics": processes.POD_METRICS_PORT}
    for probe in ("startupProbe", "readinessProbe", "livenessProbe"):
        assert found[probe]["exec"]["command"] == ["python", "-m", "services.kit.probe", process.name]
    [port] = base("Service")[process.name]["spec"]["ports"]
    assert port["port"] == processes.POD_GRPC_PORT


def test_settings_are_settings_and_point_at_the_services() -> None:
    known = {row.name for row in settings_table()}
    overlays = documents(*sorted(BASE.parent.glob("overlays/*/settings.yaml")))
    for document in [base("ConfigMap")["settings"], *overlays]:
        assert set(document["data"]) <= known
    for process in SERVICES:
        assert settings()[f"HYPERKITTY_{process.name.upper()}_TARGET"] == (
            f"dns:///{process.name}:{processes.POD_GRPC_PORT}"
        )
        assert container(process.name)["envFrom"] == [{"configMapRef": {"name": "settings"}}]
    assert settings()["HYPERKITTY_LISTEN"] == f"0.0.0.0:{processes.POD_GRPC_PORT}"
    assert settings()["HYPERKITTY_METRICS_LISTEN"] == f"0.0.0.0:{processes.POD_METRICS_PORT}"
    assert settings()["HYPERKITTY_NATS_URL"] == f"nats://nats:{processes.NATS_PORT}"


def test_nats_listens_where_it_is_looked_for() -> None:
    ports = {port["name"]: port["containerPort"] for port in container("nats")["ports"]}
    assert ports == {
        "nats": processes.NATS_PORT,
        "cluster": processes.NATS_CLUSTER_PORT,
        "monitor": processes.NATS_MONITOR_PORT,
    }
    production = documents(BASE.parent / "overlays" / "production" / "nats.yaml")
    single, cluster = base("ConfigMap")["nats-config"], production[0]
    for configuration in (single["data"]["nats.conf"], cluster["data"]["nats.conf"]):
        assert re.search(rf"^port: {processes.NATS_PORT}$", configuration, re.MULTILINE)
        assert re.search(rf"^http: {processes.NATS_MONITOR_PORT}$", configuration, re.MULTILINE)
    routes = re.findall(r"nats://(\S+?):(\d+)", cluster["data"]["nats.conf"])
    replicas = production[1]["spec"]["replicas"]
    assert routes == [(f"nats-{index}.nats", str(processes.NATS_CLUSTER_PORT)) for index in range(replicas)]


def test_the_edge_leads_to_the_gateways_ports() -> None:
    edge = cast("dict[str, Any]", yaml.safe_load((TREE / "deploy" / "envoy" / "envoy.yaml").read_text()))
    ports: dict[str, int] = {}
    for cluster in edge["static_resources"]["clusters"]:
        [endpoint] = cluster["load_assignment"]["endpoints"][0]["lb_endpoints"]
        address = endpoint["endpoint"]["address"]["socket_address"]
        assert address["address"] == "127.0.0.1"
        ports[cluster["name"]] = address["port_value"]
    assert ports == {"rest": processes.REST_PORT, "grpc": processes.GRPC_PORT}
    [listener] = edge["static_resources"]["listeners"]
    assert listener["address"]["socket_address"]["port_value"] == processes.EDGE_PORT
    envoy = next(each for each in pod("gateway")["containers"] if each["name"] == "envoy")
    assert envoy["ports"] == [{"name": "https", "containerPort": processes.EDGE_PORT}]


@pytest.mark.parametrize("name", [process.name for process in TABLE])
def test_pods_are_restricted(name: str) -> None:
    """Pod Security Standards, restricted: https://kubernetes.io/docs/concepts/security/pod-security-standards/."""
    spec = pod(name)
    assert spec["securityContext"]["runAsNonRoot"] is True
    assert spec["enableServiceLinks"] is False
    assert spec["automountServiceAccountToken"] is False
    seccomp = spec["securityContext"]["seccompProfile"]
    if name == "browser":
        assert seccomp == {"type": "Localhost", "localhostProfile": "hyperkitty/chromium-seccomp.json"}
    else:
        assert seccomp == {"type": "RuntimeDefault"}
    for each in spec["containers"]:
        context = each["securityContext"]
        assert context["allowPrivilegeEscalation"] is False
        assert context["readOnlyRootFilesystem"] is True
        assert context["capabilities"] == {"drop": ["ALL"]}
        assert {"cpu", "memory"} == set(each["resources"]["requests"]) == set(each["resources"]["limits"])


def test_the_seccomp_profile_lets_namespaces_be_made_and_nothing_more_than_that() -> None:
    profile = json.loads((TREE / "deploy" / "k8s" / "node" / "chromium-seccomp.json").read_text())
    assert profile["defaultAction"] == "SCMP_ACT_ERRNO"
    free = {
        name
        for rule in profile["syscalls"]
        for name in rule["names"]
        if rule["action"] == "SCMP_ACT_ALLOW" and "args" not in rule
    }
    assert {"clone", "unshare", "setns", "chroot"} <= free
    closed = {
        "mount",
        "umount2",
        "bpf",
        "init_module",
        "kexec_load",
        "open_by_handle_at",
        "perf_event_open",
        "pivot_root",
    }
    assert not free & closed
    # A kubelet reads rules alone: a condition of the engine's own format would be passed over.
    assert not any(set(rule) - {"names", "action", "args", "errnoRet"} for rule in profile["syscalls"])


def test_pods_mount_secrets_that_are_generated_and_only_their_own() -> None:
    generated = generate("hyperkitty", ["hyperkitty.example"])
    for process in TABLE:
        mounted = {volume["secret"]["secretName"] for volume in pod(process.name)["volumes"] if "secret" in volume}
        assert mounted <= set(generated), process.name
        foreign = {other.name for other in TABLE if other is not process}
        assert not {name for name in mounted if name.partition("-")[0] in foreign and name != "nats-users"}
    assert set(generated["public-keys"]) == {f"{process.name}.pub" for process in SERVICES}
    for process in SERVICES:
        assert generated[f"{process.name}-identity"]["nats.credentials"].startswith(f"{process.name}:")
        assert names_of(process, "hk")[:2] == [process.name, f"{process.name}.hk"]
    users = json.loads(generated["nats-users"]["users.conf"].removeprefix("users:"))
    assert [user["user"] for user in users] == [process.name for process in SERVICES]
    listed = cast("list[dict[str, Any]]", manifests(generated, "hk")["items"])
    assert {item["metadata"]["name"] for item in listed} == set(generated)
    assert {item["metadata"]["namespace"] for item in listed} == {"hk"}


def test_no_secret_is_in_the_tree() -> None:
    for path in sorted((TREE / "deploy").rglob("*")):
        if path.suffix in (".yaml", ".yml", ".json", ".conf"):
            text = path.read_text()
            assert "PRIVATE KEY" not in text, path
            assert not [each for each in documents(path) if each.get("kind") == "Secret"], path


def test_there_is_an_image_for_every_process() -> None:
    assert [image.name for image in images()] == [*(process.name for process in TABLE), "envoy"]
    groups = tomllib.loads((TREE / "pyproject.toml").read_text())["dependency-groups"]
    for image in images():
        given = dict(argument.split("=", 1) for argument in image.arguments)
        assert given.get("PROCESS", given.get("GROUP")) in groups


@pytest.mark.parametrize("process", SERVICES, ids=lambda process: process.name)
def test_a_group_names_all_that_its_process_imports(process: Process) -> None:
    """Else the image would lack it: a checkout has every group."""
    folder = TREE / process.module.replace(".", "/")
    imported = {
        name
        for path in [*folder.rglob("*.py"), *(TREE / "services" / "kit").rglob("*.py")]
        for name in _imports(path)
        if name not in sys.stdlib_module_names and name not in ("services", "gateway", "deploy")
    }
    available = _closure(process.name)
    wanted = {DISTRIBUTION.get(name, name.replace("_", "-")) for name in imported}
    assert not wanted - available


def _imports(path: Path) -> set[str]:
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found.update(alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and node.level == 0:
            found.add(node.module.partition(".")[0])
    return found


def _closure(group: str) -> set[str]:
    """Every distribution that the lock file installs for a group."""
    lock = tomllib.loads((TREE / "uv.lock").read_text())
    packages = {package["name"]: package for package in lock["package"]}
    tree = packages["hyperkitty-tree"]
    pending = [each["name"] for each in [*tree["dependencies"], *tree["dev-dependencies"][group]]]
    found: set[str] = set()
    while pending:
        name = pending.pop()
        if name not in found:
            found.add(name)
            pending += [each["name"] for each in packages[name].get("dependencies", [])]
            for extra in packages[name].get("optional-dependencies", {}).values():
                pending += [each["name"] for each in extra]
    return found
