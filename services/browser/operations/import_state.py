"""import_state: cookies and storage of an exported state put into a session; no site is asked for anything."""

from __future__ import annotations

from hyperkitty.browser.v1.operations_pb2 import WAIT_UNTIL_NONE, ImportStateOperation, ImportStateResult
from hyperkitty.operations.v1.errors_pb2 import ErrorCode
from msgspec import DecodeError

from services.browser.cdp.domains import storage
from services.browser.operations import state
from services.browser.operations.artifacts import check_artifact
from services.browser.operations.registry import handles
from services.browser.page import loading
from services.browser.page.results import Kept
from services.browser.page.storage import answer_with_nothing, restore
from services.browser.policy import scope_of
from services.browser.session import Session
from services.kit.deadlines import current_budget
from services.kit.errors import Refusal
from services.kit.ids import new_id


@handles(ImportStateOperation)
async def import_state(session: Session, operation: ImportStateOperation) -> ImportStateResult:
    """Set the cookies, then the local storage of each origin that is inside the session's scope."""
    given = await _read(session, operation.artifact_id)
    if given.cookies:
        await session.cdp.send(storage.SetCookies(cookies=given.cookies), timeout=current_budget().remaining())
    scope = scope_of(session.policy)
    origins = [kept for kept in given.origins if kept.local and scope.allows(f"{kept.origin}/")]
    return ImportStateResult(cookies=len(given.cookies), origins=await _restored(session, origins))


async def _restored(session: Session, origins: list[Kept]) -> int:
    """In a tab of its own that reaches no site."""
    if not origins:
        return 0
    tab = await session.open_tab(new_id("tab"))
    try:
        await answer_with_nothing(tab.page)
        done = 0
        for kept in origins:
            await loading.navigate(tab.page, f"{kept.origin}/", WAIT_UNTIL_NONE)
            done += await restore(tab.page, kept)
        return done
    finally:
        await tab.close(run_beforeunload=False)


async def _read(session: Session, artifact_id: str) -> state.State:
    """Raises Refusal not_found, invalid_arguments."""
    artifact = await check_artifact(session, artifact_id)
    if artifact.content_type != state.CONTENT_TYPE or artifact.bytes > state.MOST_BYTES:
        raise _no_state(artifact_id, f"it is {artifact.content_type} of {artifact.bytes} bytes")
    data = b"".join([chunk async for chunk in session.artifacts.read(artifact_id)])
    try:
        given = state.decode(data)
    except DecodeError as error:
        raise _no_state(artifact_id, str(error)) from error
    if given.version != state.VERSION:
        raise _no_state(artifact_id, f"its version is {given.version}")
    return given


def _no_state(artifact_id: str, why: str) -> Refusal:
    return Refusal(
        ErrorCode.ERROR_CODE_INVALID_ARGUMENTS,
        f"{artifact_id} is no exported state: {why}",
        hint="export_state makes one.",
        details={"violations": [{"field": "artifact_id", "message": why}]},
    )
