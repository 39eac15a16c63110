"""One suite for every artifact store."""

from __future__ import annotations

import hashlib
import os
from collections.abc import AsyncIterator

import pytest
from hyperkitty.operations.v1.artifacts_pb2 import ArtifactKind

from services.kit import artifacts as artifacts_module
from services.kit.artifacts import CHUNK_BYTES, Artifacts, ArtifactTooLarge, NewArtifact
from services.kit.clock import SystemClock
from services.kit.memory_artifacts import MemoryArtifacts
from services.kit.nats_artifacts import NatsArtifacts
from tests.contract.kit.nats_server import Bus

NEW = NewArtifact(ArtifactKind.ARTIFACT_KIND_SCREENSHOT, "image/png", "default", "op_1", "sess_1", "agent_1")


@pytest.fixture
def memory_artifacts() -> Artifacts:
    return MemoryArtifacts()


@pytest.fixture
async def nats_artifacts(bus: Bus) -> Artifacts:
    made = NatsArtifacts(bus.connection, bus.publisher, SystemClock())
    await made.open()
    return made


@pytest.fixture(params=["memory", "nats"])
def artifacts(request: pytest.FixtureRequest) -> Artifacts:
    return request.getfixturevalue(f"{request.param}_artifacts")


async def collect(parts: AsyncIterator[bytes]) -> bytes:
    found = [part async for part in parts]
    assert all(0 < len(part) <= CHUNK_BYTES for part in found)
    return b"".join(found)


@pytest.mark.parametrize("size", [0, 1, CHUNK_BYTES, CHUNK_BYTES + 1, 5 * CHUNK_BYTES + 17])
async def test_what_is_put_is_read(artifacts: Artifacts, size: int) -> None:
    data = os.urandom(size)
    made = await artifacts.put(data, NEW)
    assert (made.bytes, made.sha256) == (size, hashlib.sha256(data).hexdigest())
    assert (made.kind, made.content_type, made.tenant, made.session_id) == (
        NEW.kind,
        "image/png",
        "default",
        "sess_1",
    )
    assert await artifacts.info(made.artifact_id) == made
    assert await collect(artifacts.read(made.artifact_id)) == data


async def test_ranges(artifacts: Artifacts) -> None:
    data = os.urandom(3 * CHUNK_BYTES)
    made = await artifacts.put(data, NEW)
    for offset, limit in [(0, 10), (CHUNK_BYTES - 5, 10), (2 * CHUNK_BYTES, None), (len(data), 5), (7, 0)]:
        end = None if limit is None else offset + limit
        assert await collect(artifacts.read(made.artifact_id, offset, limit)) == data[offset:end]


async def test_a_stream_is_stored_as_it_comes(artifacts: Artifacts) -> None:
    async def parts() -> AsyncIterator[bytes]:
        for number in range(300):
            yield bytes([number % 256]) * 3_001

    made = await artifacts.put(parts(), NEW)
    assert made.bytes == 300 * 3_001
    assert len(await collect(artifacts.read(made.artifact_id))) == made.bytes


async def test_deleting_and_unknown_ids(artifacts: Artifacts) -> None:
    made = await artifacts.put(b"x" * 10, NEW)
    await artifacts.delete(made.artifact_id)
    await artifacts.delete(made.artifact_id)
    for artifact_id in (made.artifact_id, "art_01M8QFNCV10M1KP0AV1TX4QQ8W", "nonsense", "*"):
        assert await artifacts.info(artifact_id) is None
        assert await collect(artifacts.read(artifact_id)) == b""


async def test_too_large_leaves_nothing(artifacts: Artifacts, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(artifacts_module, "MOST_BYTES", CHUNK_BYTES)
    with pytest.raises(ArtifactTooLarge):
        await artifacts.put(b"x" * (CHUNK_BYTES + 1), NEW)


async def test_a_broken_source_is_not_stored(artifacts: Artifacts) -> None:
    async def parts() -> AsyncIterator[bytes]:
        yield b"x"
        raise ConnectionError("the download broke off")

    with pytest.raises(ConnectionError):
        await artifacts.put(parts(), NEW)
