"""Ports: a taken default moves, a taken choice refuses (SPEC section 11)."""

from __future__ import annotations

import socket
from collections.abc import Iterator

import pytest

from deploy.local import ports


@pytest.fixture
def taken_port() -> Iterator[int]:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen(1)
        yield int(listener.getsockname()[1])


def test_a_free_default_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HK_PORT", raising=False)
    default = ports.find_free(set())
    assert ports.choose("HK_PORT", default, set()) == (default, False)


def test_a_taken_default_becomes_a_free_port_and_says_so(monkeypatch: pytest.MonkeyPatch, taken_port: int) -> None:
    monkeypatch.delenv("HK_PORT", raising=False)
    port, moved = ports.choose("HK_PORT", taken_port, set())
    assert moved
    assert port != taken_port
    assert ports.is_free(port)


def test_a_taken_choice_is_refused_by_name(monkeypatch: pytest.MonkeyPatch, taken_port: int) -> None:
    monkeypatch.setenv("HK_PORT", str(taken_port))
    with pytest.raises(ports.PortRefused, match=f"HK_PORT={taken_port}"):
        ports.choose("HK_PORT", 1, set())


def test_a_choice_given_out_before_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    free = ports.find_free(set())
    monkeypatch.setenv("HK_PORT", str(free))
    taken: set[int] = set()
    assert ports.choose("HK_PORT", 1, taken) == (free, False)
    with pytest.raises(ports.PortRefused):
        ports.choose("HK_PORT", 1, taken)


def test_zero_asks_for_a_free_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HK_PORT", "0")
    port, moved = ports.choose("HK_PORT", 1, set())
    assert port in ports.FREE_RANGE
    assert not moved


@pytest.mark.parametrize("text", ["x", "-1", "65536", "80.5", " 80", "٨٠"])
def test_what_is_no_port_is_refused(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.setenv("HK_PORT", text)
    with pytest.raises(ports.PortRefused, match="HK_PORT"):
        ports.choose("HK_PORT", 1, set())
