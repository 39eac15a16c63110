"""What is open without a token, and what is not."""

from __future__ import annotations

import re

import pytest

from gateway.web.pages import FRONTEND
from tests.contract.gateway.conftest import AUTHORIZATION, Gateway

VIEWS = ["dashboard", "agents", "sessions", "search", "messages", "events", "audit"]


async def test_the_first_page(gateway: Gateway) -> None:
    async with gateway.http.get(gateway.url + "/") as response:
        text = await response.text()
        assert response.status == 200
        assert response.content_type == "text/html"
        policy = response.headers["content-security-policy"]
        assert response.headers["x-request-id"]
        assert response.headers["x-content-type-options"] == "nosniff"
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert "http" not in policy
    assert [name for name in VIEWS if f'href="#/{name}"' not in text] == []
    assert re.search(r"<script(?![^>]*\bsrc=)", text) is None
    assert re.search(r"\son[a-z]+=|\sstyle=|<style|https?://", text) is None
    for path in re.findall(r'(?:src|href)="(/[^"]+)"', text):
        async with gateway.http.get(gateway.url + path) as response:
            assert response.status == 200, path


def test_no_page_renders_markup_or_fetches_from_elsewhere() -> None:
    sources = [*FRONTEND.rglob("*.js"), *FRONTEND.rglob("*.html"), *FRONTEND.rglob("*.css")]
    assert len(sources) > 8
    for source in sources:
        text = source.read_text()
        forbidden = r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval\(|new Function|https?://|localStorage"
        assert re.search(forbidden, text) is None, source
        assert "sessionStorage" not in text, source


async def test_probes_are_open_to_any_host(gateway: Gateway) -> None:
    for path, status in (("/livez", "live"), ("/readyz", "ready")):
        async with gateway.http.get(gateway.url + path, headers={"host": "10.1.2.3:8420"}) as response:
            assert response.status == 200
            assert (await response.json())["status"] == status
            assert response.headers["x-request-id"]


async def test_readiness_asks(gateway: Gateway) -> None:
    await gateway["search"].stop()
    async with gateway.http.get(gateway.url + "/readyz") as response:
        assert response.status == 200
        answer = await response.json()
    assert answer["status"] == "degraded"
    assert {name for name, state in answer["services"].items() if state == "down"} == {"search"}
    async with gateway.http.get(gateway.url + "/livez") as response:
        assert response.status == 200


async def test_metrics_need_a_token(gateway: Gateway) -> None:
    url = gateway.url + "/metrics"
    async with gateway.http.get(url) as response:
        assert response.status == 401
    async with gateway.http.get(gateway.url + "/api/agents", headers=AUTHORIZATION):
        pass
    async with gateway.http.get(url, headers=AUTHORIZATION) as response:
        assert response.status == 200
        text = await response.text()
    assert 'hyperkitty_gateway_request_seconds_count{method="AgentService.ListAgents",status="200"}' in text


@pytest.mark.parametrize(
    "path", ["/../pyproject.toml", "/%2e%2e/pyproject.toml", "/js/../../pyproject.toml", "/js", "//"]
)
async def test_nothing_else_is_served(gateway: Gateway, path: str) -> None:
    from yarl import URL

    async with gateway.http.get(URL(gateway.url + path, encoded=True)) as response:
        assert response.status == 404
        assert (await response.json())["error"]["code"] == "not_found"


async def test_pages_take_get_only(gateway: Gateway) -> None:
    async with gateway.http.post(gateway.url + "/", data=b"x") as response:
        assert response.status == 405
        assert response.headers["allow"] == "GET, HEAD"
    async with gateway.http.head(gateway.url + "/") as response:
        assert response.status == 200


async def test_the_openapi_document_needs_a_token(gateway: Gateway) -> None:
    async with gateway.http.get(f"{gateway.url}/api/openapi.json") as refused:
        assert refused.status == 401
    async with gateway.http.get(f"{gateway.url}/api/openapi.json", headers=AUTHORIZATION) as answer:
        assert (answer.status, answer.content_type) == (200, "application/json")
        document = await answer.json()
    assert document["openapi"].startswith("3.1")
    assert "/api/agents/{agent_id}/actions" in document["paths"]
