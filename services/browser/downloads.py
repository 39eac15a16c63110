"""The files that a session's pages send (SPEC §4): kept in its own folder until they are whole, then as artifacts.

Chromium saves them under names of its own; the name that a site proposes is data, never a path.
"""

from __future__ import annotations

import asyncio
import mimetypes
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from hyperkitty.browser.v1 import targets_pb2 as pb
from hyperkitty.operations.v1.artifacts_pb2 import ARTIFACT_KIND_DOWNLOAD, Artifact, ArtifactKind

from services.browser.cdp.domains import browser
from services.browser.cdp.session import CdpSession
from services.browser.page.conditions import Conditions
from services.kit import deadlines, logs
from services.kit.artifacts import CHUNK_BYTES
from services.kit.errors import Refusal
from services.kit.json_values import JsonValue
from services.kit.masking import masked

log = logs.get(__name__)

MOST_BYTES = 100 * 1024**2
MOST_SESSION_BYTES = 500 * 1024**2
MOST_LISTED = 1000
"""Downloads a session remembers; the oldest that ended is forgotten first, its artifact stays."""
KEEP_SECONDS = 120.0
COMMAND_SECONDS = 5.0
_MOST_NAME = 255
_ENDED = frozenset({pb.DOWNLOAD_STATE_COMPLETED, pb.DOWNLOAD_STATE_FAILED, pb.DOWNLOAD_STATE_BLOCKED})

Keep = Callable[[ArtifactKind.ValueType, str, "bytes | AsyncIterator[bytes]"], Awaitable[Artifact]]
Tell = Callable[[str, str, Mapping[str, JsonValue]], None]


@dataclass(frozen=True, slots=True)
class Rules:
    """Where a session's downloads go, and whether they may."""

    session_id: str
    folder: Path
    blocked: bool


