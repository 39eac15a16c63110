"""screenshot: a picture, stored as an artifact, and inline up to 1 MiB."""

from __future__ import annotations

from hyperkitty.browser.v1.operations_pb2 import ScreenshotOperation, ScreenshotResult
from hyperkitty.operations.v1.artifacts_pb2 import ARTIFACT_KIND_SCREENSHOT
from hyperkitty.operations.v1.errors_pb2 import ErrorCode

from services.browser.operations.reads import reading, still
from services.browser.operations.registry import handles
from services.browser.page.picture import Picture, take
from services.browser.page.targeting import Found, Need, locate
from services.browser.tab import Tab
from services.kit.errors import Refusal

MOST_INLINE_BYTES = 1024 * 1024


@handles(ScreenshotOperation)
async def screenshot(tab: Tab, operation: ScreenshotOperation) -> ScreenshotResult:
    """Take a picture of what was asked for."""
    _check(operation)
    async with still(tab):
        with reading(tab):
            picture = await _picture(tab, operation)
    artifact = await tab.session.keep(ARTIFACT_KIND_SCREENSHOT, picture.content_type, picture.data)
    return ScreenshotResult(
        artifact=artifact,
        content_type=picture.content_type,
        image=picture.data if len(picture.data) <= MOST_INLINE_BYTES else b"",
        width=picture.width,
        height=picture.height,
        truncated=picture.truncated,
    )


async def _picture(tab: Tab, operation: ScreenshotOperation) -> Picture:
    found: Found | None = None
    if operation.HasField("target"):
        found = await locate(tab.page, operation.target, Need(enabled=False))
    return await take(
        tab.page,
        operation.format,
        operation.quality,
        full_page=operation.full_page,
        clip=operation.clip if operation.HasField("clip") else None,
        found=found,
    )


def _check(operation: ScreenshotOperation) -> None:
    """Refuse what excludes each other, and what is not served yet."""
    if operation.annotate:
        raise Refusal(ErrorCode.ERROR_CODE_UNIMPLEMENTED, "screenshot does not serve annotate yet")
    asked = [name for name in ("target", "clip") if operation.HasField(name)] + ["full_page"] * operation.full_page
    if len(asked) > 1:
        raise Refusal(
            ErrorCode.ERROR_CODE_INVALID_ARGUMENTS,
            f"{' and '.join(asked)} exclude each other",
            details={"fields": [{"field": asked[1], "problem": f"cannot be given with {asked[0]}"}]},
        )
