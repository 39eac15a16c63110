"""upload_file: the page gets the bytes, through every kind of input (case 11)."""

from __future__ import annotations

from typing import Any

import pytest
from hyperkitty.browser.v1 import operations_pb2 as pb
from hyperkitty.browser.v1.targets_pb2 import Target
from hyperkitty.operations.v1.artifacts_pb2 import ARTIFACT_KIND_UPLOAD
from hyperkitty.operations.v1.errors_pb2 import ErrorCode

from services.kit.errors import Refusal
from services.kit.ids import new_id
from tests.integration.page.driving import Driver

A = pb.UploadFile(name="a.txt", content=b"five!")
B = pb.UploadFile(name="b.txt", content=b"")
LOG = "log.textContent.trim().split('\\n')"


async def upload(driver: Driver, *files: pb.UploadFile, seconds: float = 5.0, **target: Any) -> pb.UploadFileResult:
    return await driver.run(pb.UploadFileOperation(target=Target(**target), files=files), seconds)


async def test_visible_hidden_and_many(driver: Driver) -> None:
    await driver.case("11-file-input")
    result = await upload(driver, A, selector="#v")
    assert list(result.names) == ["a.txt"]
    assert driver.changed.synthetic
    assert list((await upload(driver, A, role="button", name="Choose...")).names) == ["a.txt"]
    assert list((await upload(driver, A, B, selector="#m")).names) == ["a.txt", "b.txt"]
    assert await driver.page_says(LOG) == ["visible a.txt 5", "hidden a.txt 5", "many a.txt,b.txt"]
    assert await driver.page_says("v.files[0].text()") == "five!"
    await driver.click(role="button", name="Choose...")
    assert "Choose" in await driver.snapshot()


async def test_an_artifact_and_the_bytes_that_reach_the_site(driver: Driver) -> None:
    await driver.show(
        "<form action=/echo method=post enctype=multipart/form-data><input type=file name=f id=f><button>Go"
    )
    artifact = await driver.session.keep(ARTIFACT_KIND_UPLOAD, "text/plain", b"from the store")
    await upload(driver, pb.UploadFile(name="näme.txt", artifact_id=artifact.artifact_id), selector="#f")
    await driver.click(role="button", name="Go")
    body = driver.site.hits("/echo")[-1].body
    assert b"from the store" in body
    assert "näme.txt".encode() in body


@pytest.mark.parametrize(
    ("files", "code"),
    [
        ([pb.UploadFile(name="/etc/passwd")], ErrorCode.ERROR_CODE_INVALID_ARGUMENTS),
        ([pb.UploadFile(name="..")], ErrorCode.ERROR_CODE_INVALID_ARGUMENTS),
        ([pb.UploadFile(name="a", content=b"a", artifact_id=new_id("art"))], ErrorCode.ERROR_CODE_INVALID_ARGUMENTS),
        ([pb.UploadFile(name="a", artifact_id=new_id("art"))], ErrorCode.ERROR_CODE_NOT_FOUND),
        ([A, B], ErrorCode.ERROR_CODE_INVALID_ARGUMENTS),
    ],
    ids=["path", "parent", "both", "unknown artifact", "two into one"],
)
async def test_what_is_refused(driver: Driver, files: list[pb.UploadFile], code: int) -> None:
    await driver.case("11-file-input")
    with pytest.raises(Refusal) as caught:
        await upload(driver, *files, selector="#v")
    assert caught.value.code == code
    assert await driver.page_says("v.files.length") == 0


async def test_what_opens_no_chooser_is_refused(driver: Driver) -> None:
    await driver.show("<button id=b>Nothing</button>")
    with pytest.raises(Refusal) as caught:
        await upload(driver, A, selector="#b", seconds=2.0)
    assert caught.value.details["reason"] == "no_file_chooser"
