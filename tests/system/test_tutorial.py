"""The tutorial's commands do what it says: its `sh` blocks in one shell, each against the `text` block that follows."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from deploy.local.demo_site import DemoSite
from tests.running_system import RunningSystem

TREE = Path(__file__).resolve().parents[2]
TUTORIAL = TREE / "docs" / "tutorial" / "first-hour.md"
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
MARK = "-- end of block"
SECONDS = 100.0


@dataclass(frozen=True)
class Step:
    commands: str
    said: list[str]
    """Lines of the output, in order, among others perhaps; `…` stands for anything."""


def steps(text: str) -> list[Step]:
    blocks = BLOCK.findall(text)
    followed = zip(blocks, [*blocks[1:], ("", "")], strict=True)
    return [
        Step(content, after.splitlines() if after_kind == "text" else [])
        for (kind, content), (after_kind, after) in followed
        if kind == "sh"
    ]


@pytest.fixture
def library() -> Iterator[DemoSite]:
    site = DemoSite()
    site.start()
    yield site
    site.stop()


@pytest.mark.timeout(130)
@pytest.mark.skipif(shutil.which("curl") is None, reason="no curl (Debian: apt-get install curl)")
def test_each_command_does_what_it_says(shared_system: RunningSystem, library: DemoSite) -> None:
    text = TUTORIAL.read_text().replace("8500", library.host.partition(":")[2])
    todo = steps(text)
    assert len(todo) >= 10
    script = "set -euo pipefail\n" + "".join(f"{step.commands}echo '{MARK}'\n" for step in todo)
    done = subprocess.run(
        ["bash", "-c", script],
        cwd=TREE,
        env={**os.environ, "HYPERKITTY_HOME": str(shared_system.home)},
        capture_output=True,
        text=True,
        timeout=SECONDS,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    for step, output in zip(todo, done.stdout.split(f"{MARK}\n"), strict=False):
        wanted = ".*".join(re.escape(line).replace("…", ".*") + r"\n" for line in step.said)
        assert re.search(wanted, output, re.DOTALL), f"{step.commands}\nsaid:\n{output}"
    assert library.hits.count("/book/ink") == 0
