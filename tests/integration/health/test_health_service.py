"""The health service as a process of its own, beside parts that are up, down or frozen (SPEC §13, §9, §10)."""

from __future__ import annotations

import asyncio
import json
import signal
import time
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from hyperkitty.agent.v1 import agent_service_pb2 as agent_pb
from hyperkitty.agent.v1.agent_service_pb2_grpc import AgentServiceStub
from hyperkitty.events.v1 import event_service_pb2 as events_pb
from hyperkitty.events.v1.event_service_pb2_grpc import EventServiceStub
from hyperkitty.health.v1.health_pb2 import HealthReport, HealthStatus
from hyperkitty.health.v1.health_service_pb2 import GetHealthRequest
from hyperkitty.health.v1.health_service_pb2_grpc import HealthServiceStub
from hyperkitty.operations.v1 import operation_service_pb2 as operations_pb
from hyperkitty.operations.v1.artifacts_pb2 import ARTIFACT_KIND_SCREENSHOT
from hyperkitty.operations.v1.operation_service_pb2_grpc import OperationServiceStub
from hyperkitty.operations.v1.operations_pb2 import OPERATION_STATUS_IN_PROGRESS, OPERATION_STATUS_SUCCEEDED

from services.kit.artifacts import NewArtifact
from services.kit.clock import SystemClock
from services.kit.identity import calling_as
from services.kit.nats_artifacts import NatsArtifacts
from tests.integration.agent.conftest import AgentWorld
from tests.integration.agent.fake_browser import FakeBrowser
from tests.integration.agent.small_system import ROOT, SmallSystem, small_system
from tests.integration.agent.test_agent_service import CLICK

HEALTHY = HealthStatus.HEALTH_STATUS_HEALTHY
UNHEALTHY = HealthStatus.HEALTH_STATUS_UNHEALTHY


@pytest.fixture
async def system(tmp_path: Path) -> AsyncIterator[SmallSystem]:
    async with small_system(tmp_path / "home") as made:
        await made.start("health")
        yield made


async def report(system: SmallSystem) -> HealthReport:
    """A report; fails when it takes more than 2 s."""
    began = time.monotonic()
    with calling_as(ROOT):
        answer = await HealthServiceStub(system.channel("health")).GetHealth(GetHealthRequest())
    assert time.monotonic() - began < 2.0
    return answer.report


def states(made: HealthReport) -> dict[str, HealthStatus.ValueType]:
    return {service.name: service.status for service in made.services}


async def test_parts_that_are_down_are_told_within_two_seconds(system: SmallSystem) -> None:
    await system.start("messaging")
    system.runtime.joinpath("supervisor.json").write_text(json.dumps({"processes": {"messaging": {"restarts": 2}}}))
    made = await report(system)
    assert made.status == UNHEALTHY
    assert states(made) == {
        "browser": UNHEALTHY,
        "agent": UNHEALTHY,
        "search": UNHEALTHY,
        "messaging": HEALTHY,
        "health": HEALTHY,
        "gateway": UNHEALTHY,
    }
    messaging = next(each for each in made.services if each.name == "messaging")
    assert messaging.restarts == 2
    assert messaging.latency_ms > 0
    assert messaging.version
    assert messaging.counts["messages"] == 0
    assert made.bus.status == HEALTHY
    assert made.bus.last_sequence == made.bus.log_events == 2
    assert [event.category for event in made.recent_events] == ["service.started"] * 2


async def test_a_frozen_service_is_down_and_a_thawed_one_is_up(system: SmallSystem) -> None:
    await system.start("messaging")
    system.processes["messaging"].send_signal(signal.SIGSTOP)
    assert states(await report(system))["messaging"] == UNHEALTHY
    system.processes["messaging"].send_signal(signal.SIGCONT)
    async with asyncio.timeout(10):
        while states(await report(system))["messaging"] != HEALTHY:
            await asyncio.sleep(0.05)


async def test_a_frozen_bus_is_told(system: SmallSystem) -> None:
    system.nats.signal(signal.SIGSTOP)
    made = await report(system)
    assert (made.status, made.bus.status) == (UNHEALTHY, UNHEALTHY)
    assert states(made)["health"] == HEALTHY


