"""Runs a System: starts its parts, tells what changes, takes it down in order."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import sys
import time
from collections.abc import Callable

from deploy.local.home import write_private
from deploy.local.log_file import LogFile
from deploy.local.part import Part, PartState, SettingsRefused, Start
from deploy.local.system import GRACE_SECONDS, System, product_version
from deploy.processes import Process, StopStage

SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)


class Supervisor:
    """One run of a system, from first start to last stop."""

    def __init__(self, system: System, start_of: Callable[[Process], Start] | None = None) -> None:
        self._system = system
        self._began = time.monotonic()
        self._started_at_ms = time.time_ns() // 1_000_000
        self._announced = False
        self._stop_asked = asyncio.Event()
        self._parts: dict[str, Part] = {}
        notify = system.home.runtime / "notify"
        notify.mkdir(mode=0o700, exist_ok=True)
        for process in system.table:
            self._parts[process.name] = Part(
                process.name,
                (start_of or system.start_of)(process),
                needs=[self._parts[need].has_been_ready for need in process.needs],
                log=LogFile(system.home.logs / f"{process.name}.log"),
                ready_socket=notify / process.name,
                changed=self._part_changed,
            )

    async def run(self) -> int:
        """Run until a signal asks to stop; returns the exit code. A second signal kills at once."""
        loop = asyncio.get_running_loop()
        for number in SIGNALS:
            loop.add_signal_handler(number, self._stop_asked.set)
        for notice in self._system.notices:
            self._say(notice)
        self._write_parts()
        runs = {asyncio.create_task(part.run(), name=part.name) for part in self._parts.values()}
        asked = asyncio.create_task(self._until_asked())
        done, _ = await asyncio.wait({*runs, asked}, return_when=asyncio.FIRST_COMPLETED)
        failed = [task for task in done if task is not asked]
        for task in failed:
            error = task.exception()
            self._say(str(error) if isinstance(error, SettingsRefused) else f"{task.get_name()}: {error!r}")
        for number in SIGNALS:
            loop.add_signal_handler(number, self._kill_all)
        for task in (*runs, asked):
            task.cancel()
        await asyncio.gather(*runs, asked, return_exceptions=True)
        await self._stop()
        return 1 if failed else 0

    async def _until_asked(self) -> None:
        await self._stop_asked.wait()

    async def _stop(self) -> None:
        """Stage by stage; within one, all at once."""
        self._system.home.state_file.unlink(missing_ok=True)
        self._say("stopping")
        for stage in StopStage:
            members = [self._parts[process.name] for process in self._system.table if process.stops == stage]
            await asyncio.gather(*(part.stop(GRACE_SECONDS[stage]) for part in members))
        self._say("stopped")

    def _kill_all(self) -> None:
        """The user is in a hurry."""
        for part in self._parts.values():
            part.kill()

    def _part_changed(self, part: Part, detail: str) -> None:
        if part.state is not PartState.STOPPED or detail:
            self._say(f"{part.name:<10} {part.state.value.replace('_', ' ')}{': ' + detail if detail else ''}")
        self._write_parts()
        if not self._announced and self._all_settled():
            self._announced = True
            self._announce()

    def _all_settled(self) -> bool:
        """Whether everything is ready, but for parts that have been given up as down; the door itself must be ready."""
        for process in self._system.table:
            state = self._parts[process.name].state
            if state is not PartState.READY and (state is not PartState.DOWN or process.stops is not StopStage.SERVICE):
                return False
        return True

    def _announce(self) -> None:
        """state.json: where a client finds this system (SPEC section 11)."""
        system = self._system
        state = {
            "pid": os.getpid(),
            "version": product_version(),
            "rest_url": system.rest_url,
            "grpc_target": system.grpc_target,
            "token": system.token,
            "started_at_ms": self._started_at_ms,
        }
        write_private(system.home.state_file, json.dumps(state))
        seconds = time.monotonic() - self._began
        self._say(f"ready after {seconds:.1f} s: REST {system.rest_url}, gRPC {system.grpc_target}")

    def _write_parts(self) -> None:
        """supervisor.json: what `status` and the health service read."""
        processes = {
            part.name: {
                "state": part.state.value,
                "pid": part.pid,
                "restarts": part.restarts,
                "started_at_ms": part.started_at_ms,
                "last_exit": part.last_exit,
            }
            for part in self._parts.values()
        }
        content = {"pid": os.getpid(), "started_at_ms": self._started_at_ms, "processes": processes}
        write_private(self._system.home.supervisor_file, json.dumps(content))

    def _say(self, line: str) -> None:
        """One line a change; a closed terminal or pipe must not end the system."""
        with contextlib.suppress(OSError):
            os.write(sys.stdout.fileno(), f"{time.monotonic() - self._began:8.2f} s  {line}\n".encode())
