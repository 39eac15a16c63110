"""`python -m deploy.local up [--home DIR]`: run HyperKitty on this machine, in the foreground."""

from __future__ import annotations

import argparse
import asyncio
import os
import shutil
import sys
from pathlib import Path

from deploy.local import home as homes
from deploy.local.nats import NatsMissing
from deploy.local.ports import PortRefused
from deploy.local.supervisor import Supervisor
from deploy.local.system import System, assemble
from deploy.processes import TABLE


def main() -> int:
    """0 after a clean stop, 1 when this home, a port or the installation does not allow a start."""
    parser = argparse.ArgumentParser(prog="python -m deploy.local", description=__doc__)
    parser.add_argument("command", choices=["up"])
    parser.add_argument("--home", type=Path, help="state directory (default: $HYPERKITTY_HOME, else the user's)")
    arguments = parser.parse_args()
    root = arguments.home.resolve() if arguments.home else homes.default_root()
    if arguments.home is None:
        # Whoever looks at the process list sees which home this is.
        os.execv(sys.executable, [sys.executable, "-m", "deploy.local", "up", "--home", str(root)])
    try:
        home = homes.prepare(root)
        with homes.lock(home):
            home.state_file.unlink(missing_ok=True)
            try:
                return asyncio.run(run(assemble(home, TABLE)))
            finally:
                shutil.rmtree(home.runtime, ignore_errors=True)
    except (homes.HomeRefused, PortRefused, NatsMissing) as refusal:
        print(f"hyperkitty up: {refusal}", file=sys.stderr)
        return 1


async def run(system: System) -> int:
    return await Supervisor(system).run()


if __name__ == "__main__":
    sys.exit(main())
