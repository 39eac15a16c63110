"""The record, looked at from outside: whatever was answered as done is on it once, whatever began has ended."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

from tests.running_system import RunningSystem
from tests.waiting import until

INTENTS = ("agent.action.started", "browser.action.started", "browser.navigation.started")
SETTLED_SECONDS = 15.0


def last_sequence(system: RunningSystem) -> int:
    """Where the log ends now."""
    events = system.rest.get("/api/events/recent?limit=1").json["events"]
    return events[0]["sequence"] if events else 0


def events_after(system: RunningSystem, sequence: int) -> list[dict[str, Any]]:
    """Everything on the log after `sequence`, in its order."""
    reply = system.rest.get(f"/api/events/export?after_sequence={sequence}")
    assert reply.status == 200, reply.body
    return [json.loads(line) for line in reply.body.splitlines()]


def check(system: RunningSystem, since: int, succeeded: list[str]) -> None:
    """Nothing lost, nothing doubled, of what happened after the sequence `since`.

    `succeeded` are the operations that a caller was told of as done.
    """
    until(lambda: not open_intents(events_after(system, since)), "an outcome for every intent", SETTLED_SECONDS)
    events = events_after(system, since)
    ids = Counter(event["event_id"] for event in events)
    assert [event_id for event_id, times in ids.items() if times > 1] == []
    sequences = [event["sequence"] for event in events]
    assert sequences == sorted(set(sequences))
    intents = {event["operation_id"] for event in events if is_intent(event)}
    outcomes = Counter(event["operation_id"] for event in events if not is_intent(event))
    assert {operation_id: outcomes[operation_id] for operation_id in intents if outcomes[operation_id] != 1} == {}
    for operation_id in succeeded:
        record = system.rest.get(f"/api/operations/{operation_id}")
        assert record.status == 200, f"{operation_id}: {record.body!r}"
        assert record.json["status"] == "succeeded", record.json
        assert outcomes[operation_id] >= 1, f"no event tells of {record.json}"


def is_intent(event: dict[str, Any]) -> bool:
    """Whether it says what is about to be done; one event with the same operation says how that ended."""
    return event["category"] in INTENTS


def open_intents(events: list[dict[str, Any]]) -> set[str]:
    """Operations with an intent and no outcome yet."""
    ended = {event["operation_id"] for event in events if not is_intent(event)}
    return {event["operation_id"] for event in events if is_intent(event)} - ended
