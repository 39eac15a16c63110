"""upload_file: files into a page, from the call's bytes or from artifacts; never from a path."""

from __future__ import annotations

from collections.abc import AsyncIterator

from hyperkitty.browser.v1.operations_pb2 import UploadFile, UploadFileOperation, UploadFileResult
from hyperkitty.operations.v1.errors_pb2 import ErrorCode

from services.browser import gate, uploads
from services.browser.operations.artifacts import check_artifact
from services.browser.operations.elements import element_to_proto
from services.browser.operations.reads import reading
from services.browser.operations.registry import handles
from services.browser.page import uploading
from services.browser.session import Session
from services.browser.tab import Tab
from services.browser.uploads import Upload
from services.kit.errors import Refusal


@handles(UploadFileOperation, gated=True)
async def upload_file(tab: Tab, operation: UploadFileOperation) -> UploadFileResult:
    """Give the files to the input that the target names, or that a click on it opens."""
    for place, file in enumerate(operation.files):
        await _check(tab.session, file, f"files[{place}]")
    with reading(tab):
        found, what = await uploading.find_input(tab.page, operation.target)
        await gate.opened()
        files = [Upload(file.name, _bytes_of(tab.session, file)) for file in operation.files]
        paths = await uploads.write(tab.session.chromium.directory.path, files)
        names = await uploading.give(tab.page, found, what, paths)
    return UploadFileResult(element=element_to_proto(found.element), names=names)


async def _check(session: Session, file: UploadFile, field: str) -> None:
    """Refuse what is not bytes or an artifact of the caller's. Raises Refusal."""
    uploads.check_name(file.name, f"{field}.name")
    if file.content and file.artifact_id:
        raise Refusal(
            ErrorCode.ERROR_CODE_INVALID_ARGUMENTS,
            f"{field} has content and artifact_id",
            details={"violations": [{"field": f"{field}.artifact_id", "message": "cannot be given with content"}]},
        )
    if file.artifact_id:
        await check_artifact(session, file.artifact_id)


async def _bytes_of(session: Session, file: UploadFile) -> AsyncIterator[bytes]:
    if not file.artifact_id:
        yield file.content
        return
    async for chunk in session.artifacts.read(file.artifact_id):
        yield chunk
