"""Where sessions keep their files: /var/tmp/hyperkitty-<hash of the home>/<session id>/, and who may look in.

The home itself is 0700 and Chromium's own uid cannot go through it (DESIGN §10). The directory is claimed with a
lock for as long as the service lives, and says in a file whose home it is; what does not is left alone.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import signal
import stat
import time
from dataclasses import dataclass, field
from pathlib import Path

from services.browser.chromium.owners import Owner
from services.kit import logs
from services.kit.ids import is_id
from services.kit.processes import ProcessId, identity, send
from services.kit.settings import home_hash

log = logs.get(__name__)

BASE = Path("/var/tmp")
HOME_VARIABLE = "HK_HOME"
"""The home's hash in the environment of every process started for a session."""

_MARKER = "home"
_LOCK = "lock"
_CLAIM_TRIES = 10
_WIPE_SECONDS = 3.0
_WIPE_PAUSE_SECONDS = 0.05
_TEMPORARY = "tmp-"
_PROFILES = "profiles"
_SINGLETON = ("SingletonLock", "SingletonCookie", "SingletonSocket")
"""Who uses a profile, as Chromium notes it: a pid, which means nothing in another PID namespace."""


class NotOurs(Exception):
    """The directory exists but is not provably this home's, or another service has claimed it."""


@dataclass(frozen=True)
class SessionDirectory:
    """One session's files. All owned by the session's user, 0700."""

    path: Path
    kept_profile: Path | None = None
    """A named profile, which outlives the session."""
    _names: list[Path] = field(default_factory=list[Path], repr=False, compare=False)

    @property
    def profile(self) -> Path:
        """Chromium's user data directory."""
        return self.kept_profile or self.path / "profile"

    def name_for(self, session_id: str) -> None:
        """Let it be found under the id of the session that uses it; what is open in it stays where it is."""
        name = self.path.with_name(session_id)
        name.symlink_to(self.path.name)
        self._names.append(name)

    @property
    def downloads(self) -> Path:
        """Where Chromium saves downloads, under names that are ids."""
        return self.path / "downloads"

    @property
    def temporary(self) -> Path:
        """TMPDIR, where full Chromium puts a socket: beside the session's directory, because the path of one
        inside it passes the 107 bytes that a socket's path may have (unix(7))."""
        return self.path.with_name(_TEMPORARY + self.path.name[-12:])

    def make(self, owner: Owner) -> None:
        """Create it, new. Raises FileExistsError, and leaves what is there alone."""
        self.path.mkdir(mode=0o700)
        try:
            for path in (self.path / "profile", self.downloads, self.temporary):
                path.mkdir(mode=0o700)
            if self.kept_profile is not None:
                _hand_over(self.kept_profile, owner)
            if owner.uid != os.geteuid():
                for path in (self.path, self.path / "profile", self.downloads, self.temporary):
                    os.chown(path, owner.uid, owner.gid)
        except OSError:
            self.wipe()
            raise

    def wipe(self) -> None:
        """Remove it with all it holds; blocking. What cannot be removed is logged and left for the next sweep.

        A Chromium whose launcher was killed may write for a moment yet: then it is tried again.
        """
        paths = (self.path, self.temporary)
        deadline = time.monotonic() + _WIPE_SECONDS
        for path in paths:
            shutil.rmtree(path, ignore_errors=True)
        while any(path.exists() for path in paths) and time.monotonic() < deadline:
            time.sleep(_WIPE_PAUSE_SECONDS)
            for path in paths:
                shutil.rmtree(path, ignore_errors=True)
        for path in paths:
            shutil.rmtree(path, onerror=_log_unremovable)
        for name in self._names:
            name.unlink(missing_ok=True)


def _hand_over(profile: Path, owner: Owner) -> None:
    """Make a named profile, or give it with all it holds to the user that its next session runs as."""
    profile.mkdir(mode=0o700, exist_ok=True)
    for name in _SINGLETON:
        (profile / name).unlink(missing_ok=True)
    if owner.uid != os.geteuid():
        for parent, _, files in os.walk(profile):
            for path in (parent, *(os.path.join(parent, name) for name in files)):
                os.lchown(path, owner.uid, owner.gid)


