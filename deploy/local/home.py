"""The home of one system, its runtime directory, and the lock that keeps a second `up` out."""

from __future__ import annotations

import fcntl
import hashlib
import os
import stat
from dataclasses import dataclass
from pathlib import Path
from typing import IO

# AF_UNIX takes 107 bytes; Chromium's own sockets live deeper, so the directory itself stays short.
MAX_RUNTIME_BYTES = 44


class HomeRefused(Exception):
    """The home or its runtime directory cannot be used; the message says why."""


@dataclass(frozen=True)
class Home:
    """Paths of one system. `root` is absolute and resolved; its hash names everything that lies outside it."""

    root: Path
    runtime: Path

    @property
    def state_file(self) -> Path:
        return self.root / "state.json"

    @property
    def supervisor_file(self) -> Path:
        return self.runtime / "supervisor.json"

    @property
    def token_file(self) -> Path:
        return self.root / "root.token"

    @property
    def logs(self) -> Path:
        return self.root / "logs"

    @property
    def nats(self) -> Path:
        return self.root / "nats"

    @property
    def private_keys(self) -> Path:
        return self.root / "keys" / "private"

    @property
    def public_keys(self) -> Path:
        return self.root / "keys" / "public"

    def socket(self, process: str) -> Path:
        return self.runtime / f"{process}.sock"

    def credentials(self, process: str) -> Path:
        return self.nats / f"{process}.credentials"


def home_hash(root: Path) -> str:
    """Twelve hex digits of the SHA-256 of the home's path."""
    return hashlib.sha256(os.fsencode(root)).hexdigest()[:12]


def default_root() -> Path:
    """$HYPERKITTY_HOME, else `hyperkitty` in the user's state directory (XDG Base Directory)."""
    chosen = os.environ.get("HYPERKITTY_HOME", "")
    if chosen:
        return Path(chosen).expanduser().resolve()
    state = os.environ.get("XDG_STATE_HOME", "")
    return (Path(state) if state else Path.home() / ".local" / "state").resolve() / "hyperkitty"


def runtime_directory(root: Path) -> Path:
    """`hk-<hash>` under $XDG_RUNTIME_DIR, or under /tmp when that is absent or would make socket paths too long."""
    name = f"hk-{home_hash(root)}"
    for base in (os.environ.get("XDG_RUNTIME_DIR", ""), "/tmp"):
        if base and Path(base).is_dir() and len(os.fsencode(f"{base}/{name}")) <= MAX_RUNTIME_BYTES:
            return Path(base) / name
    raise HomeRefused("no directory for sockets: neither XDG_RUNTIME_DIR nor /tmp is usable")


def prepare(root: Path) -> Home:
    """Make home and runtime directory, both 0700 and ours. Raises HomeRefused."""
    home = Home(root, runtime_directory(root))
    private_directory(home.root)
    private_directory(home.runtime)
    for directory in (home.logs, home.nats, home.private_keys, home.public_keys):
        private_directory(directory)
    return home


def private_directory(path: Path) -> None:
    """Make `path` a directory of mode 0700 owned by this user; raises HomeRefused when it is something else."""
    try:
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
        facts = path.lstat()
        if not stat.S_ISDIR(facts.st_mode):
            raise HomeRefused(f"{path} is not a directory")
        if facts.st_uid != os.getuid():
            raise HomeRefused(f"{path} belongs to uid {facts.st_uid}, not to {os.getuid()}")
        path.chmod(0o700)
    except OSError as error:
        raise HomeRefused(f"{path}: {error.strerror}") from error


def lock(home: Home) -> IO[str]:
    """Hold the home for as long as the returned file is open. Raises HomeRefused when another `up` holds it.

    A POSIX record lock: it ends with its process, so that a dead `up` leaves nothing to clean, and `status` can ask who
    holds it without taking it. It also ends when this process closes *any* descriptor of the file: open it only here.
    """
    held = (home.root / "up.lock").open("w")
    try:
        fcntl.lockf(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        held.close()
        raise HomeRefused(f"already running on {home.root} (see `hyperkitty status`)") from error
    return held


def write_private(path: Path, content: str) -> None:
    """Write a 0600 file by rename: a reader sees the old content or the new, never half."""
    partial = path.with_name(f".{path.name}.partial")
    descriptor = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, 0o600)
    with os.fdopen(descriptor, "w") as file:
        os.fchmod(descriptor, 0o600)
        file.write(content)
    partial.replace(path)
