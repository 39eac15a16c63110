"""Session directories: whose they are, and what the sweep may touch."""

from __future__ import annotations

import contextlib
import os
import stat
import threading
from collections.abc import Generator
from pathlib import Path

import pytest

from services.browser.chromium.directories import NotOurs, SessionDirectories
from services.browser.chromium.owners import Owner
from services.kit.ids import new_id
from tests.waiting import until


@pytest.fixture
def base(tmp_path: Path) -> Path:
    return tmp_path


@pytest.fixture
def directories(base: Path) -> Generator[SessionDirectories]:
    made = SessionDirectories(Path("/some/home"), base)
    made.claim()
    yield made
    made.release()


def me() -> Owner:
    return Owner(os.geteuid(), os.getegid())


def test_a_session_has_private_directories_under_the_homes_hash(directories: SessionDirectories, base: Path) -> None:
    session_id = new_id("sess")
    session = directories.session(session_id)
    session.make(me())
    assert session.path == base / f"hyperkitty-{directories.hash}" / session_id
    for path in (session.path, session.profile, session.downloads, session.temporary):
        assert stat.S_IMODE(path.stat().st_mode) == 0o700


def test_full_chromiums_socket_has_room_in_its_path() -> None:
    session = SessionDirectories(Path("/some/home")).session(new_id("sess"))
    assert len(f"{session.temporary}/org.chromium.Chromium.XXXXXX/SingletonSocket") <= 107


def test_wiping_removes_all_and_follows_no_link(directories: SessionDirectories, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "kept").write_text("x")
    session = directories.session(new_id("sess"))
    session.make(me())
    (session.downloads / "link").symlink_to(outside)
    (session.downloads / "file").write_text("x")
    session.wipe()
    assert not session.path.exists()
    assert not session.temporary.exists()
    assert (outside / "kept").exists()
    session.wipe()  # once more does nothing


def test_what_is_written_while_it_is_wiped_goes_too(directories: SessionDirectories) -> None:
    session = directories.session(new_id("sess"))
    session.make(me())
    written: list[Path] = []

    def write() -> None:
        """As a dying Chromium does: into what it finds, until that is gone."""
        with contextlib.suppress(OSError):
            while len(written) < 20_000:
                path = session.profile / f"file-{len(written)}"
                path.touch()
                written.append(path)

    writer = threading.Thread(target=write)
    writer.start()
    until(lambda: written, "the writer at work")
    session.wipe()
    writer.join(10)
    assert not session.path.exists()


@pytest.mark.parametrize("name", ["../../etc", "sess_x", "", "tab_01ARZ3NDEKTSV4RRFFQ69G5FAV"])
def test_what_is_no_session_id_has_no_directory(directories: SessionDirectories, name: str) -> None:
    with pytest.raises(ValueError, match="not a session id"):
        directories.session(name)


def test_the_next_claim_sweeps_sessions_and_nothing_else(base: Path) -> None:
    first = SessionDirectories(Path("/some/home"), base)
    first.claim()
    left = first.session(new_id("sess"))
    left.make(me())
    kept = first.path / "profiles"
    kept.mkdir()
    linked = first.path / new_id("sess")
    linked.symlink_to(kept)
    other = base / "hyperkitty-000000000000" / new_id("sess")
    other.mkdir(parents=True)
    first.release()
    second = SessionDirectories(Path("/some/home"), base)
    second.claim()
    assert not left.path.exists()
    assert not left.temporary.exists()
    assert kept.exists()
    assert other.exists()
    second.release()


def test_nothing_is_left_behind_when_nothing_is_kept(base: Path) -> None:
    ours = SessionDirectories(Path("/some/home"), base)
    for kept in (False, True):
        ours.claim()
        if kept:
            (ours.path / "profiles").mkdir()
        ours.release()
        assert ours.path.exists() is kept
    ours.claim()
    ours.release()


def test_a_second_service_of_the_same_home_is_refused_and_touches_nothing(
    directories: SessionDirectories, base: Path
) -> None:
    session = directories.session(new_id("sess"))
    session.make(me())
    with pytest.raises(NotOurs, match="in use"):
        SessionDirectories(Path("/some/home"), base).claim()
    assert session.path.exists()


def test_a_directory_that_is_another_homes_is_left_alone(base: Path) -> None:
    ours = SessionDirectories(Path("/some/home"), base)
    ours.path.mkdir()
    (ours.path / "home").write_text("/other/home")
    foreign = ours.path / new_id("sess")
    foreign.mkdir()
    with pytest.raises(NotOurs, match="/other/home"):
        ours.claim()
    assert foreign.exists()
    (ours.path / "home").write_text("/some/home")
    ours.claim()  # the failed claim holds no lock
    ours.release()


def test_a_link_in_its_place_is_not_followed(base: Path, tmp_path: Path) -> None:
    target = tmp_path / "target"
    target.mkdir()
    ours = SessionDirectories(Path("/some/home"), base)
    ours.path.symlink_to(target)
    with pytest.raises(NotOurs, match="not a directory of this user"):
        ours.claim()
    assert list(target.iterdir()) == []


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can make somebody else's directory")
def test_a_directory_of_somebody_elses_is_refused(base: Path) -> None:
    ours = SessionDirectories(Path("/some/home"), base)
    ours.path.mkdir()
    os.chown(ours.path, 12345, 12345)
    with pytest.raises(NotOurs):
        ours.claim()
