"""`up` with stand-ins for the services: real supervisor, real NATS, children that only say that they are ready.

`python -m tests.system.supervisor.standin_up --home DIR [--fault NAME=KIND]…`
Kinds: `crash` ends before it is ready, `settings` refuses its settings, `stubborn` ignores SIGTERM,
`family` has a child that would outlive it if nobody saw to that.
"""

from __future__ import annotations

import argparse
import asyncio
import shutil
import sys
from dataclasses import replace
from pathlib import Path

from deploy.local import home as homes
from deploy.local.part import Start
from deploy.local.ports import PortRefused
from deploy.local.supervisor import Supervisor
from deploy.local.system import System, assemble
from deploy.processes import NATS, TABLE, Process


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--home", type=Path, required=True)
    parser.add_argument("--fault", action="append", default=[])
    arguments = parser.parse_args()
    faults = dict(fault.split("=") for fault in arguments.fault)
    try:
        home = homes.prepare(arguments.home.resolve())
        with homes.lock(home):
            try:
                return asyncio.run(run(assemble(home, TABLE), faults))
            finally:
                shutil.rmtree(home.runtime, ignore_errors=True)
    except (homes.HomeRefused, PortRefused) as refusal:
        print(f"hyperkitty up: {refusal}", file=sys.stderr)
        return 1


async def run(system: System, faults: dict[str, str]) -> int:
    """As `up` does, with stand-ins for all but NATS."""

    def start_of(process: Process) -> Start:
        start = system.start_of(process)
        if process.name == NATS.name:
            return start
        module = "tests.system.supervisor.standin"
        return replace(start, command=[sys.executable, "-m", module, process.name, faults.get(process.name, "none")])

    return await Supervisor(system, start_of).run()


if __name__ == "__main__":
    sys.exit(main())
