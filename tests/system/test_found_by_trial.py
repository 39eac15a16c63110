"""What a stranger's trial found: each once broken, none to come back."""

from __future__ import annotations

import socket
from concurrent.futures import ThreadPoolExecutor
from urllib.parse import urlsplit

from tests.acting import ActingAgent, Person, grants_for
from tests.running_system import RunningSystem
from tests.site import Site
from tests.waiting import until


def cut_short(system: RunningSystem, path: str, body: str, site: Site, seen: str) -> None:
    """POST, and close the connection once the site has seen the request that follows from it."""
    parts = urlsplit(system.state["rest_url"])
    with socket.create_connection((parts.hostname or "", parts.port or 0), timeout=10) as connection:
        head = f"POST {path} HTTP/1.1\r\nhost: {parts.netloc}\r\nauthorization: Bearer {system.state['token']}\r\n"
        connection.sendall(f"{head}content-length: {len(body)}\r\n\r\n{body}".encode())
        until(lambda: site.hits(seen), f"{seen} asked for")


def test_a_cancelled_navigation_leaves_the_tab_usable(shared_system: RunningSystem, site: Site) -> None:
    person = Person.start(shared_system.rest, site.put("/ok", "<title>Ok</title><p>Still here.</p>"))
    cut_short(shared_system, f"{person.path}/navigate", f'{{"url":"{site.url("/hold")}"}}', site, "/hold")
    until(lambda: person.act("read_page").status == 200, "the page read again")
    assert "Still here." in person.act("read_page").result["content"]
    person.close()


def test_the_error_page_of_one_navigation_is_not_the_next_ones(shared_system: RunningSystem, site: Site) -> None:
    agent = ActingAgent.create(shared_system.rest, grants_for(site)).start(site.put("/ok", "<title>Ok</title>"))
    for _ in range(5):
        failed = agent.on_tab("navigate", url=site.url("/redirect?to=data:text/plain,no"))
        assert (failed.status, failed.error_code) == (422, "navigation_failed")
        blocked = agent.on_tab("navigate", url=site.url(f"/redirect?to=http://127.0.0.1:{site.port + 1}/"))
        assert (blocked.status, blocked.error_code) == (403, "request_blocked")
    assert agent.rest.post(f"/api/agents/{agent.agent_id}/terminate").status == 200


def test_a_picture_beside_a_reload_does_not_hang(shared_system: RunningSystem, site: Site) -> None:
    person = Person.start(shared_system.rest, site.put("/ok", "<title>Ok</title><p>Hello.</p>"))
    with ThreadPoolExecutor(2) as pool:
        for _ in range(5):
            calls = [pool.submit(person.act, op, timeout_ms=15_000) for op in ("screenshot", "reload")]
            assert [call.result().status for call in calls] == [200, 200]
    person.close()


def test_an_empty_list_of_domains_is_no_grant_of_all(shared_system: RunningSystem) -> None:
    no_domains: list[str] = []
    refused = shared_system.rest.post("/api/agents", {"capabilities": [{"navigate": {"allowed_domains": no_domains}}]})
    assert (refused.status, refused.error_code) == (400, "invalid_arguments")
    plain = shared_system.rest.post("/api/agents", {"capabilities": ["navigate"]})
    assert plain.status == 200


def test_a_page_is_read_though_it_goes_on_meanwhile(shared_system: RunningSystem, site: Site) -> None:
    site.put("/next", "<title>Next</title><p>The next page.</p>")
    going = "<title>Going</title><script>setTimeout(() => location.href = '/next', 30)</script>" + "<p>word</p>" * 2_000
    person = Person.start(shared_system.rest, site.put("/going", going))
    assert person.act("read_page").status == 200
    until(lambda: "The next page." in person.act("read_page").result["content"], "the next page read")
    person.close()
