"""nats-server on one machine: its configuration, credentials, and how to know that it serves."""

from __future__ import annotations

import asyncio
import json
import secrets
import shutil
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import cast

from deploy.local.home import Home, write_private
from deploy.nats_rights import user_of
from deploy.processes import NATS, Process

PASSWORD_BYTES = 24
MAX_MEMORY_STORE_BYTES = 64 * 1024**2
MAX_FILE_STORE_BYTES = 64 * 1024**3
PROBE_SECONDS = 0.5
PROBE_INTERVAL_SECONDS = 0.03


class NatsMissing(Exception):
    """No nats-server binary is installed."""


def binary() -> Path:
    """The server installed with the environment, else the machine's. Raises NatsMissing."""
    beside = Path(sys.executable).parent / "nats-server"
    if beside.exists():
        return beside
    found = shutil.which("nats-server")
    if found is None:
        raise NatsMissing("no nats-server: run `make setup`")
    return Path(found)


def write_configuration(home: Home, port: int, table: Iterable[Process]) -> Path:
    """Write nats.conf and one credentials file a process, with fresh passwords; returns the configuration's path.

    The credentials file is one line `user:password`. Both are 0600 and live as long as the server that reads them.
    """
    users: list[dict[str, object]] = []
    for process in table:
        if process.name == NATS.name:
            continue
        password = secrets.token_urlsafe(PASSWORD_BYTES)
        write_private(home.credentials(process.name), f"{process.name}:{password}\n")
        users.append(user_of(process, password))
    settings = {
        "host": "127.0.0.1",
        "port": port,
        "server_name": "hyperkitty",
        # What streams keep is bounded by each stream; without a figure the server would guess one from the disk.
        "jetstream": {
            "store_dir": str(home.nats / "store"),
            "max_memory_store": MAX_MEMORY_STORE_BYTES,
            "max_file_store": MAX_FILE_STORE_BYTES,
        },
        "authorization": {"users": users},
    }
    path = home.nats / "nats.conf"
    # The server's configuration language is a superset of JSON.
    write_private(path, json.dumps(settings, indent=2))
    return path


async def until_serving(port: int) -> None:
    """Return once the server greets with JetStream on; polls until its caller's deadline cancels it.

    The server listens only after it has recovered its streams, so that the greeting is enough.
    """
    while not await _greets(port):  # noqa: ASYNC110 - another process has no event to wait for
        await asyncio.sleep(PROBE_INTERVAL_SECONDS)


async def _greets(port: int) -> bool:
    """Whether the server's INFO line came, and says that JetStream is on."""
    try:
        async with asyncio.timeout(PROBE_SECONDS):
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            try:
                verb, _, body = (await reader.readline()).partition(b" ")
            finally:
                writer.close()
        greeting: object = json.loads(body)
    except (OSError, ValueError, TimeoutError):
        return False
    return (
        verb == b"INFO" and isinstance(greeting, dict) and cast("dict[str, object]", greeting).get("jetstream") is True
    )
