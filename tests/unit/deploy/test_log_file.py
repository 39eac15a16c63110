"""A child's log is bounded, and keeps the newest."""

from __future__ import annotations

from pathlib import Path

from deploy.local.log_file import LogFile


def test_two_generations_of_bounded_size(tmp_path: Path) -> None:
    path = tmp_path / "part.log"
    log = LogFile(path, max_bytes=100)
    for number in range(100):
        log.write(f"line {number:04}\n".encode())
    log.close()
    older = tmp_path / "part.log.1"
    assert sorted(tmp_path.iterdir()) == [path, older]
    assert path.stat().st_size <= 100
    assert older.stat().st_size <= 100
    assert (older.read_text() + path.read_text()).endswith("line 0098\nline 0099\n")


def test_it_goes_on_where_an_earlier_run_ended(tmp_path: Path) -> None:
    for text in (b"one\n", b"two\n"):
        log = LogFile(tmp_path / "part.log")
        log.write(text)
        log.close()
    assert (tmp_path / "part.log").read_text() == "one\ntwo\n"


def test_the_tail_is_the_last_lines_that_say_something(tmp_path: Path) -> None:
    log = LogFile(tmp_path / "part.log")
    log.write(b"one\n\ntwo\n \nthree \xff\n\n")
    assert log.tail(2) == ["two", "three �"]
    log.close()


def test_what_the_disk_refuses_is_counted(tmp_path: Path) -> None:
    log = LogFile(tmp_path / "part.log", max_bytes=10)
    log.write(b"12345678")
    # Rotation fails: the place of the older generation is a directory.
    (tmp_path / "part.log.1").mkdir()
    (tmp_path / "part.log.1" / "x").touch()
    log.write(b"12345678")
    assert log.dropped_bytes == 8
    log.close()
