"""A launch that fails says why and leaves nothing."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Generator
from pathlib import Path

import pytest

from services.browser.chromium.binary import Binary
from services.browser.chromium.directories import SessionDirectories
from services.browser.chromium.launch import Launcher, LaunchFailed, LaunchRequest
from services.kit.ids import new_id
from tests.process_table import appeared_since, descendants
from tests.waiting import async_until


@pytest.fixture
def directories(tmp_path: Path) -> Generator[SessionDirectories]:
    made = SessionDirectories(tmp_path)
    made.claim()
    yield made
    made.release()
    assert not made.path.exists()  # nothing was kept in it


@pytest.mark.parametrize(
    ("program", "seconds", "why"),
    [
        ("/nowhere/chromium", 10.0, "/nowhere/chromium: .*No such file"),
        ("/bin/false", 10.0, "ended before it answered"),
        ("/bin/ls", 10.0, "unrecognized option"),  # its standard error is quoted
    ],
)
async def test_what_is_no_chromium(directories: SessionDirectories, program: str, seconds: float, why: str) -> None:
    before = descendants(os.getpid())
    request = LaunchRequest(new_id("sess"), Binary(Path(program), is_shell=True))
    with pytest.raises(LaunchFailed, match=why):
        await Launcher(directories).launch(request, seconds)
    await async_until(lambda: not appeared_since(before), "every process is gone", 1)


async def test_one_that_never_answers(directories: SessionDirectories) -> None:
    with tempfile.TemporaryDirectory() as place:
        os.chmod(place, 0o755)
        silent = Path(place) / "silent"
        silent.write_text("#!/bin/sh\nexec sleep 60\n")
        silent.chmod(0o755)
        before = descendants(os.getpid())
        request = LaunchRequest(new_id("sess"), Binary(silent, is_shell=True))
        with pytest.raises(LaunchFailed, match=r"did not start within 0\.5 s"):
            await Launcher(directories).launch(request, 0.5)
        await async_until(lambda: not appeared_since(before), "every process is gone", 1)


async def test_a_session_id_in_use_is_not_taken_over(directories: SessionDirectories) -> None:
    session_id = new_id("sess")
    taken = directories.session(session_id)
    taken.path.mkdir()
    (taken.path / "file").write_text("the other's")
    request = LaunchRequest(session_id, Binary(Path("/bin/false"), is_shell=True))
    with pytest.raises(FileExistsError):
        await Launcher(directories).launch(request)
    assert (taken.path / "file").exists()
    taken.wipe()
