"""Artifacts in a JetStream object store, in NATS's own layout, so that its tools can read them."""

from __future__ import annotations

import asyncio
import base64
from collections.abc import AsyncIterator

import msgspec
import nats.errors
import nats.js.errors
from google.protobuf import json_format
from hyperkitty.operations.v1.artifacts_pb2 import Artifact
from nats.js import api

from services.kit import logs
from services.kit.artifacts import (
    ArtifactDamaged,
    ArtifactTooLarge,
    Measure,
    NewArtifact,
    Window,
    chunks,
    describe,
)
from services.kit.clock import Clock
from services.kit.ids import is_id, new_id
from services.kit.nats_acks import AckPublisher, NotAcknowledged, PublishRefused, WrongSequence
from services.kit.nats_connection import NatsConnection
from services.kit.nats_reader import OrderedReader, Position
from services.kit.nats_streams import StreamUnavailable, ensure_stream, last_by_subject
from services.kit.store import StoreUnavailable

log = logs.get(__name__)

BUCKET = "artifacts"
STREAM = f"OBJ_{BUCKET}"
_KEPT_SECONDS = 30 * 86_400.0
_KEPT_BYTES = 8 * 1024**3
# Chunks on their way at a time: 2 MiB, so that a large artifact neither waits for each nor fills the memory.
_IN_FLIGHT = 8
_TIMEOUT = 10.0


class _Meta(msgspec.Struct, omit_defaults=True):
    """NATS's description of an object (ADR-20), with ours in its metadata."""

    name: str
    bucket: str
    nuid: str
    size: int
    chunks: int
    digest: str
    metadata: dict[str, str] = {}
    deleted: bool = False
    options: dict[str, int] = {}


_decoder = msgspec.json.Decoder(_Meta)


def _meta_subject(artifact_id: str) -> str:
    return f"$O.{BUCKET}.M.{base64.urlsafe_b64encode(artifact_id.encode()).decode()}"


def _chunk_subject(artifact_id: str) -> str:
    return f"$O.{BUCKET}.C.{artifact_id}"


class NatsArtifacts:
    """See Artifacts. `open` makes the bucket where it is missing."""

    def __init__(self, connection: NatsConnection, publisher: AckPublisher, clock: Clock) -> None:
        self._connection = connection
        self._publisher = publisher
        self._clock = clock

    async def open(self, *, max_bytes: int = _KEPT_BYTES, replicas: int = 1) -> None:
        """Makes the bucket: 30 days, bounded in bytes, oldest first. Raises StreamUnavailable."""
        config = api.StreamConfig(
            name=STREAM,
            subjects=[f"$O.{BUCKET}.C.>", f"$O.{BUCKET}.M.>"],
            discard=api.DiscardPolicy.OLD,
            max_age=_KEPT_SECONDS,
            max_bytes=max_bytes,
            allow_rollup_hdrs=True,
            allow_direct=True,
            num_replicas=replicas,
        )
        await ensure_stream(self._connection, config)

    async def _publish(self, subject: str, data: bytes, headers: dict[str, str] | None = None) -> None:
        try:
            await self._publisher.publish(subject, data, headers, timeout=_TIMEOUT)
        except (NotAcknowledged, PublishRefused, WrongSequence) as error:
            raise StoreUnavailable(f"writing an artifact: {error}") from error

    async def put(self, data: bytes | AsyncIterator[bytes], new: NewArtifact) -> Artifact:
        artifact_id, measure = new_id("art"), Measure()
        subject = _chunk_subject(artifact_id)
        try:
            await self._put_chunks(subject, data, measure)
            artifact = describe(artifact_id, new, measure, self._clock.now_ms())
            await self._publish(_meta_subject(artifact_id), self._meta(artifact, measure), {"Nats-Rollup": "sub"})
        except (StoreUnavailable, ArtifactTooLarge, asyncio.CancelledError):
            await asyncio.shield(self._purge(subject))
            raise
        return artifact

    async def _put_chunks(self, subject: str, data: bytes | AsyncIterator[bytes], measure: Measure) -> None:
        # Chunks are published in order on one connection, so that they are stored in order.
        waiting: list[asyncio.Task[None]] = []
        try:
            async for chunk in chunks(data):
                measure.add(chunk)
                waiting.append(asyncio.create_task(self._publish(subject, chunk)))
                if len(waiting) == _IN_FLIGHT:
                    await waiting.pop(0)
            while waiting:
                await waiting.pop(0)
        finally:
            for task in waiting:
                task.cancel()
            await asyncio.gather(*waiting, return_exceptions=True)

    def _meta(self, artifact: Artifact, measure: Measure) -> bytes:
        meta = _Meta(
            name=artifact.artifact_id,
            bucket=BUCKET,
            nuid=artifact.artifact_id,
            size=measure.bytes,
            chunks=measure.chunks,
            digest="SHA-256=" + base64.urlsafe_b64encode(measure.digest()).decode(),
            metadata={"artifact": json_format.MessageToJson(artifact, indent=None)},
        )
        return msgspec.json.encode(meta)

    async def _load(self, artifact_id: str) -> _Meta | None:
        if not is_id("art", artifact_id):
            return None
        try:
            found = await last_by_subject(self._connection, STREAM, _meta_subject(artifact_id))
        except StreamUnavailable as error:
            raise StoreUnavailable(f"reading an artifact: {error}") from error
        if found is None:
            return None
        try:
            meta = _decoder.decode(found.data)
        except msgspec.MsgspecError:
            log.error("artifact_unreadable", artifact_id=artifact_id)
            return None
        return None if meta.deleted else meta

    async def info(self, artifact_id: str) -> Artifact | None:
        meta = await self._load(artifact_id)
        if meta is None:
            return None
        try:
            return json_format.Parse(meta.metadata.get("artifact", ""), Artifact())
        except json_format.ParseError:
            log.error("artifact_unreadable", artifact_id=artifact_id)
            return None

    async def read(self, artifact_id: str, offset: int = 0, limit: int | None = None) -> AsyncIterator[bytes]:
        window = Window(offset, limit)
        meta = await self._load(artifact_id)
        if meta is None or meta.size == 0 or window.is_done:
            return
        reader = OrderedReader(self._connection, STREAM, [_chunk_subject(artifact_id)], Position(), batch=_IN_FLIGHT)
        try:
            await reader.open()
            if reader.pending_at_start != meta.chunks:
                raise ArtifactDamaged(f"{artifact_id}: {reader.pending_at_start} of {meta.chunks} parts are there")
            for _ in range(meta.chunks):
                delivered = await reader.next(_TIMEOUT)
                if delivered is None:
                    raise StoreUnavailable("reading an artifact: it did not come in time")
                part = window.cut(delivered.data)
                if part:
                    yield part
                if window.is_done:
                    return
        except StreamUnavailable as error:
            raise StoreUnavailable(f"reading an artifact: {error}") from error
        finally:
            await reader.close()

    async def _purge(self, subject: str) -> None:
        try:
            await self._connection.jetstream.purge_stream(STREAM, subject=subject)
        except (nats.errors.Error, nats.js.errors.Error, OSError) as error:
            # What stays behind is dropped by age; nothing points to it.
            log.warning("artifact_chunks_left", reason=type(error).__name__)

    async def delete(self, artifact_id: str) -> None:
        meta = await self._load(artifact_id)
        if meta is None:
            return
        meta.deleted, meta.size, meta.chunks, meta.digest = True, 0, 0, ""
        await self._publish(_meta_subject(artifact_id), msgspec.json.encode(meta), {"Nats-Rollup": "sub"})
        await self._purge(_chunk_subject(artifact_id))
