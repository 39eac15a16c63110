"""Nothing but the proxy leads out, and the proxy follows the rules; said by the site that is asked or not."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest

from tests.integration.chromium.held import Held, User, held
from tests.site import Site

pytestmark = pytest.mark.real_chromium


def test_a_loopback_listener_is_not_reached_without_a_rule(browser: Held, site: Site) -> None:
    answer = browser.ask("visit", url=site.put("/", "<h1>in</h1>"))
    assert site.hits() == []
    assert answer["blocked"] == [f"127.0.0.1:{site.port}"]
    assert "refused by this session's network policy" in answer["text"]


def test_a_loopback_listener_is_reached_with_a_rule_for_it(browser: Held, site: Site) -> None:
    url = site.put("/", "<h1>in</h1>")
    browser.ask("rule", text=f"127.0.0.1:{site.port}")
    answer = browser.ask("visit", url=url)
    assert (answer["text"], answer["error"], answer["blocked"]) == ("in", "", [])
    assert [hit.path for hit in site.hits()] == ["/"]
    assert site.hits()[0].host == f"127.0.0.1:{site.port}"


def test_a_rule_opens_the_host_as_written_only(browser: Held, site: Site) -> None:
    site.put("/", "<h1>in</h1>")
    browser.ask("rule", text=f"127.0.0.1:{site.port}")
    browser.ask("visit", url=f"http://localhost:{site.port}/")
    assert site.hits() == []


def test_even_a_chromium_without_proxy_settings_reaches_nothing(user: User, home: Path, site: Site) -> None:
    """What the network namespace is for: the switches alone are a page's, or a bug's, to get around."""
    url = site.put("/", "<h1>in</h1>")
    with held(user, home, switches=["--proxy-server=direct://"]) as browser:
        answer = browser.ask("visit", url=url)
    assert site.hits() == []
    assert answer["error"] == "net::ERR_CONNECTION_REFUSED"


def test_an_unreachable_site_is_a_failure_and_the_proxy_knows_which(browser: Held) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    browser.ask("rule", text=f"127.0.0.1:{port}")
    answer = browser.ask("visit", url=f"http://127.0.0.1:{port}/")
    assert answer["error"] == "net::ERR_EMPTY_RESPONSE"
    assert answer["failure"] == "net::ERR_CONNECTION_REFUSED"
    answer = browser.ask("visit", url=f"https://127.0.0.1:{port}/")
    assert answer["error"] == "net::ERR_TUNNEL_CONNECTION_FAILED"
    assert answer["failure"] == "net::ERR_CONNECTION_REFUSED"


@pytest.mark.parametrize("full", [False, True], ids=["shell", "full"])
def test_chromium_asks_nobody_anything_of_its_own(user: User, home: Path, site: Site, full: bool) -> None:
    """Start, load a page, close: the proxy saw the page's site and nothing else."""
    url = site.put("/", "<h1>in</h1>")
    with held(user, home, full=full) as browser:
        browser.ask("rule", text=f"127.0.0.1:{site.port}")
        answer = browser.ask("visit", url=url)
    assert answer["text"] == "in"
    assert set(answer["asked"]) == {f"127.0.0.1:{site.port}"}