class Downloads:
    """The downloads of one session."""

    def __init__(self, rules: Rules, keep: Keep, tell: Tell) -> None:
        self._rules = rules
        self._keep = keep
        self._tell = tell
        self._known: dict[str, pb.Download] = {}
        self._waited: set[str] = set()
        self._tasks: set[asyncio.Task[None]] = set()
        self.conditions = Conditions()
        """Something happened to one of them."""

    async def start(self, cdp: CdpSession, timeout: float) -> None:
        """Tell the browser where they go. `timeout` in seconds. Raises CdpFault."""
        self._cdp = cdp
        cdp.on(browser.DownloadWillBegin, self._begun)
        cdp.on(browser.DownloadProgress, self._progress)
        behavior = browser.SetDownloadBehavior(
            behavior="deny" if self._rules.blocked else "allowAndName",
            download_path=None if self._rules.blocked else str(self._rules.folder),
            events_enabled=True,
        )
        await cdp.send(behavior, timeout=timeout)

    def close(self) -> None:
        """Give up those that are not whole."""
        for task in list(self._tasks):
            task.cancel()

    # questions

    def all(self) -> list[pb.Download]:
        """Oldest first."""
        return list(self._known.values())

    def find(self, artifact_id: str) -> pb.Download | None:
        """The one that became an artifact."""
        return next((download for download in self._known.values() if download.artifact_id == artifact_id), None)

    def of(self, guid: str) -> pb.Download | None:
        """The one that the browser calls so."""
        return self._known.get(guid)

    async def until_ended(self, guid: str, seconds: float) -> None:
        """Wait for its end. Raises TimeoutError."""
        await self.conditions.until(lambda: guid not in self._known or self._known[guid].state in _ENDED, seconds)

    async def one_ended(self, seconds: float) -> None:
        """Wait until one has ended that nobody was told of by this yet. Raises TimeoutError."""
        await self.conditions.until(lambda: bool(self._untold()), seconds)
        self._waited.update(self._untold())

    def _untold(self) -> list[str]:
        return [guid for guid, one in self._known.items() if one.state in _ENDED and guid not in self._waited]

    # what the browser tells

    def _begun(self, event: browser.DownloadWillBegin) -> None:
        self._known[event.guid] = pb.Download(
            url=event.url[:2047],
            suggested_name=safe_name(event.suggested_filename),
            state=pb.DOWNLOAD_STATE_IN_PROGRESS,
        )
        self._forget_oldest()
        if self._rules.blocked:
            self._end(event.guid, pb.DOWNLOAD_STATE_BLOCKED, "the session's settings block downloads")
        self.conditions.happened()

    def _forget_oldest(self) -> None:
        if len(self._known) > MOST_LISTED:
            ended = next((guid for guid, download in self._known.items() if download.state in _ENDED), None)
            if ended is not None:
                del self._known[ended]
                self._waited.discard(ended)

    def _progress(self, event: browser.DownloadProgress) -> None:
        download = self._known.get(event.guid)
        if download is None or download.state in _ENDED:
            return
        download.bytes = int(event.received_bytes)
        if over := self._over(event):
            self._cdp.post(browser.CancelDownload(guid=event.guid), timeout=COMMAND_SECONDS)
            self._end(event.guid, pb.DOWNLOAD_STATE_BLOCKED, over)
        elif event.state == "canceled":
            self._end(event.guid, pb.DOWNLOAD_STATE_FAILED, "it broke off")
        elif event.state == "completed":
            task = asyncio.create_task(self._store(event.guid, download), name=f"download {event.guid}")
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    def _over(self, event: browser.DownloadProgress) -> str:
        """Which limit it passes; "" for none."""
        if max(event.received_bytes, event.total_bytes) > MOST_BYTES:
            return f"a download may have {MOST_BYTES} bytes"
        kept = sum(one.bytes for one in self._known.values() if one.state != pb.DOWNLOAD_STATE_BLOCKED)
        return f"a session's downloads may have {MOST_SESSION_BYTES} bytes" if kept > MOST_SESSION_BYTES else ""

    async def _store(self, guid: str, download: pb.Download) -> None:
        """A whole file becomes an artifact, and leaves the folder."""
        path = self._rules.folder / guid
        state, reason = pb.DOWNLOAD_STATE_COMPLETED, ""
        try:
            with deadlines.within(KEEP_SECONDS):
                download.content_type = await asyncio.to_thread(media_type, path, download.suggested_name)
                artifact = await self._keep(ARTIFACT_KIND_DOWNLOAD, download.content_type, _bytes_of(path))
                download.artifact_id, download.bytes = artifact.artifact_id, artifact.bytes
        except (OSError, Refusal) as error:
            log.warning("download_not_kept", session_id=self._rules.session_id, error=str(error))
            state, reason = pb.DOWNLOAD_STATE_FAILED, "it could not be stored"
        finally:
            await asyncio.to_thread(path.unlink, missing_ok=True)
        self._end(guid, state, reason)

    def _end(self, guid: str, state: pb.DownloadState.ValueType, reason: str) -> None:
        download = self._known[guid]
        download.state, download.reason = state, reason
        completed = state == pb.DOWNLOAD_STATE_COMPLETED
        self._tell(
            "browser.download.completed" if completed else "browser.download.failed",
            download.artifact_id or self._rules.session_id,
            masked(download),
        )
        self.conditions.happened()


def safe_name(name: str) -> str:
    """A proposed name without separators, control characters and leading dots; never empty."""
    plain = re.sub(r"[/\\\x00-\x1f\x7f\u202a-\u202e\u2066-\u2069]", "", name).strip().lstrip(".")
    return plain[-_MOST_NAME:] or "download"


def media_type(path: Path, name: str) -> str:
    """By what the file begins with where that says it (PDF), else by its name. Blocking; raises OSError."""
    with path.open("rb") as file:
        if file.read(5) == b"%PDF-":
            return "application/pdf"
    return mimetypes.guess_type(name)[0] or "application/octet-stream"


async def _bytes_of(path: Path) -> AsyncIterator[bytes]:
    """A file in chunks. Raises OSError."""
    with path.open("rb") as file:
        while chunk := await asyncio.to_thread(file.read, CHUNK_BYTES):
            yield chunk
