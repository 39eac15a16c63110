"""Giving files to a file input, visible or not, or through the control that opens its chooser."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

from hyperkitty.browser.v1 import targets_pb2 as pb
from hyperkitty.operations.v1.errors_pb2 import ErrorCode

from services.browser.cdp.domains import dom
from services.browser.cdp.domains import page as cdp_page
from services.browser.page import pointer
from services.browser.page.acting import aim, press
from services.browser.page.page import Page
from services.browser.page.results import FileInput
from services.browser.page.targeting import Found, Need, locate, ref_entry, stale, waiting_seconds
from services.kit.deadlines import current_budget
from services.kit.errors import Refusal

OPEN_SECONDS = 3.0
"""How long a click may take to open a chooser."""


async def find_input(page: Page, target: pb.Target) -> tuple[Found, FileInput]:
    """The file input that a target names, or the control that may open one. Raises Refusal."""
    found = await locate(page, target, Need(visible=False))
    what = await page.call(found.frame, "fileInput", {"handle": found.handle}, FileInput)
    if what.gone:
        raise await stale(page, ref_entry(page, found.element.ref))
    return found, what


async def give(page: Page, found: Found, what: FileInput, paths: Sequence[str]) -> list[str]:
    """Put files into an input; the names that it holds then. No input device does that: it is marked so."""
    if not what.input:
        return await _through_chooser(page, found, paths)
    _check_number(found, paths, multiple=what.multiple)
    seconds = current_budget().remaining()
    object_id = await found.frame.world.object_of(what.handle, seconds)
    await page.wire.send(found.frame.session, dom.SetFileInputFiles(files=list(paths), object_id=object_id), seconds)
    page.synthetic_acts += 1
    after = await page.call(found.frame, "fileInput", {"handle": what.handle}, FileInput)
    return after.names


async def _through_chooser(page: Page, found: Found, paths: Sequence[str]) -> list[str]:
    """Click, and answer the chooser that opens. Raises Refusal not_interactable when none does."""
    session = found.frame.session
    seconds = current_budget().remaining()
    opened: asyncio.Future[cdp_page.FileChooserOpened] = asyncio.get_running_loop().create_future()

    def open_(event: cdp_page.FileChooserOpened) -> None:
        if not opened.done():
            opened.set_result(event)

    unsubscribe: Callable[[], None] = session.on(cdp_page.FileChooserOpened, open_)
    try:
        await page.wire.send(session, cdp_page.SetInterceptFileChooserDialog(enabled=True), seconds)
        aimed = await aim(page, pb.Target(ref=found.element.ref), Need(), _nothing)
        await press(page, aimed, pointer.clicks(aimed.x, aimed.y))
        async with asyncio.timeout(min(OPEN_SECONDS, waiting_seconds())):
            event = await opened
    except TimeoutError:
        raise Refusal(
            ErrorCode.ERROR_CODE_NOT_INTERACTABLE,
            f"{found.element.role} {found.element.name[:100]!r} is no file input, and a click on it opened no chooser",
            details={"reason": "no_file_chooser", "ref": found.element.ref},
        ) from None
    finally:
        unsubscribe()
        session.post(cdp_page.SetInterceptFileChooserDialog(enabled=False), timeout=OPEN_SECONDS)
    _check_number(found, paths, multiple=event.mode == "selectMultiple")
    command = dom.SetFileInputFiles(files=list(paths), backend_node_id=event.backend_node_id)
    await page.wire.send(session, command, seconds)
    page.synthetic_acts += 1
    return [path.rpartition("/")[2] for path in paths]


def _check_number(found: Found, paths: Sequence[str], *, multiple: bool) -> None:
    if len(paths) > 1 and not multiple:
        raise Refusal(
            ErrorCode.ERROR_CODE_INVALID_ARGUMENTS,
            f"{found.element.role} {found.element.name[:100]!r} takes one file only",
            details={"violations": [{"field": "files", "message": "the input is not `multiple`"}]},
        )


async def _nothing() -> None:
    """The gate is open already."""
