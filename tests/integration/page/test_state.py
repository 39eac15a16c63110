"""export_state and import_state: a session goes on where another was, and no site is asked."""

from __future__ import annotations

import pytest
from hyperkitty.browser.v1 import operations_pb2 as pb
from hyperkitty.browser.v1.sessions_pb2 import SessionSettings
from hyperkitty.operations.v1.artifacts_pb2 import ARTIFACT_KIND_SNAPSHOT
from hyperkitty.operations.v1.errors_pb2 import ErrorCode

from services.browser.operations.state import CONTENT_TYPE
from services.kit.errors import Refusal
from services.kit.ids import new_id
from tests.integration.page.conftest import running
from tests.integration.page.driving import Driver
from tests.site import Site


async def bring(driver: Driver, artifact_id: str) -> pb.ImportStateResult:
    operation = pb.ImportStateOperation(session_id=driver.session.session_id, artifact_id=artifact_id)
    return await driver.run(operation)


async def test_another_session_goes_on(driver: Driver, local_site: Site) -> None:
    await driver.show("<script>localStorage.cart = '3 pears'; document.cookie = 'login=yes'</script>")
    exported = await driver.run(pb.ExportStateOperation(session_id=driver.session.session_id))
    async with running(local_site, SessionSettings()) as session:
        session.artifacts = driver.session.artifacts
        other = await Driver.open(session, local_site)
        before = len(local_site.hits())
        result = await bring(other, exported.artifact.artifact_id)
        assert (result.cookies, result.origins) == (1, 1)
        assert len(local_site.hits()) == before
        assert list(session.tabs) == [other.tab.tab_id]
        await other.show("<p>x", "/next")
        assert await other.page_says("localStorage.cart") == "3 pears"
        assert local_site.hits("/next")[-1].headers["cookie"] == "login=yes"
    await driver.run(pb.ClearCookiesOperation(session_id=driver.session.session_id))


async def test_what_is_no_state_is_refused(driver: Driver) -> None:
    with pytest.raises(Refusal) as caught:
        await bring(driver, new_id("art"))
    assert caught.value.code == ErrorCode.ERROR_CODE_NOT_FOUND
    for content_type, data in (("text/plain", b"{}"), (CONTENT_TYPE, b'{"version": "one"}'), (CONTENT_TYPE, b"\xff")):
        artifact = await driver.session.keep(ARTIFACT_KIND_SNAPSHOT, content_type, data)
        with pytest.raises(Refusal) as caught:
            await bring(driver, artifact.artifact_id)
        assert caught.value.code == ErrorCode.ERROR_CODE_INVALID_ARGUMENTS
