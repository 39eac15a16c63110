"""Downloads: what becomes of a file that a page sends (cases 32 and 34)."""

from __future__ import annotations

import pytest
from hyperkitty.browser.v1 import operations_pb2 as pb
from hyperkitty.browser.v1 import sessions_pb2
from hyperkitty.browser.v1 import targets_pb2 as targets
from hyperkitty.operations.v1.errors_pb2 import ErrorCode

from services.browser import downloads
from services.kit.errors import Refusal
from services.kit.ids import new_id
from tests.integration.page.conftest import running
from tests.integration.page.driving import CASES, Driver
from tests.site import Page, Site

CSV = b"a,b\n1,2\n"
COMPLETED = targets.DOWNLOAD_STATE_COMPLETED


def put_files(site: Site) -> None:
    """The endpoints of case 34."""
    headers = {"content-disposition": "attachment; filename=report.csv"}
    site.pages["/srv/attachment"] = Page(CSV, "text/csv", headers=headers)
    site.pages["/srv/to-attachment"] = Page(b"", status=302, headers={"location": "/srv/attachment"})
    evil = {"content-disposition": 'attachment; filename="../../x/e.txt"'}
    site.pages["/evil"] = Page(CSV, "text/csv", headers=evil)
    html = (CASES / "34-downloads" / "page.html").read_text(encoding="utf-8")
    site.put("/34/page.html", html.replace("/srv/attachment?name=..%2F..%2Fx%2Fe.txt", "/evil"))


async def get(driver: Driver, artifact_id: str, *, extract_text: bool = False) -> pb.GetDownloadResult:
    session_id = driver.session.session_id
    return await driver.run(
        pb.GetDownloadOperation(session_id=session_id, artifact_id=artifact_id, extract_text=extract_text)
    )


@pytest.mark.parametrize("path", ["/srv/attachment", "/srv/to-attachment"])
async def test_a_navigation_that_is_a_file(driver: Driver, path: str) -> None:
    put_files(driver.site)
    await driver.show("<p>stays")
    result = await driver.go(driver.site.url(path))
    assert result.navigation.outcome == targets.NAVIGATION_OUTCOME_DOWNLOAD
    download = driver.changed.download
    assert (download.suggested_name, download.bytes, download.state) == ("report.csv", 8, COMPLETED)
    assert download.content_type == "text/csv"
    assert driver.changed.url == driver.site.url("/")
    got = await get(driver, download.artifact_id)
    assert (got.content, got.download) == (CSV, download)
    assert list(driver.session.chromium.directory.downloads.iterdir()) == []


async def test_links_and_blobs_and_an_evil_name(driver: Driver) -> None:
    put_files(driver.site)
    await driver.go(driver.site.url("/34/page.html"))
    named: list[str] = []
    for role, name in (("link", "attr"), ("button", "blob"), ("link", "evil")):
        await driver.click(role=role, name=name)
        await driver.run(pb.WaitForOperation(download=True))
        listed = await driver.run(pb.ListDownloadsOperation(session_id=driver.session.session_id))
        last = listed.downloads[-1]
        assert last.state == COMPLETED
        named.append(last.suggested_name)
        assert (await get(driver, last.artifact_id)).content == (b"hello" if name == "blob" else CSV)
    assert named[:2] == ["report.csv", "note.txt"]
    assert named[2].endswith("e.txt")
    assert not {"/", "\\"}.intersection(named[2])


async def test_blocked_by_settings(local_site: Site) -> None:
    local_site.pages.clear()
    put_files(local_site)
    settings = sessions_pb2.SessionSettings(downloads=sessions_pb2.DOWNLOAD_POLICY_BLOCK)
    async with running(local_site, settings) as session:
        driver = await Driver.open(session, local_site)
        await driver.show("<p>stays")
        await driver.go(local_site.url("/srv/attachment"))
        assert driver.changed.download.state == targets.DOWNLOAD_STATE_BLOCKED
        assert driver.changed.url == local_site.url("/")
        assert list(session.chromium.directory.downloads.iterdir()) == []


async def test_over_the_limit_it_is_broken_off(driver: Driver, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(downloads, "MOST_BYTES", 500)
    await driver.show("<p>stays")
    await driver.go(driver.site.url("/download"))
    assert driver.changed.download.state == targets.DOWNLOAD_STATE_BLOCKED
    assert "500 bytes" in driver.changed.download.reason


async def test_a_pdf_is_a_download_with_text(driver: Driver) -> None:
    await driver.show("<h1>Hello PDF page</h1>")
    printed = await driver.run(pb.PrintPdfOperation())
    data = b"".join([chunk async for chunk in driver.session.artifacts.read(printed.artifact.artifact_id)])
    driver.site.pages["/srv/pdf"] = Page(data, "application/pdf")
    result = await driver.go(driver.site.url("/srv/pdf"))
    assert result.navigation.outcome == targets.NAVIGATION_OUTCOME_DOWNLOAD
    got = await get(driver, driver.changed.download.artifact_id, extract_text=True)
    assert got.download.content_type == "application/pdf"
    assert got.text == "Hello PDF page"
    await driver.case("32-pdf-navigation")
    assert "before" in (await driver.run(pb.ReadPageOperation())).content


async def test_what_is_no_download_of_the_session_is_refused(driver: Driver) -> None:
    await driver.show("<p>x")
    printed = await driver.run(pb.PrintPdfOperation())
    for artifact_id in (new_id("art"), printed.artifact.artifact_id):
        with pytest.raises(Refusal) as caught:
            await get(driver, artifact_id)
        assert caught.value.code == ErrorCode.ERROR_CODE_NOT_FOUND


@pytest.mark.parametrize(
    ("name", "safe"),
    [("../../x/e.txt", "xe.txt"), ("a\\b\x00.c", "ab.c"), ("...", "download"), ("\u202etxt.exe", "txt.exe")],
)
async def test_names_are_data(name: str, safe: str) -> None:
    assert downloads.safe_name(name) == safe