def _log_unremovable(_call: object, path: str, problem: tuple[type[BaseException], BaseException, object]) -> None:
    if not isinstance(problem[1], FileNotFoundError):
        log.warning("session_file_left", path=path, error=str(problem[1]))


class SessionDirectories:
    """All session directories of one home."""

    def __init__(self, home: Path, base: Path = BASE) -> None:
        self._home = os.path.abspath(home)
        self.hash = home_hash(home)
        self.path = base / f"hyperkitty-{self.hash}"
        self._lock: int | None = None

    def claim(self) -> None:
        """Take it for this process, and remove what an earlier one left. Blocking.

        Raises NotOurs; nothing is touched then.
        """
        for _ in range(_CLAIM_TRIES):
            self._make()
            self._lock = self._take_lock()
            if self._lock is not None:
                break
        else:
            raise NotOurs(f"{self.path} keeps vanishing")
        self._check_marker()
        self._sweep()

    def release(self) -> None:
        """Give it back, and remove it when nothing is kept in it."""
        if self._lock is None:
            return
        if {entry.name for entry in os.scandir(self.path)} == {_MARKER, _LOCK}:
            (self.path / _MARKER).unlink()
            (self.path / _LOCK).unlink()
            self.path.rmdir()
        self._unlock()

    def session(self, session_id: str, profile: str = "") -> SessionDirectory:
        """The directory of a session, with a profile that is kept under that file name; ValueError for no id."""
        if not is_id("sess", session_id):
            raise ValueError(f"not a session id: {session_id[:60]!r}")
        if not profile:
            return SessionDirectory(self.path / session_id)
        kept = self.path / _PROFILES
        kept.mkdir(mode=0o711 if os.geteuid() == 0 else 0o700, exist_ok=True)
        return SessionDirectory(self.path / session_id, kept / profile)

    def _make(self) -> None:
        self.path.mkdir(mode=0o700, exist_ok=True)
        found = self.path.lstat()
        if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.geteuid():
            raise NotOurs(f"{self.path} is not a directory of this user")
        # Root's sessions run as users of their own, which must get through; they cannot list it.
        self.path.chmod(0o711 if os.geteuid() == 0 else 0o700)

    def _take_lock(self) -> int | None:
        """The lock's descriptor; None when whoever held it before has just removed the directory."""
        path = self.path / _LOCK
        try:
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        except FileNotFoundError:
            return None
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if os.path.samestat(os.fstat(descriptor), path.lstat()):
                return descriptor
        except BlockingIOError:
            os.close(descriptor)
            raise NotOurs(f"{self.path} is in use by another browser service of this home") from None
        except FileNotFoundError:
            pass
        os.close(descriptor)
        return None

    def _unlock(self) -> None:
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    def _check_marker(self) -> None:
        marker = self.path / _MARKER
        try:
            with marker.open("x") as file:
                file.write(self._home)
        except FileExistsError:
            written = marker.read_text()
            if written != self._home:
                self._unlock()
                raise NotOurs(f"{self.path} belongs to the home {written[:200]}") from None

    def _sweep(self) -> None:
        for process in self._processes_left():
            log.warning("stale_process_killed", pid=process.pid)
            send(process, signal.SIGKILL)
        for entry in os.scandir(self.path):
            ours = is_id("sess", entry.name) or entry.name.startswith(_TEMPORARY)
            if ours and entry.is_symlink():
                os.unlink(entry.path)
            elif ours and entry.is_dir(follow_symlinks=False):
                log.info("stale_session_removed", name=entry.name)
                shutil.rmtree(entry.path, onerror=_log_unremovable)

    def _processes_left(self) -> list[ProcessId]:
        """Launchers and browsers that carry this home's hash; the kernel ends them with their service, as a rule."""
        wanted = f"{HOME_VARIABLE}={self.hash}".encode()
        left: list[ProcessId] = []
        for name in os.listdir("/proc"):
            process = identity(int(name)) if name.isdigit() and int(name) != os.getpid() else None
            if process is not None and wanted in _environment(process.pid):
                left.append(process)
        return left


def _environment(pid: int) -> list[bytes]:
    try:
        return Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
    except OSError:
        return []
