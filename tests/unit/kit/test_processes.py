from __future__ import annotations

import asyncio
import os
import signal
import sys

from services.kit import processes


async def line(stream: asyncio.StreamReader | None) -> str:
    assert stream is not None
    async with asyncio.timeout(10):
        return (await stream.readline()).decode().strip()


async def test_spawn_runs_the_program_itself_under_its_pid() -> None:
    process = await processes.spawn(["/bin/sh", "-c", "echo $$"], stdout=asyncio.subprocess.PIPE)
    assert int(await line(process.stdout)) == process.pid
    assert await process.wait() == 0


async def test_a_program_that_does_not_exist_exits() -> None:
    process = await processes.spawn(["/no/such/program"], stderr=asyncio.subprocess.DEVNULL)
    assert await process.wait() != 0


async def test_children_die_with_a_parent_that_is_killed() -> None:
    code = (
        "import asyncio, sys\n"
        "from services.kit import processes\n"
        "async def main():\n"
        "    child = await processes.spawn(['sleep', '600'])\n"
        "    print(child.pid, flush=True)\n"
        "    await child.wait()\n"
        "asyncio.run(main())\n"
    )
    parent = await asyncio.create_subprocess_exec(
        sys.executable, "-c", code, stdout=asyncio.subprocess.PIPE, env={**os.environ, "PYTHONPATH": os.getcwd()}
    )
    pid = int(await line(parent.stdout))
    child = processes.identity(pid)
    assert child is not None
    parent.kill()
    await parent.wait()
    assert await processes.gone(child, 5.0)


async def test_the_whole_tree_is_found_and_killed() -> None:
    script = "sh -c 'sleep 600 & sleep 600' & echo ready; wait"
    process = await processes.spawn(["/bin/sh", "-c", script], stdout=asyncio.subprocess.PIPE)
    assert await line(process.stdout) == "ready"
    async with asyncio.timeout(5):
        while len(below := processes.descendants(process.pid)) < 3:
            await asyncio.sleep(0)
    assert await processes.kill_tree(process.pid) == []
    assert not any(processes.is_alive(each) for each in below)
    assert await process.wait() == -signal.SIGKILL


async def test_stopping_asks_first_and_then_insists() -> None:
    polite = await processes.spawn(
        ["/bin/sh", "-c", "trap 'exit 7' TERM; echo up; while :; do sleep 0.05; done"], stdout=-1
    )
    assert await line(polite.stdout) == "up"
    assert await processes.stop_process(polite, grace=5.0) == 7
    deaf = await processes.spawn(["/bin/sh", "-c", "trap '' TERM; echo up; while :; do sleep 0.05; done"], stdout=-1)
    assert await line(deaf.stdout) == "up"
    assert await processes.stop_process(deaf, grace=0.2) == -signal.SIGKILL


async def test_a_reused_pid_is_not_hit() -> None:
    process = await processes.spawn(["sleep", "600"])
    mistaken = processes.ProcessId(process.pid, 1)
    assert not processes.send(mistaken, signal.SIGKILL)
    assert not processes.is_alive(mistaken)
    await processes.kill_tree(process.pid)
    await process.wait()
