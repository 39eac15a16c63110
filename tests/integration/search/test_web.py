"""Documents over HTTP: what may be reached, what is taken, how much of it (SPEC §5, §7)."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from ipaddress import ip_address

import pytest

from services.kit.addresses import Address
from services.kit.dialer import CheckedDialer, EgressPolicy
from services.kit.host_rules import HostRules
from services.search.web import client as http
from services.search.web import fetcher as fetching
from services.search.web.client import FetchFailed, HttpClient
from services.search.web.fetcher import WebFetcher
from tests.site import Page, Site

NAMES = {"public.example": "127.0.0.1", "inside.example": "10.0.0.7", "rebound.example": "169.254.169.254"}


@pytest.fixture
def site() -> Iterator[Site]:
    with Site() as made:
        yield made


async def resolver(name: str, port: int) -> list[Address]:
    return [ip_address(NAMES[name])]


@pytest.fixture
async def fetcher(site: Site) -> AsyncIterator[WebFetcher]:
    """What the operator opened on loopback: the site under its address, and under one name."""
    opened = HostRules.parse([f"127.0.0.1:{site.port}", f"public.example:{site.port}"])
    made = WebFetcher(HttpClient(CheckedDialer(EgressPolicy(opened=opened), resolver)))
    yield made
    await made.close()


async def refused(fetcher: WebFetcher, url: str) -> FetchFailed:
    with pytest.raises(FetchFailed) as caught:
        await fetcher.fetch(url)
    return caught.value


async def test_a_document_with_where_it_was_and_what_it_is(fetcher: WebFetcher, site: Site) -> None:
    where = site.put("/page", "<p>Kittens sleep.</p>")
    fetched = await fetcher.fetch(f"{site.origin}/redirect?to=/page")
    assert (fetched.url, fetched.content) == (where, b"<p>Kittens sleep.</p>")
    assert fetched.content_type == "text/html; charset=utf-8"
    [hit] = site.hits("/page")
    assert hit.headers["user-agent"] == http.USER_AGENT
    assert "cookie" not in hit.headers


@pytest.mark.parametrize(
    "url",
    [
        "http://127.0.0.1:1/",
        "http://127.0.0.1:{port}.evil/",
        "http://localhost:{port}/page",
        "http://[::1]:{port}/page",
        "http://0x7f000002:{port}/page",
        "http://inside.example:{port}/page",
        "http://rebound.example/latest/meta-data",
        "file:///etc/passwd",
        "ftp://127.0.0.1/x",
        "http://printer.local/",
    ],
)
async def test_what_is_not_public_is_not_reached(fetcher: WebFetcher, site: Site, url: str) -> None:
    site.put("/page", "secret")
    refusal = await refused(fetcher, url.format(port=site.port))
    assert refusal.reason == "blocked"
    assert "10.0.0.7" not in str(refusal)
    assert site.hits("/page") == []


async def test_a_name_is_connected_to_where_it_was_checked_to_lead(fetcher: WebFetcher, site: Site) -> None:
    site.put("/page", "by name")
    assert (await fetcher.fetch(f"http://public.example:{site.port}/page")).content == b"by name"
    assert {hit.host for hit in site.hits()} == {f"public.example:{site.port}"}
    assert (await fetcher.fetch(f"http://PUBLIC.example.:{site.port}/page#top")).content == b"by name"


async def test_credentials_of_a_redirect_are_not_sent(fetcher: WebFetcher, site: Site) -> None:
    site.put("/page", "x")
    await fetcher.fetch(f"{site.origin}/redirect?to=http://user:pass@127.0.0.1:{site.port}/page")
    assert "authorization" not in site.hits("/page")[0].headers


async def test_a_redirect_inside_is_refused(fetcher: WebFetcher, site: Site) -> None:
    refusal = await refused(fetcher, f"{site.origin}/redirect?to=http://inside.example/page")
    assert refusal.reason == "blocked"
    loop = f"{site.origin}/redirect?to=/loop"
    site.pages["/loop"] = Page(b"", status=302, headers={"location": "/loop"})
    assert (await refused(fetcher, loop)).reason == "status"
    assert len(site.hits("/loop")) == 5


async def test_robots_txt_is_kept_to_and_asked_for_once(fetcher: WebFetcher, site: Site) -> None:
    site.put("/robots.txt", "User-agent: HyperKittySearch\nDisallow: /private\n", content_type="text/plain")
    site.put("/private/page", "x")
    site.put("/page", "y")
    assert (await refused(fetcher, site.url("/private/page"))).reason == "robots"
    assert (await fetcher.fetch(site.url("/page"))).content == b"y"
    assert (len(site.hits("/robots.txt")), site.hits("/private/page")) == (1, [])


@pytest.mark.parametrize("status", [500, 503, 429])
async def test_a_site_whose_robots_txt_is_away_is_left_alone(fetcher: WebFetcher, site: Site, status: int) -> None:
    site.pages["/robots.txt"] = Page(b"", status=status)
    site.put("/page", "y")
    assert (await refused(fetcher, site.url("/page"))).reason == "robots"


async def test_types_sizes_and_statuses_that_are_not_taken(
    fetcher: WebFetcher, site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fetching, "MOST_BYTES", 1_000)
    site.pages["/image"] = Page(b"GIF89a", "image/gif")
    site.pages["/big"] = Page(b"x" * 1_001, "text/plain")
    site.pages["/fits"] = Page(b"x" * 1_000, "text/plain")
    assert (await refused(fetcher, site.url("/image"))).reason == "type"
    assert (await refused(fetcher, site.url("/big"))).reason == "too_large"
    assert (await refused(fetcher, site.url("/nowhere"))).reason == "status"
    assert (await refused(fetcher, site.url("/status/500"))).reason == "status"
    assert len((await fetcher.fetch(site.url("/fits"))).content) == 1_000


async def test_a_server_that_does_not_answer_costs_its_time_only(
    fetcher: WebFetcher, site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fetching, "SECONDS", 0.3)
    async with asyncio.timeout(3):
        assert (await refused(fetcher, site.url("/hold"))).reason == "timeout"
        assert (await refused(fetcher, site.url("/drop"))).reason == "unreachable"


async def test_what_did_not_change_is_not_sent_twice(fetcher: WebFetcher, site: Site) -> None:
    site.pages["/page"] = Page(b"one", "text/plain", headers={"etag": '"1"'})
    assert (await fetcher.fetch(site.url("/page"))).content == b"one"
    site.pages["/page"] = Page(b"", status=304)
    assert (await fetcher.fetch(site.url("/page"))).content == b"one"
    assert site.hits("/page")[1].headers["if-none-match"] == '"1"'
