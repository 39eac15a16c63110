"""What `up` is made of, decided before anything runs: home, ports, token, and how each process is started."""

from __future__ import annotations

import os
import secrets
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from importlib.metadata import version
from pathlib import Path

from deploy.local import nats, ports
from deploy.local.home import Home, HomeRefused, write_private
from deploy.local.part import Start
from deploy.processes import GRPC_PORT, NATS, REST_PORT, Process, StopStage

TREE = Path(__file__).resolve().parents[2]
TOKEN_BYTES = 32
# Together under the ten seconds in which a stopped system must be gone, each with a second for SIGKILL to act.
GRACE_SECONDS = {StopStage.DOOR: 2.0, StopStage.SERVICE: 3.5, StopStage.STORE: 1.0}
# What a process keeps of its grace for closing up once its calls have ended.
CLOSING_SECONDS = 0.7
KEYS_SECONDS = 20


@dataclass(frozen=True)
class System:
    """One local system. `notices` are lines the user should see before the first state change."""

    home: Home
    table: tuple[Process, ...]
    rest_port: int
    grpc_port: int
    nats_port: int
    token: str
    notices: tuple[str, ...]

    @property
    def rest_url(self) -> str:
        return f"http://127.0.0.1:{self.rest_port}"

    @property
    def grpc_target(self) -> str:
        return f"127.0.0.1:{self.grpc_port}"

    def start_of(self, process: Process) -> Start:
        """How the supervisor starts `process`."""
        if process.name == NATS.name:
            command = [str(nats.binary()), "--config", str(self.home.nats / "nats.conf")]
            return Start(command, self.shared_environment(), TREE, partial(nats.until_serving, self.nats_port))
        return Start([sys.executable, "-m", process.module], self.environment_of(process), TREE)

    def shared_environment(self) -> dict[str, str]:
        """This process's environment and where everything is: what all parts are given."""
        home = self.home
        settings = {
            "HYPERKITTY_HOME": str(home.root),
            "HYPERKITTY_RUNTIME_DIR": str(home.runtime),
            "HYPERKITTY_NATS_URL": f"nats://127.0.0.1:{self.nats_port}",
            "HYPERKITTY_REST_PORT": str(self.rest_port),
            "HYPERKITTY_GRPC_PORT": str(self.grpc_port),
            "HYPERKITTY_IDENTITY_KEYS": str(home.public_keys),
        }
        for process in self.table:
            if process.serves_grpc:
                settings[f"HYPERKITTY_{process.name.upper()}_TARGET"] = f"unix:{home.socket(process.name)}"
        return {**os.environ, **settings}

    def environment_of(self, process: Process) -> Mapping[str, str]:
        """The shared environment, and what only this process may have: its key and its credentials."""
        drain_seconds = GRACE_SECONDS[process.stops] - CLOSING_SECONDS
        own = {
            "HYPERKITTY_DRAIN_MS": str(round(drain_seconds * 1000)),
            "HYPERKITTY_NATS_CREDENTIALS": str(self.home.credentials(process.name)),
            "HYPERKITTY_IDENTITY_KEY": str(self.home.private_keys / f"{process.name}.pem"),
        }
        if process.serves_grpc:
            own["HYPERKITTY_LISTEN"] = f"unix:{self.home.socket(process.name)}"
        return {**self.shared_environment(), **own}


def assemble(home: Home, table: Sequence[Process]) -> System:
    """Decide ports, mint what is missing, write NATS's configuration. Raises HomeRefused, PortRefused, NatsMissing."""
    taken: set[int] = set()
    rest_port, rest_moved = ports.choose("HYPERKITTY_REST_PORT", REST_PORT, taken)
    grpc_port, grpc_moved = ports.choose("HYPERKITTY_GRPC_PORT", GRPC_PORT, taken)
    nats_port = ports.find_free(taken)
    nats.binary()
    notices: list[str] = []
    if rest_moved:
        notices.append(f"port {REST_PORT} is taken: REST is on {rest_port}")
    if grpc_moved:
        notices.append(f"port {GRPC_PORT} is taken: gRPC is on {grpc_port}")
    nats.write_configuration(home, nats_port, table)
    ensure_keys(home, [process.name for process in table if process.name != NATS.name])
    return System(home, tuple(table), rest_port, grpc_port, nats_port, root_token(home), tuple(notices))


def ensure_keys(home: Home, names: Sequence[str]) -> None:
    """One signing key a service, kept across starts. Raises HomeRefused when they cannot be made."""
    expected = {f"{name}.pub" for name in names}
    complete = expected == {path.name for path in home.public_keys.iterdir()}
    if complete and all((home.private_keys / f"{name}.pem").exists() for name in names):
        return
    command = [sys.executable, "-m", "deploy.local.keys", str(home.private_keys), str(home.public_keys), *names]
    done = subprocess.run(command, cwd=TREE, capture_output=True, text=True, timeout=KEYS_SECONDS)
    if done.returncode != 0:
        raise HomeRefused(f"signing keys could not be made: {done.stderr.strip()}")


def root_token(home: Home) -> str:
    """The root token of this home, minted once (SPEC section 11)."""
    try:
        token = home.token_file.read_text().strip()
    except FileNotFoundError:
        token = f"hk_{secrets.token_urlsafe(TOKEN_BYTES)}"
        write_private(home.token_file, token + "\n")
    if not token:
        raise HomeRefused(f"{home.token_file} is empty: remove it to have a new root token")
    return token


def product_version() -> str:
    return version("hyperkitty")
