"""set_viewport, emulate and print_pdf: what the page then says of itself."""

from __future__ import annotations

from io import BytesIO

import pytest
from hyperkitty.browser.v1 import operations_pb2 as pb
from hyperkitty.browser.v1.sessions_pb2 import Geolocation, Viewport
from hyperkitty.operations.v1.errors_pb2 import ErrorCode
from pypdf import PdfReader

from services.kit.errors import Refusal
from tests.integration.page.driving import Driver


async def test_viewport(driver: Driver) -> None:
    await driver.show("<button id=b style='position:fixed;right:0;bottom:0;width:40px;height:20px'>B</button>")
    result = await driver.run(pb.SetViewportOperation(viewport=Viewport(width=400, height=300, touch=True)))
    assert (result.viewport.width, result.viewport.device_scale_factor) == (400, 1)
    assert await driver.page_says("[innerWidth, innerHeight, devicePixelRatio, navigator.maxTouchPoints]") == [
        400, 300, 1, 5,
    ]  # fmt: skip
    clicked = await driver.click(role="button", name="B")
    assert (clicked.point.x, clicked.point.y) == (380, 290)
    await driver.run(pb.SetViewportOperation(viewport=Viewport(width=300, height=500, device_scale_factor=2)))
    assert await driver.page_says("[innerWidth, devicePixelRatio, navigator.maxTouchPoints]") == [300, 2, 0]


async def test_emulation_adds_up_and_outlives_the_document(driver: Driver) -> None:
    await driver.show("<p>one")
    await driver.run(pb.EmulateOperation(locale="de-DE", timezone="Asia/Tokyo", color_scheme="dark"))
    result = await driver.run(
        pb.EmulateOperation(user_agent="Kitty/1", color_scheme="dark", reduced_motion=True,
                            geolocation=Geolocation(latitude=52.5, longitude=13.4))
    )  # fmt: skip
    assert (result.settings.locale, result.settings.timezone, result.settings.user_agent) == (
        "de-DE", "Asia/Tokyo", "Kitty/1",
    )  # fmt: skip
    await driver.show("<p>two")
    assert await driver.page_says(
        "[navigator.userAgent, navigator.language, (1.5).toLocaleString(),"
        "Intl.DateTimeFormat().resolvedOptions().timeZone,"
        "matchMedia('(prefers-color-scheme: dark)').matches, matchMedia('(prefers-reduced-motion: reduce)').matches]"
    ) == ["Kitty/1", "de-DE", "1,5", "Asia/Tokyo", True, True]
    assert driver.site.hits("/")[-1].headers["user-agent"] == "Kitty/1"


async def test_offline_and_back(driver: Driver) -> None:
    await driver.show("<p>one")
    await driver.run(pb.EmulateOperation(offline=True))
    assert await driver.page_says("fetch('/echo').then(() => 'there', () => 'none')") == "none"
    await driver.run(pb.EmulateOperation())
    assert await driver.page_says("fetch('/echo').then(() => 'there', () => 'none')") == "there"


@pytest.mark.parametrize(
    "operation",
    [
        pb.EmulateOperation(color_scheme="pink"),
        pb.EmulateOperation(timezone="Mars/Base"),
        pb.PrintPdfOperation(scale=3),
    ],
    ids=["scheme", "timezone", "scale"],
)
async def test_what_there_is_not_is_refused(
    driver: Driver, operation: pb.EmulateOperation | pb.PrintPdfOperation
) -> None:
    with pytest.raises(Refusal) as caught:
        await driver.run(operation)
    assert caught.value.code == ErrorCode.ERROR_CODE_INVALID_ARGUMENTS


async def test_a_page_as_pdf(driver: Driver) -> None:
    await driver.show("<h1>Printed</h1><div style='break-before:page'>second</div>")
    result = await driver.run(pb.PrintPdfOperation())
    assert result.pages == 2
    assert result.artifact.content_type == "application/pdf"
    data = b"".join([chunk async for chunk in driver.session.artifacts.read(result.artifact.artifact_id)])
    assert [page.extract_text() for page in PdfReader(BytesIO(data)).pages] == ["Printed", "second"]
