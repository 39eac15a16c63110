"""What the search service keeps: a job with what its next stage needs, and the documents it fetched."""

from __future__ import annotations

import msgspec
from hyperkitty.auth.v1.identity_pb2 import CallerIdentity
from hyperkitty.operations.v1.errors_pb2 import ErrorCode
from hyperkitty.search.v1.search_pb2 import SearchJob, SourceDocument

from services.kit.errors import Refusal
from services.kit.identity import is_system
from services.kit.store import Entry, Store
from services.kit.tokens import encode_token

_JOBS = "job"
_DOCUMENTS = "doc"
_PARTS = "part"
# NATS takes values up to 1 MiB.
_PART_BYTES = 512 * 1024


class RawHit(msgspec.Struct, frozen=True):
    """A result as the provider gave it; `place` counts over a job's queries, from 1."""

    url: str
    title: str
    snippet: str
    place: int
    query: str
    found_by: tuple[str, ...] = ()


class JobRecord(msgspec.Struct, frozen=True):
    """One job. `job.stage` is the stage that runs next, or runs."""

    job: SearchJob
    normalized_query: str = ""
    asked: tuple[str, ...] = ()
    planned: tuple[str, ...] = ()
    raw: tuple[RawHit, ...] = ()
    dropped: int = 0
    """Results that were no addresses, or repeats."""
    unreadable: int = 0
    """Documents that could not be fetched or read."""
    characters: int = 0
    """Of its documents together."""
    unresponsive: tuple[str, ...] = ()
    """Engines and providers that did not answer, each with its reason."""
    operation_id: str = ""
    request_id: str = ""
    actor: str = ""


class DocumentRecord(msgspec.Struct, frozen=True):
    """One document; its bytes are kept beside it until its text is there."""

    document: SourceDocument
    iteration: int
    """The round that fetched it."""
    parts: int = 0
    """In how many pieces its bytes are kept."""


class ContentPart(msgspec.Struct, frozen=True):
    """A piece of a document's bytes."""

    data: bytes


def sees_all(identity: CallerIdentity) -> bool:
    """Whether a caller sees every tenant."""
    return identity.scopes.root or is_system(identity)


def is_visible(identity: CallerIdentity, job: SearchJob) -> bool:
    """A token sees its tenant's jobs; one that is an agent's, that agent's."""
    if not sees_all(identity) and job.tenant != identity.tenant:
        return False
    return not identity.agent_id or job.owner_agent_id == identity.agent_id


class Jobs:
    """The bucket `jobs`. Methods raise StoreUnavailable as the store does."""

    def __init__(self, records: Store[JobRecord], documents: Store[DocumentRecord], parts: Store[ContentPart]) -> None:
        self.records = records
        self._documents = documents
        self._parts = parts

    @staticmethod
    def key_of(job: SearchJob) -> str:
        """Key of a job's record."""
        return f"{_JOBS}.{encode_token(job.tenant)}.{job.job_id}"

    async def find(self, identity: CallerIdentity, job_id: str) -> Entry[JobRecord]:
        """A job that the caller may see; raises Refusal not_found, whether it is absent or another's."""
        found = await self.records.get(f"{_JOBS}.{encode_token(identity.tenant)}.{job_id}")
        if found is None and sees_all(identity):
            keys = await self.records.keys(_JOBS)
            key = next((each for each in keys if each.endswith("." + job_id)), None)
            found = None if key is None else await self.records.get(key)
        if found is None or not is_visible(identity, found.value.job):
            raise Refusal(
                ErrorCode.ERROR_CODE_NOT_FOUND,
                f"no search job {job_id}",
                hint="list_search_jobs shows what there is.",
                details={"job_id": job_id},
            )
        return found

    async def visible(self, identity: CallerIdentity) -> list[SearchJob]:
        """Every job that the caller sees."""
        prefix = _JOBS if sees_all(identity) else f"{_JOBS}.{encode_token(identity.tenant)}"
        entries = await self.records.entries(prefix)
        return [entry.value.job for entry in entries if is_visible(identity, entry.value.job)]

    async def every(self) -> list[Entry[JobRecord]]:
        """All jobs, for recovery."""
        return await self.records.entries(_JOBS)

    async def put_document(self, job_id: str, record: DocumentRecord) -> None:
        """Stores a document of a job, or its newer form."""
        await self._documents.put(f"{_DOCUMENTS}.{job_id}.{record.document.document_id}", record)

    async def document(self, job_id: str, document_id: str) -> DocumentRecord | None:
        """One document of a job."""
        found = await self._documents.get(f"{_DOCUMENTS}.{job_id}.{document_id}")
        return None if found is None else found.value

    async def put_content(self, job_id: str, document_id: str, content: bytes) -> int:
        """Stores a document's bytes; in how many pieces."""
        pieces = [content[at : at + _PART_BYTES] for at in range(0, len(content), _PART_BYTES)]
        for number, piece in enumerate(pieces):
            await self._parts.put(f"{_PARTS}.{job_id}.{document_id}.{number}", ContentPart(piece))
        return len(pieces)

    async def content(self, job_id: str, record: DocumentRecord) -> bytes:
        """A document's bytes, as far as they are kept."""
        found: list[bytes] = []
        for number in range(record.parts):
            part = await self._parts.get(f"{_PARTS}.{job_id}.{record.document.document_id}.{number}")
            found.append(b"" if part is None else part.value.data)
        return b"".join(found)

    async def drop_content(self, job_id: str, record: DocumentRecord) -> None:
        """Forgets a document's bytes."""
        for number in range(record.parts):
            await self._parts.delete(f"{_PARTS}.{job_id}.{record.document.document_id}.{number}")

    async def forget(self, key: str) -> None:
        """Deletes a job and its documents. Raises RevisionMismatch where it changed meanwhile."""
        found = await self.records.get(key)
        if found is None:
            return
        job = found.value.job
        # The documents first: a job that is half forgotten is forgotten the next time.
        for result in job.results:
            if result.source_document_id:
                await self._documents.delete(f"{_DOCUMENTS}.{job.job_id}.{result.source_document_id}")
        await self.records.delete(key, found.revision)
