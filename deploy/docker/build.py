"""Builds the images, one after another: `python -m deploy.docker.build [--tag dev] [name…]`.

What is not built by hand each time follows from the table of processes. A base image of one's own, or the network of
the host for a build, are given through: `python -m deploy.docker.build -- --network host --build-arg BASE_IMAGE=…`.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from deploy.processes import NATS, TABLE

TREE = Path(__file__).resolve().parents[2]
REPOSITORY = "hyperkitty"
EDGE = "envoy"
BUILD_SECONDS = 1_800


@dataclass(frozen=True)
class Image:
    """One image: its Dockerfile in this folder, the stage that it is, its build arguments."""

    name: str
    dockerfile: str
    arguments: tuple[str, ...]
    target: str = ""

    def command(self, tag: str, more: Sequence[str]) -> list[str]:
        """The engine's command line, run in the tree's root."""
        command = [
            "docker",
            "build",
            "--quiet",
            "--file",
            f"deploy/docker/{self.dockerfile}",
            "--tag",
            self.tagged(tag),
        ]
        if self.target:
            command += ["--target", self.target]
        for argument in self.arguments:
            command += ["--build-arg", argument]
        return [*command, *more, "."]

    def tagged(self, tag: str) -> str:
        return f"{REPOSITORY}/{self.name}:{tag}"


def images() -> list[Image]:
    """Every image, in the order of the table of processes; Envoy last."""
    binary = "binary.Dockerfile"
    found = [Image(NATS.name, binary, ("GROUP=nats", "BINARY=nats-server"))]
    for process in TABLE:
        if process.name != NATS.name:
            target = "browser" if process.name == "browser" else "process"
            arguments = (f"PROCESS={process.name}", f"MODULE={process.module}")
            found.append(Image(process.name, "Dockerfile", arguments, target))
    return [*found, Image(EDGE, binary, ("GROUP=edge", "BINARY=envoy"))]


def build(image: Image, tag: str, more: Sequence[str]) -> None:
    """Builds one; raises CalledProcessError, after the engine has said why."""
    subprocess.run(image.command(tag, more), cwd=TREE, check=True, stdout=subprocess.DEVNULL, timeout=BUILD_SECONDS)


def main() -> int:
    """Entry point."""
    given, more = _split(sys.argv[1:])
    parser = argparse.ArgumentParser(prog="python -m deploy.docker.build", description=__doc__)
    parser.add_argument("--tag", default="dev")
    parser.add_argument("names", nargs="*", help="images to build; all when none is named")
    chosen = parser.parse_args(given)
    known = {image.name: image for image in images()}
    unknown = set(chosen.names) - set(known)
    if unknown:
        parser.error(f"no such image: {', '.join(sorted(unknown))}; there are {', '.join(known)}")
    for name in chosen.names or known:
        print(f"building {known[name].tagged(chosen.tag)}", flush=True)
        try:
            build(known[name], chosen.tag, more)
        except (subprocess.CalledProcessError, subprocess.TimeoutExpired) as error:
            print(f"not built: {error}", file=sys.stderr)
            return 1
    return 0


def _split(arguments: list[str]) -> tuple[list[str], list[str]]:
    """Our own arguments, and the engine's after `--`."""
    at = arguments.index("--") if "--" in arguments else len(arguments)
    return arguments[:at], arguments[at + 1 :]


if __name__ == "__main__":
    sys.exit(main())
