"""Fixtures for every folder of tests."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.site import Site


@pytest.fixture
def site() -> Iterator[Site]:
    """A fresh site on loopback with its own access log."""
    with Site() as running:
        yield running
