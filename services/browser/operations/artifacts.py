"""Artifacts that a call names: only those that its caller may read."""

from __future__ import annotations

from hyperkitty.operations.v1.artifacts_pb2 import Artifact
from hyperkitty.operations.v1.errors_pb2 import ErrorCode

from services.browser.session import Session
from services.kit.errors import Refusal


async def check_artifact(session: Session, artifact_id: str) -> Artifact:
    """The artifact: of the session's tenant, and for an agent's session of that agent. Raises Refusal not_found."""
    artifact = await session.artifacts.info(artifact_id)
    theirs = artifact is not None and artifact.tenant == session.tenant
    if artifact is not None and theirs and artifact.agent_id in ("", session.owner_agent_id):
        return artifact
    raise Refusal(
        ErrorCode.ERROR_CODE_NOT_FOUND, f"there is no artifact {artifact_id!r}", details={"artifact_id": artifact_id}
    )
