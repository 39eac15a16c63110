"""The container engine, by its own command line: what a test asks of it, each call with a deadline.

Not testcontainers: the processes here share network namespaces, carry seccomp profiles and are killed and started
again under their name, which through its Python SDK is the same options with no types.
"""

from __future__ import annotations

import subprocess
from collections.abc import Sequence

CALL_SECONDS = 60.0


def docker(*arguments: str, seconds: float = CALL_SECONDS) -> str:
    """What the command prints; fails the test with what it said when it does not succeed."""
    done = subprocess.run(["docker", *arguments], capture_output=True, text=True, timeout=seconds)
    assert done.returncode == 0, f"docker {' '.join(arguments[:2])}: {done.stderr.strip() or done.stdout.strip()}"
    return done.stdout.strip()


def why_not() -> str:
    """Why no container can be started here; empty when one can."""
    try:
        done = subprocess.run(["docker", "info"], capture_output=True, text=True, timeout=10)
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"no container engine: {error}"
    return "" if done.returncode == 0 else "no container engine answers (deploy/docker/engine up)"


def has_image(name: str) -> bool:
    done = subprocess.run(["docker", "image", "inspect", name], capture_output=True, timeout=10)
    return done.returncode == 0


def is_running(container: str) -> bool:
    done = subprocess.run(
        ["docker", "inspect", "--format", "{{.State.Running}}", container], capture_output=True, text=True, timeout=10
    )
    return done.stdout.strip() == "true"


def succeeds(container: str, command: Sequence[str], seconds: float = 15.0) -> bool:
    """Whether a command inside a container ends with 0."""
    try:
        done = subprocess.run(["docker", "exec", container, *command], capture_output=True, timeout=seconds)
    except subprocess.TimeoutExpired:
        return False
    return done.returncode == 0


def logs(container: str, lines: int = 40) -> str:
    done = subprocess.run(
        ["docker", "logs", "--tail", str(lines), container], capture_output=True, text=True, timeout=10
    )
    return done.stdout + done.stderr


def forget(*arguments: str) -> None:
    """A command of cleaning up, whose thing may not be there."""
    subprocess.run(["docker", *arguments], capture_output=True, timeout=CALL_SECONDS)
