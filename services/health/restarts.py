"""How often the local supervisor started each process again, from the file it keeps; nothing where none runs."""

from __future__ import annotations

from pathlib import Path

import msgspec

FILE = "supervisor.json"
_MOST_BYTES = 1_000_000


class _Process(msgspec.Struct):
    restarts: int = 0


class _File(msgspec.Struct):
    processes: dict[str, _Process] = {}


def read(runtime_dir: Path) -> dict[str, int]:
    """Restarts by process name; empty where there is no such file or it cannot be read."""
    try:
        content = (runtime_dir / FILE).read_bytes()[:_MOST_BYTES]
        return {name: process.restarts for name, process in msgspec.json.decode(content, type=_File).processes.items()}
    except (OSError, msgspec.MsgspecError):
        return {}
