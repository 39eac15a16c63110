"""The probe of containers and pods: true only of a server that says SERVING."""

from __future__ import annotations

from pathlib import Path

import pytest

from services.kit.probe import own_target, serves
from services.kit.serving import Server
from services.kit.settings import CommonSettings


async def test_a_server_is_serving_between_ready_and_draining(tmp_path: Path) -> None:
    target = f"unix:{tmp_path}/s/x.sock"
    assert not await serves(target, None)
    server = Server([], None)
    await server.start(target)
    try:
        assert not await serves(target, None)
        await server.serve(announce=False)
        assert await serves(target, None)
        await server.refuse_new()
        assert not await serves(target, None)
    finally:
        await server.drain(0)


def test_a_service_asks_itself(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HYPERKITTY_RUNTIME_DIR", str(tmp_path))
    assert own_target("agent", CommonSettings()) == f"unix:{tmp_path}/agent.sock"
    monkeypatch.setenv("HYPERKITTY_AGENT_TARGET", "dns:///agent:8430")
    monkeypatch.setenv("HYPERKITTY_LISTEN", "0.0.0.0:8430")
    assert own_target("agent", CommonSettings()) == "localhost:8430"
