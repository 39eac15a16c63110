from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from services.kit import telemetry
from services.kit.config import SettingsError
from services.kit.metrics_endpoint import serve_metrics
from services.kit.telemetry import Trace
from services.kit.transport import Tls, is_loopback, prepare_socket


@pytest.mark.parametrize(
    "text",
    ["", "00-0-0-01", "00-" + "0" * 32 + "-1234567890abcdef-01", "ff-" + "a" * 32 + "-" + "b" * 16 + "-01"],
)
def test_what_is_no_traceparent(text: str) -> None:
    assert Trace.parse(text) is None


def test_a_trace_goes_on_under_its_id() -> None:
    begun = Trace.begin()
    parsed = Trace.parse(str(begun))
    assert parsed == begun
    child = begun.child()
    assert (child.trace_id, child.sampled) == (begun.trace_id, True)
    assert child.span_id != begun.span_id


async def ask(path: str, request: bytes) -> bytes:
    reader, writer = await asyncio.open_unix_connection(path)
    writer.write(request)
    async with asyncio.timeout(5):
        answer = await reader.read()
    writer.close()
    return answer


async def test_metrics_are_served_on_a_socket(tmp_path: Path) -> None:
    counted = telemetry.counter("test_things", "Things that a test counted.", ["kind"])
    counted.labels("good").inc(3)
    path = str(tmp_path / "m.sock")
    for _ in range(2):
        async with serve_metrics(f"unix:{path}"):
            answer = await ask(path, b"GET /metrics HTTP/1.1\r\nhost: x\r\n\r\n")
            assert answer.startswith(b"HTTP/1.1 200")
            assert b'hyperkitty_test_things_total{kind="good"} 3.0' in answer
            assert (await ask(path, b"GET / HTTP/1.1\r\n\r\n")).startswith(b"HTTP/1.1 404")


async def test_metrics_are_served_on_a_port() -> None:
    async with serve_metrics("127.0.0.1:0"):
        pass


def test_socket_directories_are_private(tmp_path: Path) -> None:
    path = tmp_path / "run" / "x.sock"
    prepare_socket(path)
    assert path.parent.stat().st_mode & 0o777 == 0o700
    path.write_text("left behind")
    prepare_socket(path)
    assert not path.exists()
    path.parent.chmod(0o755)
    with pytest.raises(SettingsError, match="0700"):
        prepare_socket(path)
    with pytest.raises(SettingsError, match="too long"):
        prepare_socket(tmp_path / ("x" * 120) / "x.sock")


def test_loopback_is_told_from_the_rest() -> None:
    assert is_loopback("127.0.0.1:80")
    assert is_loopback("[::1]:80")
    assert not is_loopback("0.0.0.0:80")
    assert not is_loopback(":80")


def test_certificates_that_are_missing_are_named(tmp_path: Path) -> None:
    assert Tls.read(None) is None
    with pytest.raises(SettingsError, match=r"tls\.crt"):
        Tls.read(tmp_path)
