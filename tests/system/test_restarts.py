"""One failure stays one failure: each part killed in turn is healed, the others keep running, and work goes on."""

from __future__ import annotations

import pytest

from tests.acting import Person
from tests.running_system import RunningSystem
from tests.site import Site
from tests.waiting import until

PARTS = ["nats", "browser", "agent", "search", "messaging", "health", "gateway"]


@pytest.mark.parametrize("part", PARTS)
def test_a_killed_part_comes_back_alone(system: RunningSystem, site: Site, part: str) -> None:
    before = {name: facts["pid"] for name, facts in system.parts().items()}
    killed = system.kill(part)
    system.wait_healed(part, killed)
    after = {name: facts["pid"] for name, facts in system.parts().items()}
    assert {name for name in before if before[name] != after[name]} == {part}
    url = site.put("/page", "<title>Still here</title>")

    def works() -> bool:
        created = system.rest.post("/api/browser/sessions")
        if created.status != 200:
            return False
        session_id = created.json["result"]["session_id"]
        opened = system.rest.post(f"/api/browser/sessions/{session_id}/tabs", {"url": url})
        Person(system.rest, session_id, "").close()
        return opened.status == 200 and opened.json["result"]["title"] == "Still here"

    until(works, f"work after {part} was killed", 15)
    health = until(lambda: system.rest.get("/api/health").json, "health")
    assert health["status"] == "healthy", health
