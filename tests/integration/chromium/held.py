"""Starts holders, as root or as an ordinary user, and talks to them."""

from __future__ import annotations

import contextlib
import json
import os
import select
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Generator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from services.kit.settings import home_hash

HOLDER = Path(__file__).with_name("holder.py")
TREE = Path(__file__).parents[3]
ANSWER_SECONDS = 30.0
ORDINARY_UID = 64321


@dataclass(frozen=True)
class User:
    """Who runs the service."""

    name: str
    prefix: tuple[str, ...]
    uid: int


def users() -> list[User]:
    """Everybody this machine lets the tests be."""
    if os.geteuid() != 0:
        return [User("ordinary", (), os.geteuid())]
    dropped = ("setpriv", f"--reuid={ORDINARY_UID}", f"--regid={ORDINARY_UID}", "--clear-groups")
    return [User("root", (), 0), User("ordinary", dropped, ORDINARY_UID)]


def weakened_roots() -> list[User]:
    """Root as a container has it: without CAP_SYS_ADMIN."""
    if os.geteuid() != 0:
        return []
    return [User("root-without-sys-admin", ("setpriv", "--bounding-set=-sys_admin"), 0)]


class Held:
    """A running holder: `facts` is what it said it started."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self.process = process
        self.facts: dict[str, Any] = self._answer()

    @property
    def chromium(self) -> int:
        return self.facts["chromium"]

    @property
    def launcher(self) -> int:
        return self.facts["launcher"]

    @property
    def service(self) -> int:
        return self.facts["service"]

    def ask(self, do: str, **arguments: object) -> dict[str, Any]:
        """Do one thing; its answer."""
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps({"do": do, **arguments}).encode() + b"\n")
        self.process.stdin.flush()
        answer = self._answer()
        assert "raised" not in answer, answer["raised"]
        return answer

    def _answer(self) -> dict[str, Any]:
        assert self.process.stdout is not None
        ready, _, _ = select.select([self.process.stdout], [], [], ANSWER_SECONDS)
        assert ready, f"the holder said nothing for {ANSWER_SECONDS} s"
        line = self.process.stdout.readline()
        assert line, f"the holder ended with {self.process.wait(5)}"
        return json.loads(line)


@contextlib.contextmanager
def home_of(user: User) -> Generator[Path]:
    """A home that the user owns; it and its sessions' files are removed at the end."""
    home = Path(tempfile.mkdtemp(prefix="hk-test-"))
    os.chown(home, user.uid, user.uid if os.geteuid() == 0 else -1)
    try:
        yield home
    finally:
        shutil.rmtree(home)
        shutil.rmtree(sessions_of(home), ignore_errors=True)


def sessions_of(home: Path) -> Path:
    """Where a home's sessions keep their files."""
    return Path("/var/tmp") / f"hyperkitty-{home_hash(home)}"


@contextlib.contextmanager
def held(user: User, home: Path, wrapper: Sequence[str] = (), **options: object) -> Generator[Held]:
    """A holder with its Chromium, ended at the end."""
    environment = {"PATH": os.environ["PATH"], "HOME": str(home), "TEST_CREDENTIAL": "not-for-chromium"}
    process = subprocess.Popen(
        [*user.prefix, *wrapper, sys.executable, "-B", str(HOLDER), str(home), json.dumps(options)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=environment,
        cwd=TREE,
    )
    try:
        yield Held(process)
    finally:
        assert process.stdin is not None
        assert process.stdout is not None
        with contextlib.suppress(OSError):
            process.stdin.close()
        try:
            process.wait(15)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait(5)
        process.stdout.close()
