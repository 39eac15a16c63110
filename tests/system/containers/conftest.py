"""Images built from this tree, and a system of them."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from deploy.docker.build import build, images
from tests.system.containers import engine
from tests.system.containers.stack import TREE, Stack, running

ENGINE = TREE / "deploy" / "docker" / "engine"
ENGINE_SECONDS = 300.0
# What deploy/docker/engine makes where no registry can be reached.
LOCAL_BASE = "hyperkitty-base:bookworm"
TAG = "test"


@pytest.fixture(scope="session")
def container_engine() -> Iterator[None]:
    """An engine that answers: the machine's, else one started here, which ends with the tests. Skips without one."""
    reason = engine.why_not()
    if not reason:
        yield
        return
    if os.geteuid() != 0 or shutil.which("dockerd") is None:
        pytest.skip(reason)
    started = subprocess.run([str(ENGINE), "up"], capture_output=True, text=True, timeout=ENGINE_SECONDS)
    if started.returncode != 0:
        pytest.skip(f"no container engine: {started.stderr.strip().splitlines()[-1:]}")
    yield
    subprocess.run([str(ENGINE), "down"], timeout=ENGINE_SECONDS)


@pytest.fixture(scope="session")
def tag(container_engine: None) -> str:
    """The tag of images built just now, one after another."""
    local = ("--network", "host", "--build-arg", f"BASE_IMAGE={LOCAL_BASE}")
    more = local if engine.has_image(LOCAL_BASE) else ()
    for image in images():
        build(image, TAG, more)
    return TAG


@pytest.fixture(scope="module")
def stack(tag: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    """A whole system, ready."""
    directory: Path = tmp_path_factory.mktemp("containers")
    directory.chmod(0o755)
    with running(directory, tag) as started:
        yield started
