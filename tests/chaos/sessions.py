"""Sessions as their list tells of them."""

from __future__ import annotations

from typing import Any

from tests.running_system import RunningSystem


def session(system: RunningSystem, session_id: str) -> Any:
    return system.rest.get(f"/api/browser/sessions/{session_id}").json


def open_sessions(system: RunningSystem) -> set[str]:
    """Sessions that have not ended."""
    listed = system.rest.get("/api/browser/sessions?page_size=200").json["sessions"]
    return {each["session_id"] for each in listed if each["status"] not in ("closed", "crashed")}
