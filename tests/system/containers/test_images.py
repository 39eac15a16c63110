"""What is in an image, and what is not."""

from __future__ import annotations

import pytest

from deploy.docker.build import images
from tests.system.containers import engine

pytestmark = [pytest.mark.docker, pytest.mark.timeout(600), pytest.mark.xdist_group("containers")]

NAMES = [image.name for image in images()]
PROCESSES = [image.name for image in images() if image.dockerfile == "Dockerfile"]


def inside(name: str, tag: str, script: str) -> str:
    """What a shell script prints in a container of the image, which has no network."""
    return engine.docker(
        "run", "--rm", "--network", "none", "--entrypoint", "sh", f"hyperkitty/{name}:{tag}", "-c", script
    )


@pytest.mark.parametrize("name", NAMES)
def test_nobody_is_root_and_nothing_is_writable_but_the_home(name: str, tag: str) -> None:
    assert inside(name, tag, "id -u; id -g") == "10001\n10001"
    writable = "find / -xdev -writable ( -type d -o -type f ) -not -path '/proc/*' -not -path '/dev/*'"
    found = inside(name, tag, writable.replace("(", "\\(").replace(")", "\\)") + " 2>/dev/null; true").splitlines()
    assert set(found) <= {"/tmp", "/var/tmp", "/run/lock", "/var/lib/hyperkitty"}


@pytest.mark.parametrize("name", NAMES)
def test_no_secret_is_inside(name: str, tag: str) -> None:
    secret = "^(-----BEGIN ([A-Z]+ )?PRIVATE KEY|hk_[A-Za-z0-9_-]{20})"
    assert inside(name, tag, f"grep -rIlE '{secret}' /opt /etc /var/lib/hyperkitty 2>/dev/null; true") == ""
    history = engine.docker("history", "--no-trunc", "--format", "{{.CreatedBy}}", f"hyperkitty/{name}:{tag}")
    assert "PRIVATE KEY" not in history


@pytest.mark.parametrize("name", PROCESSES)
def test_each_has_what_its_process_imports_and_no_more(name: str, tag: str) -> None:
    found = set(inside(name, tag, "ls .venv/lib/python3*/site-packages").splitlines())
    assert {"grpc", "nats", "google"} <= found
    assert not found & {"pytest", "grpc_tools", "playwright", "pip", "envoy", "yaml", "typer"}
    assert ("starlette" in found) == (name == "gateway")
    assert ("tantivy" in found) == (name == "search")
    assert ("aiohttp" in found) == (name in ("browser", "search"))
    assert inside(name, tag, "ls clients/python/hyperkitty/agent/v1/agent_service_pb2_grpc.py")
    chromium = inside(name, tag, "ls /usr/lib/chromium/chromium-headless-shell 2>/dev/null; true")
    assert bool(chromium) == (name == "browser")
