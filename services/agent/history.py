"""An agent's actions as its history lists them, with the places of their events in the log."""

from __future__ import annotations

from hyperkitty.agent.v1.agents_pb2 import AgentAction

from services.agent.ledger import Ledger, Standing
from services.kit.event_log import EventFilter, EventLog
from services.kit.paging import DEFAULT_SIZE, page_of

# Newest events that are looked through for an action's own; older actions are listed without them.
_MOST_EVENTS = 1_000


class History:
    """Reads the bucket `actions` and the log."""

    def __init__(self, ledger: Ledger, event_log: EventLog) -> None:
        self._ledger = ledger
        self._event_log = event_log

    async def page(self, standing: Standing, page_size: int, page_token: str) -> tuple[list[AgentAction], str]:
        """Actions, oldest first, the running one last; and the next page's token. Raises Refusal."""
        agent, claim = standing.agent, standing.record.claim
        # Fencing numbers are the places in the history: padded, they sort as they count.
        numbers = [f"{number:010d}" for number in range(1, agent.action_count + 1)]
        page, token = page_of(numbers, page_size or DEFAULT_SIZE, page_token, key=lambda each: each, newest_first=False)
        wanted = range(int(page[0]), int(page[-1]) + 1) if page else range(0)
        actions = await self._ledger.history(agent, wanted)
        if claim is not None and claim.action.fencing_number in wanted:
            actions.append(claim.action)
        if actions:
            await self._add_sequences(agent.tenant, agent.agent_id, actions)
        return actions, token

    async def _add_sequences(self, tenant: str, agent_id: str, actions: list[AgentAction]) -> None:
        wanted = EventFilter(tenant=tenant, category_prefix="agent.action.", subject=agent_id)
        by_id = {action.action_id: action for action in actions}
        for event in reversed(await self._event_log.recent(wanted, _MOST_EVENTS)):
            action = by_id.get(event.subject)
            if action is not None:
                action.event_sequences.append(event.sequence)
