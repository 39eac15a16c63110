"""Files on their way into a page: written where the session's Chromium can read them; no caller names a path."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

from hyperkitty.operations.v1.errors_pb2 import ErrorCode

from services.kit.errors import Refusal
from services.kit.ids import new_id

MOST_SESSION_BYTES = 500 * 1024**2
_FOLDER = "uploads"
_FORBIDDEN = frozenset("/\\\0")


@dataclass(frozen=True, slots=True)
class Upload:
    """One file: its name, and its bytes in chunks."""

    name: str
    chunks: AsyncIterator[bytes]


def check_name(name: str, field: str) -> None:
    """Refuse a name that is a path. Raises Refusal invalid_arguments."""
    if not name or name in (".", "..") or _FORBIDDEN.intersection(name) or len(name.encode()) > 255:
        raise Refusal(
            ErrorCode.ERROR_CODE_INVALID_ARGUMENTS,
            f"{field}: {name[:100]!r} is no file name",
            details={"violations": [{"field": field, "message": "must be a name of 1 to 255 bytes, without a path"}]},
        )


async def write(session_folder: Path, uploads: list[Upload]) -> list[str]:
    """Write the files into a folder of their own; returns their paths. They stay as long as the session.

    Raises Refusal resource_exhausted, OSError.
    """
    kept = await asyncio.to_thread(_size, session_folder / _FOLDER)
    folder = await asyncio.to_thread(_make, session_folder)
    paths: list[str] = []
    for number, upload in enumerate(uploads):
        # Two files may have one name.
        inside = await asyncio.to_thread(_own, folder / str(number), folder)
        path = inside / upload.name
        with path.open("xb") as file:
            async for chunk in upload.chunks:
                kept += len(chunk)
                if kept > MOST_SESSION_BYTES:
                    raise Refusal(
                        ErrorCode.ERROR_CODE_RESOURCE_EXHAUSTED,
                        f"a session's uploads may have {MOST_SESSION_BYTES} bytes",
                        details={"limit": MOST_SESSION_BYTES},
                    )
                await asyncio.to_thread(file.write, chunk)
        _give(path, folder, 0o600)
        paths.append(str(path))
    return paths


def _make(session_folder: Path) -> Path:
    """A new folder of the session's own user."""
    _own(session_folder / _FOLDER, session_folder)
    return _own(session_folder / _FOLDER / new_id("op"), session_folder)


def _own(folder: Path, like: Path) -> Path:
    folder.mkdir(mode=0o700, exist_ok=True)
    _give(folder, like, 0o700)
    return folder


def _give(path: Path, like: Path, mode: int) -> None:
    """To whom `like` belongs: Chromium's own user, where the service is root."""
    owner = like.stat()
    path.chmod(mode)
    if owner.st_uid != os.geteuid():
        os.chown(path, owner.st_uid, owner.st_gid)


def _size(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file()) if folder.is_dir() else 0
