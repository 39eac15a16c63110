"""A system started as a user starts it, in a home of its own, for tests to use and to hurt."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import cast

from tests import process_table
from tests.rest_client import RestClient
from tests.waiting import until

TREE = Path(__file__).resolve().parents[1]
READY_SECONDS = 30.0
STOP_SECONDS = 12.0
UP = (sys.executable, "-m", "deploy.local", "up")


class RunningSystem:
    """`up` in the foreground of a child process. Ports are free ones unless `environment` says otherwise."""

    def __init__(
        self, home: Path, *, command: Sequence[str] = UP, environment: Mapping[str, str] | None = None
    ) -> None:
        self.home = home
        self.lines: list[str] = []
        inherited = {name: value for name, value in os.environ.items() if not name.startswith("HYPERKITTY_")}
        chosen = {"HYPERKITTY_REST_PORT": "0", "HYPERKITTY_GRPC_PORT": "0", **(environment or {})}
        self.process = subprocess.Popen(
            [*command, "--home", str(home)],
            cwd=TREE,
            env={**inherited, **chosen},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        self._reader = threading.Thread(target=self._read_lines, daemon=True)
        self._reader.start()

    def _read_lines(self) -> None:
        assert self.process.stdout is not None
        with self.process.stdout:
            self.lines.extend(iter(self.process.stdout.readline, ""))

    @property
    def output(self) -> str:
        """What `up` has printed so far."""
        return "".join(self.lines)

    def wait_ready(self, seconds: float = READY_SECONDS) -> RunningSystem:
        """Until state.json is there; fails with `up`'s own words when it ends first."""

        def ready_or_ended() -> bool:
            return self.state_file.exists() or self.process.poll() is not None

        until(ready_or_ended, f"`up` ready; it said:\n{self.output}", seconds)
        assert self.process.poll() is None, f"`up` ended with {self.process.returncode}:\n{self.output}"
        return self

    @property
    def state_file(self) -> Path:
        return self.home / "state.json"

    @property
    def state(self) -> dict[str, str]:
        """state.json: rest_url, grpc_target, token and the rest."""
        return cast("dict[str, str]", json.loads(self.state_file.read_text()))

    @property
    def rest(self) -> RestClient:
        """A client with the root token."""
        state = self.state
        return RestClient(state["rest_url"], state["token"])

    @property
    def runtime(self) -> Path:
        """The directory of sockets, as the supervisor told its children."""
        environment = Path("/proc", str(self.pid_of("nats")), "environ").read_bytes().split(b"\0")
        mark = b"HYPERKITTY_RUNTIME_DIR="
        return Path(next(entry for entry in environment if entry.startswith(mark)).removeprefix(mark).decode())

    def parts(self) -> dict[str, dict[str, object]]:
        """What `hyperkitty status --json` says of each part."""
        environment = {**os.environ, "HYPERKITTY_HOME": str(self.home)}
        command = [str(TREE / ".venv" / "bin" / "hyperkitty"), "status", "--json"]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=10)
        return cast("dict[str, dict[str, object]]", json.loads(done.stdout)["processes"])

    def pid_of(self, part: str) -> int:
        """The running process of a part; fails when it has none."""
        pid = self.parts()[part]["pid"]
        assert isinstance(pid, int), f"{part} has no process"
        return pid

    def kill(self, part: str) -> int:
        """kill -9 of one part; returns the pid it had."""
        pid = self.pid_of(part)
        os.kill(pid, signal.SIGKILL)
        return pid

    def wait_healed(self, part: str, killed_pid: int, seconds: float = 15.0) -> None:
        """Until the part is ready again in another process."""

        def healed() -> bool:
            now = self.parts()[part]
            return now["state"] == "ready" and now["pid"] not in (None, killed_pid)

        until(healed, f"{part} ready again", seconds)

    def log(self, part: str) -> str:
        """The log of a part."""
        return (self.home / "logs" / f"{part}.log").read_text(errors="replace")

    def members(self) -> set[int]:
        """The supervisor and everything below it."""
        return {self.process.pid, *process_table.descendants(self.process.pid)}

    def stop(self) -> int:
        """SIGTERM and the exit code; whatever is left after STOP_SECONDS is killed, and the test fails."""
        members = self.members()
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        try:
            code = self.process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait(STOP_SECONDS)
            raise AssertionError(f"`up` did not stop within {STOP_SECONDS} s:\n{self.output}") from None
        finally:
            left = {pid for pid in members if process_table.is_running(pid)}
            for pid in left:
                os.kill(pid, signal.SIGKILL)
            self._reader.join(STOP_SECONDS)
        assert not left, f"left running after the stop: {left}"
        return code
