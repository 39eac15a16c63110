"""get_cookies, set_cookies and clear_cookies: what the site then sees; values only for who may have them."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hyperkitty.agent.v1.grants_pb2 import CookieScope, Grant
from hyperkitty.auth.v1.identity_pb2 import CallerIdentity, Delegation
from hyperkitty.browser.v1 import operations_pb2 as pb
from hyperkitty.operations.v1.errors_pb2 import ErrorCode

from services.browser.operations import get_cookies as module
from services.kit.errors import Refusal
from tests.integration.page.driving import Driver

PERSON = CallerIdentity(tenant="default", token_id="tok_person")
Being = Callable[[CallerIdentity], None]


def agent(*, values: bool) -> CallerIdentity:
    grant = Grant(capability="get_cookies", get_cookies=CookieScope(values=values))
    return CallerIdentity(tenant="default", agent_id="agent_x", delegation=Delegation(grants=[grant]))


@pytest.fixture
def being(monkeypatch: pytest.MonkeyPatch) -> Being:
    """Who calls."""
    return lambda identity: monkeypatch.setattr(module, "current_identity", lambda: identity)


async def clear(driver: Driver, domain: str = "") -> int:
    return (await driver.run(pb.ClearCookiesOperation(session_id=driver.session.session_id, domain=domain))).count


async def cookies(driver: Driver, *urls: str) -> list[pb.Cookie]:
    return list((await driver.run(pb.GetCookiesOperation(session_id=driver.session.session_id, urls=urls))).cookies)


async def put(driver: Driver, *given: pb.Cookie) -> None:
    assert (await driver.run(pb.SetCookiesOperation(session_id=driver.session.session_id, cookies=given))).count


async def test_what_is_set_reaches_the_site_and_what_is_cleared_does_not(driver: Driver, being: Being) -> None:
    being(PERSON)
    await clear(driver)
    await put(
        driver,
        pb.Cookie(name="a", value="1", domain="127.0.0.1", http_only=True, same_site=pb.SAME_SITE_LAX),
        pb.Cookie(name="b", value="2", domain="localhost", path="/deep", expires_at_ms=4_000_000_000_000),
    )
    await driver.show("<p>x")
    assert driver.site.hits("/")[-1].headers["cookie"] == "a=1"
    assert await driver.page_says("document.cookie") == ""
    found = {cookie.name: cookie for cookie in await cookies(driver)}
    assert (found["a"].value, found["a"].http_only, found["a"].same_site) == ("1", True, pb.SAME_SITE_LAX)
    assert (found["a"].expires_at_ms, found["b"].path) == (0, "/deep")
    assert [cookie.name for cookie in await cookies(driver, driver.site.url("/x"))] == ["a"]
    assert await cookies(driver, "http://localhost/else") == []
    assert [cookie.name for cookie in await cookies(driver, "http://localhost/deep/er")] == ["b"]
    assert await clear(driver, "localhost") == 1
    assert [cookie.name for cookie in await cookies(driver)] == ["a"]
    assert await clear(driver) == 1
    await driver.show("<p>x")
    assert "cookie" not in driver.site.hits("/")[-1].headers


@pytest.mark.parametrize("values", [False, True])
async def test_an_agent_has_values_only_by_its_grant(driver: Driver, being: Being, values: bool) -> None:
    await clear(driver)
    await put(driver, pb.Cookie(name="a", value="s3cret", domain="127.0.0.1"))
    being(agent(values=values))
    assert [cookie.value for cookie in await cookies(driver)] == ["s3cret" if values else ""]
    await clear(driver)


@pytest.mark.parametrize(
    "cookie",
    [pb.Cookie(name="a", value="1"), pb.Cookie(name="a;b", value="1", domain="127.0.0.1")],
    ids=["domain", "name"],
)
async def test_what_the_browser_does_not_take_is_refused(driver: Driver, cookie: pb.Cookie) -> None:
    with pytest.raises(Refusal) as caught:
        await put(driver, cookie)
    assert caught.value.code == ErrorCode.ERROR_CODE_INVALID_ARGUMENTS
