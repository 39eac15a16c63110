"""scroll: the wheel that a page sees, and where it comes to rest; screenshot: sizes, bounds, what is in it."""

from __future__ import annotations

import struct
import zlib

import pytest
from hyperkitty.browser.v1 import operations_pb2 as pb
from hyperkitty.browser.v1 import targets_pb2
from hyperkitty.operations.v1.errors_pb2 import ErrorCode

from services.kit.errors import Refusal
from tests.integration.page.driving import Driver

TALL = "<div style='height:3000px;width:3000px'></div>"


async def test_the_wheel_scrolls_the_page(driver: Driver) -> None:
    await driver.show(TALL)
    result = await driver.run(pb.ScrollOperation(delta_x=30, delta_y=400))
    assert (result.scroll_x, result.scroll_y) == (30, 400)
    assert result.max_scroll_y > 2000
    assert await driver.page_says("[scrollX, scrollY]") == [30, 400]
    wheels = await driver.seen("wheel")
    assert wheels
    assert all(event["trusted"] for event in wheels)
    result = await driver.run(pb.ScrollOperation(delta_y=-20_000))
    assert result.scroll_y == 0


async def test_the_wheel_over_an_element_scrolls_its_box(driver: Driver) -> None:
    await driver.show(f"<div id=box style='height:200px;width:300px;overflow:auto'><p id=p>text</p>{TALL}</div>{TALL}")
    result = await driver.run(pb.ScrollOperation(target=targets_pb2.Target(selector="#p"), delta_y=150))
    assert result.scroll_y == 150
    assert await driver.page_says("[box.scrollTop, scrollY]") == [150, 0]
    result = await driver.run(pb.ScrollOperation(target=targets_pb2.Target(selector="#box"), delta_y=50))
    assert result.scroll_y == 200


async def test_bringing_an_element_into_view(driver: Driver) -> None:
    await driver.show(f"{TALL}<button id=b>Deep</button>{TALL}")
    await driver.run(pb.ScrollOperation(target=targets_pb2.Target(selector="#b")))
    top = await driver.page_says("b.getBoundingClientRect().top")
    assert 0 <= top <= 720
    with pytest.raises(Refusal) as caught:
        await driver.run(pb.ScrollOperation())
    assert caught.value.code == ErrorCode.ERROR_CODE_INVALID_ARGUMENTS


def pixel(png: bytes, x: int, y: int) -> tuple[int, ...]:
    """One pixel of an 8-bit PNG that is not interlaced (PNG §9, filters)."""
    width, _, depth, colour = struct.unpack(">IIBB", png[16:26])
    assert depth == 8
    channels = {2: 3, 6: 4}[colour]
    data, at = b"", 8
    while at < len(png):
        (length,) = struct.unpack(">I", png[at : at + 4])
        if png[at + 4 : at + 8] == b"IDAT":
            data += png[at + 8 : at + 8 + length]
        at += 12 + length
    raw, stride = zlib.decompress(data), width * channels
    before = bytearray(stride)
    for row in range(y + 1):
        kind, line = raw[row * (stride + 1)], bytearray(raw[row * (stride + 1) + 1 : (row + 1) * (stride + 1)])
        for i in range(stride):
            left = line[i - channels] if i >= channels else 0
            corner = before[i - channels] if i >= channels else 0
            up = before[i]
            guess = left + up - corner
            paeth = min((left, up, corner), key=lambda value: abs(guess - value))
            line[i] = (line[i] + (0, left, up, (left + up) // 2, paeth)[kind]) & 255
        before = line
    return tuple(before[x * channels : x * channels + 3])


async def test_pictures_of_viewport_page_element_and_part(driver: Driver) -> None:
    await driver.show(
        "<body style='margin:0'><div style='height:2000px;background:#00f'></div>"
        "<div id=e style='width:50px;height:40px;background:#f00'></div>",
        recorded=False,
    )
    view = await driver.run(pb.ScreenshotOperation())
    assert (view.width, view.height, view.content_type) == (1280, 720, "image/png")
    assert view.artifact.bytes == len(view.image)
    whole = await driver.run(pb.ScreenshotOperation(full_page=True))
    assert (whole.width, whole.height, whole.truncated) == (1280, 2040, False)
    element = await driver.run(pb.ScreenshotOperation(target=targets_pb2.Target(selector="#e")))
    assert (element.width, element.height) == (50, 40)
    assert pixel(element.image, 10, 10) == (255, 0, 0)
    part = await driver.run(pb.ScreenshotOperation(clip=targets_pb2.Rectangle(x=0, y=1990, width=20, height=20)))
    assert (part.width, part.height) == (20, 20)
    assert (pixel(part.image, 5, 5), pixel(part.image, 5, 15)) == ((0, 0, 255), (255, 0, 0))
    jpeg = await driver.run(pb.ScreenshotOperation(format=pb.IMAGE_FORMAT_JPEG, quality=50))
    assert jpeg.image[:2] == b"\xff\xd8"
    assert await driver.page_says("[scrollX, scrollY, innerWidth, innerHeight]") == [0, 0, 1280, 720]


async def test_a_very_tall_page_is_cut_and_says_so(driver: Driver) -> None:
    await driver.show("<div style='height:40000px;background:linear-gradient(red, blue)'></div>", recorded=False)
    result = await driver.run(pb.ScreenshotOperation(full_page=True), seconds=20)
    assert result.truncated
    assert result.height == 16_000
    assert result.artifact.bytes > 0


async def test_what_excludes_each_other_is_refused(driver: Driver) -> None:
    await driver.show("<p>x", recorded=False)
    with pytest.raises(Refusal) as caught:
        await driver.run(pb.ScreenshotOperation(full_page=True, clip=targets_pb2.Rectangle(width=1, height=1)))
    assert caught.value.code == ErrorCode.ERROR_CODE_INVALID_ARGUMENTS
