"""The CDP tables against the protocol that the installed Chromium itself describes."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import urllib.request
from collections.abc import Generator
from importlib import import_module
from pkgutil import iter_modules
from types import ModuleType
from typing import Any, get_args

import msgspec
import pytest

from services.browser.cdp import domains
from services.browser.cdp.message import Command, Event
from services.browser.chromium import binary
from tests.waiting import until

pytestmark = pytest.mark.real_chromium


def modules() -> list[ModuleType]:
    return [import_module(f"{domains.__name__}.{found.name}") for found in iter_modules(domains.__path__)]


def table(base: type[Any]) -> list[type[Any]]:
    """Every struct of a kind that the domain modules define."""
    return [
        kind
        for module in modules()
        for kind in vars(module).values()
        if isinstance(kind, type) and issubclass(kind, base) and kind.__module__ == module.__name__
    ]


@pytest.fixture(scope="module")
def protocol(tmp_path_factory: pytest.TempPathFactory) -> Generator[dict[str, dict[str, Any]]]:
    """What Chromium says: {"commands" or "events": {"Page.navigate": its description}}."""
    profile = tmp_path_factory.mktemp("profile")
    sandbox = ["--no-sandbox"] if os.geteuid() == 0 else []
    process = subprocess.Popen(
        [str(binary.find().path), *sandbox, "--remote-debugging-port=0", f"--user-data-dir={profile}", "about:blank"],
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        port_file = profile / "DevToolsActivePort"
        port = until(lambda: port_file.exists() and port_file.read_text().splitlines()[0], "Chromium's port")
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/json/protocol", timeout=10) as answer:
            described = json.load(answer)
        yield {
            kind: {
                f"{each['domain']}.{one['name']}": one for each in described["domains"] for one in each.get(kind, [])
            }
            for kind in ("commands", "events")
        }
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait(10)


def names(described: list[dict[str, Any]], *, required_only: bool = False) -> set[str]:
    return {each["name"] for each in described if not (required_only and each.get("optional"))}


def fields(kind: type[Any], *, required_only: bool = False) -> set[str]:
    return {field.encode_name for field in msgspec.structs.fields(kind) if field.required or not required_only}


@pytest.mark.parametrize("kind", table(Command), ids=lambda kind: kind.METHOD)
def test_a_command_has_the_protocols_parameters_in_full(protocol: dict[str, dict[str, Any]], kind: type[Any]) -> None:
    described = protocol["commands"][kind.METHOD].get("parameters", [])
    assert fields(kind) == names(described)
    assert fields(kind, required_only=True) == names(described, required_only=True)


@pytest.mark.parametrize("kind", table(Command), ids=lambda kind: kind.METHOD)
def test_a_commands_result_is_what_the_protocol_returns(protocol: dict[str, dict[str, Any]], kind: type[Any]) -> None:
    result = get_args(kind.__orig_bases__[0])[0]
    described = protocol["commands"][kind.METHOD].get("returns", [])
    assert fields(result) <= names(described)
    assert fields(result, required_only=True) <= names(described, required_only=True)


@pytest.mark.parametrize("kind", table(Event), ids=lambda kind: kind.METHOD)
def test_an_event_is_what_the_protocol_sends(protocol: dict[str, dict[str, Any]], kind: type[Any]) -> None:
    described = protocol["events"][kind.METHOD].get("parameters", [])
    assert fields(kind) <= names(described)
    assert fields(kind, required_only=True) <= names(described, required_only=True)


@pytest.mark.parametrize("kind", [*table(Command), *table(Event)], ids=lambda kind: kind.METHOD)
def test_it_stands_in_the_module_of_its_domain(kind: type[Any]) -> None:
    assert kind.METHOD.partition(".")[0].lower() == kind.__module__.rpartition(".")[2]
