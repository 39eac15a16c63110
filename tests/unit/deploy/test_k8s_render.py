"""The overlays as kubectl renders them: valid against Kubernetes' schemas, and in checkov's eyes safe."""

from __future__ import annotations

import json
import shutil
import subprocess
from functools import cache
from pathlib import Path
from typing import Any, cast

import kubernetes_validate
import pytest
import yaml

TREE = Path(__file__).resolve().parents[3]
KUSTOMIZATIONS = {
    "dev": "deploy/k8s/overlays/dev",
    "production": "deploy/k8s/overlays/production",
    "node": "deploy/k8s/node",
}
KUBERNETES = ("1.31.0", kubernetes_validate.latest_version())
SECONDS = 50.0
# checkov is not in the lock file: it pins old versions of what everything else uses. `uv tool install checkov==3.3.30`
CHECKOV = shutil.which("checkov")
# Why a finding is accepted.
ACCEPTED = {
    "CKV_K8S_15": "pull policy Always: images have a version, and on a development cluster are loaded, not pulled",
    "CKV_K8S_43": "a digest: whoever builds the images puts it into the overlay's `images`",
    "CKV_K8S_31": "seccomp RuntimeDefault: the browser has its own profile, which is stricter than none and shipped",
}
# Writing the profile to a node is what this one is for; it runs as root, apart, in a namespace of its own.
ACCEPTED_ON_NODES = {"CKV_K8S_23", "CKV_K8S_40"}

needs_kubectl = pytest.mark.skipif(
    shutil.which("kubectl") is None, reason="no kubectl (Debian: apt-get install kubernetes-client)"
)
pytestmark = needs_kubectl


@cache
def rendered(name: str) -> str:
    done = subprocess.run(
        ["kubectl", "kustomize", KUSTOMIZATIONS[name]], cwd=TREE, capture_output=True, text=True, timeout=SECONDS
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def objects(name: str) -> list[dict[str, Any]]:
    return [cast("dict[str, Any]", each) for each in yaml.safe_load_all(rendered(name))]


def one(overlay: str, kind: str, name: str) -> dict[str, Any]:
    [found] = [each for each in objects(overlay) if each["kind"] == kind and each["metadata"]["name"] == name]
    return found


@pytest.mark.parametrize("version", KUBERNETES)
@pytest.mark.parametrize("name", KUSTOMIZATIONS)
def test_every_object_is_valid(name: str, version: str) -> None:
    for each in objects(name):
        kubernetes_validate.validate(each, version, strict=True)


@pytest.mark.parametrize("name", ["dev", "production"])
def test_everything_is_in_the_namespace_and_found_by_its_selectors(name: str) -> None:
    labels: dict[str, dict[str, str]] = {}
    for each in objects(name):
        if each["kind"] in ("StatefulSet", "Deployment"):
            labels[each["metadata"]["name"]] = each["spec"]["template"]["metadata"]["labels"]
    for each in objects(name):
        if each["kind"] != "Namespace":
            assert each["metadata"]["namespace"] == "hyperkitty"
        if each["kind"] in ("Service", "PodDisruptionBudget"):
            selector = each["spec"]["selector"]
            chosen = cast("dict[str, str]", selector.get("matchLabels", selector))
            wanted = "gateway" if each["metadata"]["name"] == "edge" else each["metadata"]["name"]
            assert [pod for pod, given in labels.items() if chosen.items() <= given.items()] == [wanted]


@pytest.mark.parametrize("name", ["dev", "production"])
def test_what_is_not_ours_is_not_asked_for_our_labels(name: str) -> None:
    """kustomize adds common labels to every matchLabels, also of a policy's peers."""
    [to] = one(name, "NetworkPolicy", "names")["spec"]["egress"][0]["to"]
    assert to["podSelector"] == {"matchExpressions": [{"key": "k8s-app", "operator": "In", "values": ["kube-dns"]}]}
    denied = one(name, "NetworkPolicy", "default-deny")["spec"]
    assert set(denied["policyTypes"]) == {"Ingress", "Egress"}
    assert not denied.get("ingress")
    assert not denied.get("egress")


def test_the_edge_has_the_configuration_that_is_tested() -> None:
    volumes = one("production", "Deployment", "gateway")["spec"]["template"]["spec"]["volumes"]
    [name] = [volume["configMap"]["name"] for volume in volumes if volume["name"] == "edge-config"]
    content = one("production", "ConfigMap", name)["data"]["envoy.yaml"]
    assert content == (TREE / "deploy" / "envoy" / "envoy.yaml").read_text()


def test_production_has_three_of_nats_and_two_doors() -> None:
    assert one("production", "StatefulSet", "nats")["spec"]["replicas"] == 3
    assert one("production", "Deployment", "gateway")["spec"]["replicas"] == 2
    data = one("production", "ConfigMap", "settings")["data"]
    assert data["HYPERKITTY_ALLOWED_HOSTS"]
    assert data["HYPERKITTY_TLS_DIR"]
    for each in objects("production"):
        if each["kind"] in ("StatefulSet", "Deployment"):
            for container in each["spec"]["template"]["spec"]["containers"]:
                assert not container["image"].endswith((":dev", ":latest"))


def test_one_of_what_may_be_only_one() -> None:
    """These hold leases on their work by being alone; two would do it twice."""
    for name in ("browser", "agent", "search", "messaging"):
        assert one("production", "StatefulSet", name)["spec"]["replicas"] == 1


@pytest.mark.skipif(CHECKOV is None, reason="no checkov (uv tool install checkov)")
@pytest.mark.parametrize("name", KUSTOMIZATIONS)
def test_checkov_finds_nothing_that_was_not_weighed(name: str, tmp_path: Path) -> None:
    file = tmp_path / "rendered.yaml"
    file.write_text(rendered(name))
    command = [str(CHECKOV), "--framework", "kubernetes", "--output", "json", "--skip-download", "--quiet"]
    done = subprocess.run([*command, "--file", str(file)], capture_output=True, text=True, timeout=SECONDS)
    report = json.loads(done.stdout)
    found = {each["check_id"] for each in report["results"]["failed_checks"]}
    assert report["summary"]["passed"] > 20
    assert not found - set(ACCEPTED) - (ACCEPTED_ON_NODES if name == "node" else set())
