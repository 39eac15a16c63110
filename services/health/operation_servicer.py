"""OperationService: the record of calls, and the bytes they made (SPEC §10)."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

from hyperkitty.auth.v1.identity_pb2 import CallerIdentity
from hyperkitty.operations.v1 import operation_service_pb2 as pb
from hyperkitty.operations.v1.errors_pb2 import ErrorCode
from hyperkitty.operations.v1.operation_service_pb2_grpc import OperationServiceServicer
from hyperkitty.operations.v1.operations_pb2 import OPERATION_STATUS_IN_PROGRESS, Operation

from services.health.health_servicer import tenant_seen
from services.health.in_progress import InProgress, as_operation
from services.kit.artifacts import ArtifactDamaged, Artifacts
from services.kit.errors import Refusal
from services.kit.identity import current_identity
from services.kit.paging import DEFAULT_SIZE
from services.kit.store import Store, page_revision, page_token

WRITERS = ("browser", "agent", "search", "messaging", "gateway", "health")
"""Services that write records; a record's key begins with its writer."""
_BATCH = 200
# Records that one listing looks through at most; where few match, the page may be short, and its token leads on.
_MOST_EXAMINED = 5_000


class OperationServicer(OperationServiceServicer):
    """Reads the bucket `operations`, the log and the object store; writes nothing."""

    def __init__(self, records: Store[Operation], in_progress: InProgress, artifacts: Artifacts) -> None:
        self._records = records
        self._in_progress = in_progress
        self._artifacts = artifacts

    async def ListOperations(self, request: pb.ListOperationsRequest, context: object) -> pb.ListOperationsResponse:
        identity = current_identity()
        size = request.page_size or DEFAULT_SIZE
        before = page_revision(request.page_token)
        running: list[Operation] = []
        if before is None and request.status in (0, OPERATION_STATUS_IN_PROGRESS):
            running = await self._running(identity, request)
        # What runs comes on top of the first page: it has no place among the records yet, from which tokens are made.
        shown = running[: size - 1]
        found, token = await self._ended(identity, request, size - len(shown), before)
        return pb.ListOperationsResponse(operations=[*shown, *found], next_page_token=token)

    async def _ended(
        self, identity: CallerIdentity, request: pb.ListOperationsRequest, size: int, before: int | None
    ) -> tuple[list[Operation], str]:
        found: list[Operation] = []
        examined = 0
        while len(found) < size and examined < _MOST_EXAMINED:
            batch = await self._records.newest(limit=_BATCH, before=before)
            for entry in batch:
                before = entry.revision
                examined += 1
                if _is_wanted(identity, request, entry.value):
                    found.append(entry.value)
                    if len(found) == size:
                        break
            if len(batch) < _BATCH and len(found) < size:
                return found, ""
        return found, page_token(before or 0)

    async def _running(self, identity: CallerIdentity, request: pb.ListOperationsRequest) -> list[Operation]:
        """Calls whose intent is on the log and whose record is not there yet."""
        seen: dict[str, Operation] = {}
        for intent in await self._in_progress.intents(tenant_seen(identity)):
            operation = as_operation(intent, ())
            if intent.operation_id and _is_wanted(identity, request, operation):
                seen.setdefault(intent.operation_id, operation)
        candidates = list(seen.values())[:_BATCH]
        records = await asyncio.gather(*(self._record(each.operation_id) for each in candidates))
        return [each for each, record in zip(candidates, records, strict=True) if record is None]

    async def GetOperation(self, request: pb.GetOperationRequest, context: object) -> pb.GetOperationResponse:
        identity = current_identity()
        found = await self._record(request.operation_id)
        if found is None:
            found = await self._in_progress.find(tenant_seen(identity), request.operation_id)
        if found is None:
            # Its record may have been written between the two looks.
            found = await self._record(request.operation_id)
        if found is None or not _is_seen(identity, found):
            raise Refusal(
                ErrorCode.ERROR_CODE_NOT_FOUND,
                f"no operation {request.operation_id}",
                hint="list_operations shows what is kept: operations of the last 24 hours.",
                details={"operation_id": request.operation_id},
            )
        return pb.GetOperationResponse(operation=found)

    async def _record(self, operation_id: str) -> Operation | None:
        found = await asyncio.gather(*(self._records.get(f"{writer}.{operation_id}") for writer in WRITERS))
        return next((entry.value for entry in found if entry is not None), None)

    async def ReadArtifact(
        self, request: pb.ReadArtifactRequest, context: object
    ) -> AsyncIterator[pb.ReadArtifactResponse]:
        identity = current_identity()
        artifact = await self._artifacts.info(request.artifact_id)
        tenant = tenant_seen(identity)
        is_seen = artifact is not None and (not tenant or artifact.tenant == tenant)
        if artifact is None or not is_seen or (identity.agent_id and artifact.agent_id != identity.agent_id):
            raise Refusal(
                ErrorCode.ERROR_CODE_NOT_FOUND,
                f"no artifact {request.artifact_id}",
                hint="list_agent_actions names the artifacts of an agent's actions; they are kept for 30 days.",
                details={"artifact_id": request.artifact_id},
            )
        yield pb.ReadArtifactResponse(artifact=artifact)
        try:
            async for chunk in self._artifacts.read(request.artifact_id, request.offset, request.limit or None):
                yield pb.ReadArtifactResponse(chunk=chunk)
        except ArtifactDamaged as error:
            raise Refusal(
                ErrorCode.ERROR_CODE_NOT_FOUND,
                f"{request.artifact_id} went while it was read",
                details={"artifact_id": request.artifact_id},
            ) from error


def _is_seen(identity: CallerIdentity, operation: Operation) -> bool:
    tenant = tenant_seen(identity)
    if tenant and operation.tenant != tenant:
        return False
    # A record names its entity only: an agent's token sees the calls about its agent.
    return not identity.agent_id or operation.subject == identity.agent_id


def _is_wanted(identity: CallerIdentity, request: pb.ListOperationsRequest, operation: Operation) -> bool:
    return (
        _is_seen(identity, operation)
        and request.kind in ("", operation.kind)
        and request.status in (0, operation.status)
        and request.subject in ("", operation.subject)
    )
