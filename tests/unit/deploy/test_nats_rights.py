"""What each process may publish: its own categories and buckets, never the log's configuration."""

from __future__ import annotations

import pytest

from deploy.nats_rights import rights_of
from deploy.processes import NATS, TABLE, Process

SERVICES = {process.name: process for process in TABLE if process is not NATS}
ROOTS = {"browser": "browser", "agent": "agent", "search": "search", "messaging": "message", "gateway": "auth"}


def covers(pattern: str, subject: str) -> bool:
    """NATS's own matching: `*` is one token, `>` one or more at the end."""
    wanted, given = pattern.split("."), subject.split(".")
    for index, token in enumerate(wanted):
        if token == ">":
            return len(given) > index
        if index >= len(given) or token not in ("*", given[index]):
            return False
    return len(wanted) == len(given)


def may_publish(process: Process, subject: str) -> bool:
    return any(covers(pattern, subject) for pattern in rights_of(process).publish)


def event(category: str) -> str:
    return f"hk.events.default._.sess_1.sess_1.{category}"


@pytest.mark.parametrize("name", SERVICES)
def test_events_of_its_own_root_and_of_service_only(name: str) -> None:
    process = SERVICES[name]
    assert may_publish(process, event("service.started"))
    for owner, root in ROOTS.items():
        assert may_publish(process, event(f"{root}.some.thing")) == (owner == name), root


@pytest.mark.parametrize("name", SERVICES)
@pytest.mark.parametrize("verb", ["UPDATE", "DELETE", "PURGE", "MSG.DELETE", "SNAPSHOT", "RESTORE"])
@pytest.mark.parametrize("stream", ["HK_EVENTS", "KV_operations"])
def test_nobody_changes_the_record(name: str, verb: str, stream: str) -> None:
    assert not may_publish(SERVICES[name], f"$JS.API.STREAM.{verb}.{stream}")
    assert may_publish(SERVICES[name], f"$JS.API.STREAM.CREATE.{stream}")


@pytest.mark.parametrize("name", SERVICES)
def test_nobody_gives_a_stream_another_configuration(name: str) -> None:
    for stream in ("KV_sessions", "KV_agents", "KV_tokens", "OBJ_artifacts"):
        assert not may_publish(SERVICES[name], f"$JS.API.STREAM.UPDATE.{stream}")


@pytest.mark.parametrize("name", SERVICES)
def test_records_of_its_own_operations_only(name: str) -> None:
    for other in SERVICES:
        assert may_publish(SERVICES[name], f"$KV.operations.{other}.op_1") == (other == name)


def test_a_bucket_is_written_and_read_by_its_owner_only() -> None:
    owners = {bucket: process.name for process in SERVICES.values() for bucket in process.buckets}
    assert owners == {
        "sessions": "browser",
        "agents": "agent",
        "actions": "agent",
        "jobs": "search",
        "messages": "messaging",
        "tokens": "gateway",
    }
    for bucket, owner in owners.items():
        for name, process in SERVICES.items():
            for subject in (f"$KV.{bucket}.x", f"$JS.API.DIRECT.GET.KV_{bucket}", f"$JS.API.STREAM.CREATE.KV_{bucket}"):
                assert may_publish(process, subject) == (name == owner), subject


@pytest.mark.parametrize("name", SERVICES)
def test_artifacts_are_written_by_browser_and_gateway_and_read_by_all(name: str) -> None:
    writes = name in ("browser", "gateway")
    assert may_publish(SERVICES[name], "$O.artifacts.C.abc") == writes
    assert may_publish(SERVICES[name], "$JS.API.STREAM.PURGE.OBJ_artifacts") == writes
    assert may_publish(SERVICES[name], "$JS.API.CONSUMER.CREATE.OBJ_artifacts")


@pytest.mark.parametrize("name", SERVICES)
def test_replies_are_heard_by_the_one_who_asked(name: str) -> None:
    subscribe = rights_of(SERVICES[name]).subscribe
    for other in SERVICES:
        assert any(covers(pattern, f"_INBOX_{other}.1.2") for pattern in subscribe) == (other == name)
    assert not any(covers(pattern, "$JS.API.STREAM.CREATE.X") for pattern in subscribe)
