"""The command that makes the secrets, and NATS's own judgement of its configuration with them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any, cast

import pytest
import yaml
from cryptography import x509

from deploy.k8s.secrets import generate
from deploy.local import nats

TREE = Path(__file__).resolve().parents[3]
CONFIGURATIONS = {"base": "deploy/k8s/base/nats.yaml", "production": "deploy/k8s/overlays/production/nats.yaml"}
SECONDS = 30


def test_it_prints_a_list_of_secrets_for_kubectl() -> None:
    command = [sys.executable, "-m", "deploy.k8s.secrets", "--namespace", "hk", "--host", "hyperkitty.example"]
    done = subprocess.run(command, cwd=TREE, capture_output=True, text=True, timeout=SECONDS)
    assert done.returncode == 0, done.stderr
    printed = cast("dict[str, Any]", json.loads(done.stdout))
    assert (printed["kind"], {item["kind"] for item in printed["items"]}) == ("List", {"Secret"})
    edge = next(item for item in printed["items"] if item["metadata"]["name"] == "edge-tls")
    certificate = x509.load_pem_x509_certificate(edge["stringData"]["tls.crt"].encode())
    names = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert names.get_values_for_type(x509.DNSName) == ["hyperkitty.example", "localhost"]


def test_without_a_host_it_makes_nothing() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "deploy.k8s.secrets"], cwd=TREE, capture_output=True, text=True, timeout=SECONDS
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert "--host" in done.stderr


@pytest.mark.parametrize("name", CONFIGURATIONS)
def test_nats_understands_its_configuration_and_its_users(name: str, tmp_path: Path) -> None:
    document = cast("dict[str, Any]", next(iter(yaml.safe_load_all((TREE / CONFIGURATIONS[name]).read_text()))))
    for folder, content in (
        ("nats", {"nats.conf": document["data"]["nats.conf"]}),
        ("nats-users", generate("hyperkitty", ["localhost"])["nats-users"]),
    ):
        (tmp_path / folder).mkdir()
        for file, text in content.items():
            (tmp_path / folder / file).write_text(text)
    command = [str(nats.binary()), "-t", "--config", str(tmp_path / "nats" / "nats.conf")]
    done = subprocess.run(
        command, env={**os.environ, "POD_NAME": "nats-0"}, capture_output=True, text=True, timeout=SECONDS
    )
    assert done.returncode == 0, done.stderr
