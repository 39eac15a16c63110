"""Artifacts in memory, for tests: same behaviour, nothing kept."""

from __future__ import annotations

from collections.abc import AsyncIterator

from hyperkitty.operations.v1.artifacts_pb2 import Artifact

from services.kit.artifacts import Measure, NewArtifact, Window, chunks, describe
from services.kit.clock import Clock, SystemClock
from services.kit.ids import new_id


class MemoryArtifacts:
    """See Artifacts."""

    def __init__(self, clock: Clock | None = None) -> None:
        self._clock = clock or SystemClock()
        self._stored: dict[str, tuple[Artifact, list[bytes]]] = {}

    async def put(self, data: bytes | AsyncIterator[bytes], new: NewArtifact) -> Artifact:
        measure, kept = Measure(), list[bytes]()
        async for chunk in chunks(data):
            measure.add(chunk)
            kept.append(chunk)
        artifact = describe(new_id("art"), new, measure, self._clock.now_ms())
        self._stored[artifact.artifact_id] = (artifact, kept)
        return artifact

    async def info(self, artifact_id: str) -> Artifact | None:
        found = self._stored.get(artifact_id)
        return None if found is None else found[0]

    async def read(self, artifact_id: str, offset: int = 0, limit: int | None = None) -> AsyncIterator[bytes]:
        window = Window(offset, limit)
        found = self._stored.get(artifact_id)
        for chunk in [] if found is None else found[1]:
            part = window.cut(chunk)
            if part:
                yield part
            if window.is_done:
                return

    async def delete(self, artifact_id: str) -> None:
        self._stored.pop(artifact_id, None)
