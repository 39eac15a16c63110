"""A home for sessions."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from tests.integration.session.started import Place, place


@pytest.fixture
async def here(tmp_path: Path) -> AsyncGenerator[Place]:
    async with place(tmp_path) as made:
        yield made
