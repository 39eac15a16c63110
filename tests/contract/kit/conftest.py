"""A real nats-server for each test that asks for one, on its own port and directory."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.contract.kit.nats_server import Bus, Nats, connect


@pytest.fixture
async def nats(tmp_path: Path) -> AsyncIterator[Nats]:
    directory = tmp_path / "nats"
    directory.mkdir()
    server = Nats(directory)
    await server.start()
    yield server
    await server.kill()


@pytest.fixture
async def bus(nats: Nats) -> AsyncIterator[Bus]:
    made = await connect(nats.url)
    yield made
    await made.connection.close()