@pytest.fixture
async def acting(system: SmallSystem) -> AsyncIterator[AgentWorld]:
    fake = FakeBrowser()
    server = await system.serve("browser", [fake.servicer])
    await system.start("agent")
    yield AgentWorld(system, fake)
    fake.gate.set()
    await server.drain(0)


async def get_status(system: SmallSystem, operation_id: str) -> int:
    with calling_as(ROOT):
        request = operations_pb.GetOperationRequest(operation_id=operation_id)
        answer = await OperationServiceStub(system.channel("health")).GetOperation(request)
    return answer.operation.status


async def test_an_operation_is_seen_while_it_runs_and_after(acting: AgentWorld) -> None:
    agent_id = await acting.create("click")
    acting.browser.gate.clear()
    action = asyncio.create_task(acting.act(agent_id, CLICK))
    await acting.browser.arrived.wait()
    operation_id = (await acting.system.events(agent_id))[-1].operation_id
    assert await get_status(acting.system, operation_id) == OPERATION_STATUS_IN_PROGRESS
    acting.browser.gate.set()
    await action
    assert await get_status(acting.system, operation_id) == OPERATION_STATUS_SUCCEEDED
    with calling_as(ROOT):
        request = operations_pb.ListOperationsRequest(subject=agent_id)
        listed = await OperationServiceStub(acting.system.channel("health")).ListOperations(request)
    assert [operation.kind for operation in listed.operations] == ["act", "create_agent"]


async def test_a_stream_goes_on_over_restarts_of_nats_and_resumes_over_one_of_health(acting: AgentWorld) -> None:
    system = acting.system
    agent_id = await acting.create("click")
    seen: list[tuple[int, str]] = []
    arrived = asyncio.Semaphore(0)

    async def follow(after: int) -> None:
        with calling_as(ROOT):
            request = events_pb.StreamEventsRequest(category_prefix="agent", after_sequence=after)
            stream = EventServiceStub(system.channel("health")).StreamEvents(request)
        async for response in stream:
            for event in response.events:
                seen.append((event.sequence, event.category))
                arrived.release()

    async def arrive(count: int) -> None:
        async with asyncio.timeout(15):
            for _ in range(count):
                await arrived.acquire()

    following = asyncio.create_task(follow(0))
    await arrive(1)
    await system.nats.kill()
    await system.nats.start()
    await _act_when_possible(acting, agent_id)
    await arrive(2)
    await system.kill("health")
    await asyncio.wait([following])
    assert following.exception() is not None
    await acting.act(agent_id, CLICK)
    await system.start("health")
    following = asyncio.create_task(follow(seen[-1][0]))
    await arrive(2)
    following.cancel()
    await asyncio.wait([following])
    told = [category for _, category in seen if category.startswith("agent.action")]
    assert [sequence for sequence, _ in seen] == sorted({sequence for sequence, _ in seen})
    assert told == ["agent.action.started", "agent.action.completed"] * 2


async def _act_when_possible(acting: AgentWorld, agent_id: str) -> None:
    """Acts once NATS is back; an attempt before that is refused and leaves no action."""
    with calling_as(ROOT):
        stub = AgentServiceStub(acting.system.channel("agent"))
        async with asyncio.timeout(15):
            while True:
                try:
                    await stub.GetAgent(agent_pb.GetAgentRequest(agent_id=agent_id))
                    break
                except Exception:
                    await asyncio.sleep(0.05)
    await acting.act(agent_id, CLICK)


async def test_an_artifact_is_read_in_parts(system: SmallSystem) -> None:
    artifacts = NatsArtifacts(system.bus.connection, system.bus.publisher, SystemClock())
    await artifacts.open()
    content = bytes(range(256)) * 3_000
    artifact = await artifacts.put(content, NewArtifact(ARTIFACT_KIND_SCREENSHOT, "image/png", tenant="default"))
    with calling_as(ROOT):
        request = operations_pb.ReadArtifactRequest(artifact_id=artifact.artifact_id, offset=5)
        stream = OperationServiceStub(system.channel("health")).ReadArtifact(request)
    parts = [part async for part in stream]
    assert parts[0].artifact == artifact
    assert b"".join(part.chunk for part in parts[1:]) == content[5:]
