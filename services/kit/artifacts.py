"""Bytes that operations make or take (screenshots, downloads, …): stored once, read as a stream (SPEC §3)."""

from __future__ import annotations

import hashlib
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Protocol

from hyperkitty.operations.v1.artifacts_pb2 import Artifact, ArtifactKind

CHUNK_BYTES = 256 * 1024
# One artifact's limit; a download's own (100 MiB) is lower.
MOST_BYTES = 512 * 1024**2


class ArtifactTooLarge(Exception):
    """More than MOST_BYTES; nothing is kept of it."""


class ArtifactDamaged(Exception):
    """Fewer bytes are there than the description says: it expired, or it is being deleted."""


@dataclass(frozen=True)
class NewArtifact:
    """What is known of an artifact before it is stored."""

    kind: ArtifactKind.ValueType
    content_type: str
    tenant: str
    operation_id: str = ""
    session_id: str = ""
    agent_id: str = ""


class Artifacts(Protocol):
    """The object store. Every method may raise StoreUnavailable."""

    async def put(self, data: bytes | AsyncIterator[bytes], new: NewArtifact) -> Artifact:
        """Stores bytes; the description appears only when they are there. Raises ArtifactTooLarge."""
        ...

    async def info(self, artifact_id: str) -> Artifact | None:
        """The description, or None."""
        ...

    def read(self, artifact_id: str, offset: int = 0, limit: int | None = None) -> AsyncIterator[bytes]:
        """Bytes from `offset`, at most `limit`, in parts of at most 256 KiB. Nothing for an unknown id.

        Raises ArtifactDamaged.
        """
        ...

    async def delete(self, artifact_id: str) -> None:
        """Removes description and bytes; an unknown id is no error."""
        ...


async def chunks(data: bytes | AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    """The same bytes in parts of exactly 256 KiB, but for the last."""
    if isinstance(data, (bytes, bytearray, memoryview)):
        view = memoryview(data)
        for start in range(0, len(view), CHUNK_BYTES):
            yield bytes(view[start : start + CHUNK_BYTES])
        return
    waiting = bytearray()
    async for part in data:
        waiting += part
        while len(waiting) >= CHUNK_BYTES:
            yield bytes(waiting[:CHUNK_BYTES])
            del waiting[:CHUNK_BYTES]
    if waiting:
        yield bytes(waiting)


class Measure:
    """Counts and hashes what passes."""

    def __init__(self) -> None:
        self._hash = hashlib.sha256()
        self.bytes = 0
        self.chunks = 0

    def add(self, chunk: bytes) -> None:
        """Raises ArtifactTooLarge."""
        self._hash.update(chunk)
        self.bytes += len(chunk)
        self.chunks += 1
        if self.bytes > MOST_BYTES:
            raise ArtifactTooLarge(f"more than {MOST_BYTES} bytes")

    def digest(self) -> bytes:
        return self._hash.digest()


def describe(artifact_id: str, new: NewArtifact, measure: Measure, now_ms: int) -> Artifact:
    """The description of stored bytes."""
    return Artifact(
        artifact_id=artifact_id,
        session_id=new.session_id,
        agent_id=new.agent_id,
        operation_id=new.operation_id,
        kind=new.kind,
        content_type=new.content_type,
        bytes=measure.bytes,
        sha256=measure.digest().hex(),
        created_at_ms=now_ms,
        tenant=new.tenant,
    )


class Window:
    """Cuts a byte range out of a sequence of chunks."""

    def __init__(self, offset: int, limit: int | None) -> None:
        if offset < 0 or (limit is not None and limit < 0):
            raise ValueError("offset and limit are not negative")
        self._skip = offset
        self._left = limit

    @property
    def is_done(self) -> bool:
        return self._left == 0

    def cut(self, chunk: bytes) -> bytes:
        """What of the chunk lies in the range."""
        skipped = min(self._skip, len(chunk))
        self._skip -= skipped
        part = chunk[skipped:] if self._left is None else chunk[skipped : skipped + self._left]
        if self._left is not None:
            self._left -= len(part)
        return part
