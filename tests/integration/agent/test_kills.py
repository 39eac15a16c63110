"""kill -9 of the agent service while many agents act: nothing lost, nothing doubled, nothing left waiting (SPEC §9)."""

from __future__ import annotations

import asyncio
from collections import Counter, defaultdict

from hyperkitty.agent.v1.agents_pb2 import AgentLimits

from services.kit.errors import Refusal
from tests.integration.agent.conftest import AgentWorld
from tests.integration.agent.test_agent_service import CLICK

AGENTS = 12
KILLS = 3
ACTIONS_BETWEEN = 150
OUTCOMES = ("agent.action.completed", "agent.action.failed")


async def _act_until(world: AgentWorld, agent_id: str, done: asyncio.Event, acted: asyncio.Semaphore) -> None:
    while not done.is_set():
        try:
            await world.act(agent_id, CLICK, timeout=20)
        except Refusal:
            # The service is away, or the agent is just being settled: a planner tries again.
            await asyncio.sleep(0.02)
            continue
        acted.release()


async def test_every_action_has_one_outcome_whenever_the_service_dies(world: AgentWorld) -> None:
    limits = AgentLimits(max_actions=100_000, max_repeats=1_000)
    agents = [await world.create("click", limits=limits) for _ in range(AGENTS)]
    done, acted = asyncio.Event(), asyncio.Semaphore(0)
    planners = [asyncio.create_task(_act_until(world, agent_id, done, acted)) for agent_id in agents]
    for _ in range(KILLS):
        async with asyncio.timeout(20):
            for _ in range(ACTIONS_BETWEEN):
                await acted.acquire()
        await world.system.kill("agent")
        await world.system.start("agent")
    done.set()
    await asyncio.gather(*planners)
    # What a dead process still owed is written by the next one, in the background.
    async with asyncio.timeout(20):
        while not all([await _is_whole(world, agent_id) for agent_id in agents]):
            await asyncio.sleep(0.1)
    fences: dict[str, list[int]] = defaultdict(list)
    for identity in world.browser.identities:
        fences[identity.agent_id].append(identity.delegation.fencing_number)
    for numbers in fences.values():
        assert numbers == sorted(set(numbers))


async def _is_whole(world: AgentWorld, agent_id: str) -> bool:
    """Each started action has exactly one outcome on the log, and the same one in the history; no call is in flight."""
    agent = await world.get(agent_id)
    events = await world.system.events(agent_id, "agent.action")
    started = [event.subject for event in events if event.category == "agent.action.started"]
    outcomes = Counter(event.subject for event in events if event.category in OUTCOMES)
    assert max(outcomes.values()) == 1
    assert len(set(started)) == len(started)
    history = {action.action_id: action.outcome for action in await world.all_history(agent_id)}
    assert len(history) == agent.action_count
    told = {event.subject: event.category == OUTCOMES[0] for event in events if event.category in OUTCOMES}
    if set(started) != set(told) or "" in history.values():
        return False
    # An action that was claimed and whose intent never reached the log did not happen: history alone has it.
    assert all(history[action_id] == "ok" for action_id, succeeded in told.items() if succeeded)
    assert all(history[action_id] != "ok" for action_id, succeeded in told.items() if not succeeded)
    return True
