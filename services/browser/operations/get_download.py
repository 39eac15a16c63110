"""get_download: a file that a page sent; of a PDF its text too."""

from __future__ import annotations

import asyncio
from io import BytesIO

from hyperkitty.browser.v1.operations_pb2 import GetDownloadOperation, GetDownloadResult
from hyperkitty.browser.v1.targets_pb2 import DOWNLOAD_STATE_COMPLETED, Download
from hyperkitty.operations.v1.artifacts_pb2 import ARTIFACT_KIND_DOWNLOAD
from hyperkitty.operations.v1.errors_pb2 import ErrorCode
from pypdf import PdfReader
from pypdf.errors import PyPdfError

from services.browser.operations.registry import handles
from services.browser.session import Session
from services.kit.deadlines import current_budget
from services.kit.errors import Refusal

MOST_INLINE_BYTES = 1024 * 1024
MOST_TEXT = 25_000
MOST_PARSED_BYTES = 20 * 1024 * 1024
MOST_PAGES = 500
_PDF = "application/pdf"


@handles(GetDownloadOperation)
async def get_download(session: Session, operation: GetDownloadOperation) -> GetDownloadResult:
    """Give a download of this session by its artifact."""
    download = await _known(session, operation.artifact_id)
    wanted = operation.extract_text and download.content_type == _PDF
    if operation.extract_text and not wanted:
        raise Refusal(
            ErrorCode.ERROR_CODE_INVALID_ARGUMENTS,
            f"{operation.artifact_id} is {download.content_type}; text is extracted from {_PDF} only",
            details={"violations": [{"field": "extract_text", "message": f"needs {_PDF}"}]},
        )
    limit = MOST_PARSED_BYTES if wanted else MOST_INLINE_BYTES
    if download.bytes > limit:
        return GetDownloadResult(download=download)
    chunks = session.artifacts.read(operation.artifact_id)
    data = b"".join([chunk async for chunk in chunks])
    text = ""
    if wanted:
        async with current_budget().limit():
            text = await asyncio.to_thread(_text_of, data)
    return GetDownloadResult(download=download, content=data if len(data) <= MOST_INLINE_BYTES else b"", text=text)


async def _known(session: Session, artifact_id: str) -> Download:
    """The download; also one from before the session's browser was started again. Raises Refusal not_found."""
    known = session.downloads.find(artifact_id)
    if known is not None:
        return known
    artifact = await session.artifacts.info(artifact_id)
    if artifact is None or artifact.session_id != session.session_id or artifact.kind != ARTIFACT_KIND_DOWNLOAD:
        raise Refusal(
            ErrorCode.ERROR_CODE_NOT_FOUND,
            f"{artifact_id} is no download of {session.session_id}",
            hint="list_downloads has them.",
            details={"artifact_id": artifact_id},
        )
    return Download(
        artifact_id=artifact_id,
        state=DOWNLOAD_STATE_COMPLETED,
        bytes=artifact.bytes,
        content_type=artifact.content_type,
    )


def _text_of(data: bytes) -> str:
    """The text of a PDF's first pages, cut. Blocking. Raises Refusal invalid_arguments for what is none."""
    pieces: list[str] = []
    length = 0
    try:
        for page in PdfReader(BytesIO(data)).pages[:MOST_PAGES]:
            pieces.append(page.extract_text())
            length += len(pieces[-1])
            if length > MOST_TEXT:
                break
    except (PyPdfError, ValueError, KeyError, RecursionError) as error:
        raise Refusal(
            ErrorCode.ERROR_CODE_INVALID_ARGUMENTS,
            f"the PDF cannot be read: {str(error)[:200]}",
            details={"violations": [{"field": "extract_text", "message": "the file is damaged"}]},
        ) from error
    return "\n".join(pieces)[:MOST_TEXT].encode("utf-8", "replace").decode()
