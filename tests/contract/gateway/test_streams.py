"""Streams over HTTP: NDJSON, and the bytes of an artifact."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

import aiohttp
import pytest
from hyperkitty.events.v1.event_service_pb2 import ExportEventsRequest, ExportEventsResponse
from hyperkitty.events.v1.events_pb2 import Event
from hyperkitty.operations.v1.artifacts_pb2 import Artifact
from hyperkitty.operations.v1.errors_pb2 import ErrorCode
from hyperkitty.operations.v1.operation_service_pb2 import ReadArtifactRequest, ReadArtifactResponse

from gateway.web.download import Unsatisfiable, part_of
from services.kit.errors import Refusal
from tests.contract.gateway.conftest import AUTHORIZATION, Gateway
from tests.contract.gateway.samples import ULID
from tests.waiting import async_until

CONTENT = bytes(range(256)) * 3000
ARTIFACT = f"art_{ULID}"
PATH = f"/api/artifacts/{ARTIFACT}"


async def test_an_export_is_one_object_a_line(gateway: Gateway) -> None:
    async def export(request: ExportEventsRequest) -> AsyncIterator[ExportEventsResponse]:
        assert request == ExportEventsRequest(category_prefix="agent", after_sequence=5)
        for number in range(6, 1006):
            yield ExportEventsResponse(event=Event(sequence=number, category="agent.created"))

    gateway["health"].streams["ExportEvents"] = export
    url = f"{gateway.url}/api/events/export?category_prefix=agent&after_sequence=5"
    async with gateway.http.get(url, headers=AUTHORIZATION) as response:
        assert response.status == 200
        assert response.headers["content-type"] == "application/x-ndjson"
        assert response.headers["x-request-id"]
        text = await response.text()
    lines = text.splitlines()
    assert text.endswith("\n")
    assert [json.loads(line)["sequence"] for line in lines] == list(range(6, 1006))
    assert lines[0] == (
        '{"event_id":"","sequence":6,"category":"agent.created","subject":"","actor":"","agent_id":"","session_id":"",'
        '"operation_id":"","request_id":"","data":null,"emitted_at_ms":0,"tenant":""}'
    )


async def test_an_empty_export(gateway: Gateway) -> None:
    async with gateway.http.get(f"{gateway.url}/api/events/export", headers=AUTHORIZATION) as response:
        assert (response.status, await response.read()) == (200, b"")


async def test_an_export_that_is_refused_and_one_that_breaks_off(gateway: Gateway) -> None:
    async def refuse(_: object) -> AsyncIterator[ExportEventsResponse]:
        raise Refusal(ErrorCode.ERROR_CODE_EVENT_LOG_UNAVAILABLE, "the log is away")
        yield ExportEventsResponse()

    async def break_off(_: object) -> AsyncIterator[ExportEventsResponse]:
        yield ExportEventsResponse(event=Event(sequence=1))
        raise Refusal(ErrorCode.ERROR_CODE_EVENT_LOG_UNAVAILABLE, "the log is away")

    url = f"{gateway.url}/api/events/export"
    gateway["health"].streams["ExportEvents"] = refuse
    async with gateway.http.get(url, headers=AUTHORIZATION) as response:
        assert response.status == 503
        assert (await response.json())["error"]["code"] == "event_log_unavailable"
    gateway["health"].streams["ExportEvents"] = break_off
    async with gateway.http.get(url, headers=AUTHORIZATION) as response:
        assert response.status == 200
        first, last = (json.loads(line) for line in (await response.text()).splitlines())
    assert first["sequence"] == 1
    assert last["error"]["code"] == "event_log_unavailable"


async def test_a_reader_that_goes_ends_the_export(gateway: Gateway) -> None:
    async def endless(_: object) -> AsyncIterator[ExportEventsResponse]:
        while True:
            yield ExportEventsResponse(event=Event(sequence=1))
            await asyncio.sleep(0)

    gateway["health"].streams["ExportEvents"] = endless
    async with gateway.http.get(f"{gateway.url}/api/events/export", headers=AUTHORIZATION) as response:
        await response.content.readline()
    await async_until(lambda: gateway["health"].cancelled == 1, "the export to end")


def serve_artifact(gateway: Gateway, *, content_type: str = "image/png", breaks_after: int | None = None) -> None:
    async def read(request: ReadArtifactRequest) -> AsyncIterator[ReadArtifactResponse]:
        if request.artifact_id != ARTIFACT:
            raise Refusal(ErrorCode.ERROR_CODE_NOT_FOUND, "no such artifact")
        artifact = Artifact(artifact_id=ARTIFACT, content_type=content_type, bytes=len(CONTENT), sha256="ab" * 32)
        yield ReadArtifactResponse(artifact=artifact)
        end = request.offset + request.limit if request.limit else len(CONTENT)
        part = CONTENT[request.offset : end]
        for at in range(0, len(part), 256 << 10):
            if breaks_after is not None and at >= breaks_after:
                raise Refusal(ErrorCode.ERROR_CODE_UNAVAILABLE, "the store is away")
            yield ReadArtifactResponse(chunk=part[at : at + (256 << 10)])

    gateway["health"].streams["ReadArtifact"] = read


async def fetch(gateway: Gateway, path: str = PATH, **headers: str) -> tuple[int, bytes, Any]:
    sent = {**AUTHORIZATION, **{name.replace("_", "-"): value for name, value in headers.items()}}
    async with gateway.http.get(gateway.url + path, headers=sent) as response:
        return response.status, await response.read(), response.headers


async def test_an_artifact(gateway: Gateway) -> None:
    serve_artifact(gateway)
    status, body, headers = await fetch(gateway)
    assert (status, body) == (200, CONTENT)
    assert headers["content-type"] == "image/png"
    assert headers["content-length"] == str(len(CONTENT))
    assert headers["content-disposition"] == f'attachment; filename="{ARTIFACT}.png"'
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["content-security-policy"] == "default-src 'none'; sandbox"
    assert headers["accept-ranges"] == "bytes"
    assert headers["etag"] == '"' + "ab" * 32 + '"'
    assert headers["x-request-id"]


RANGES = [
    ("bytes=0-0", 0, 1),
    ("bytes=10-19", 10, 20),
    ("bytes=767990-", 767990, 768000),
    ("bytes=767990-9999999", 767990, 768000),
    ("bytes=-5", 767995, 768000),
    ("bytes=-9999999", 0, 768000),
    ("Bytes=1-2", 1, 3),
]


@pytest.mark.parametrize(("asked", "start", "end"), RANGES)
async def test_ranges(gateway: Gateway, asked: str, start: int, end: int) -> None:
    serve_artifact(gateway)
    status, body, headers = await fetch(gateway, range=asked)
    assert (status, body) == (206, CONTENT[start:end])
    assert headers["content-range"] == f"bytes {start}-{end - 1}/768000"
    assert headers["content-length"] == str(end - start)


@pytest.mark.parametrize("asked", ["bytes=0-1,3-4", "lines=1-2", "bytes=5-1", "bytes=-", "bytes=a-b", "bytes"])
async def test_ranges_that_are_ignored(gateway: Gateway, asked: str) -> None:
    serve_artifact(gateway)
    status, body, _ = await fetch(gateway, range=asked)
    assert (status, body) == (200, CONTENT)


async def test_a_range_after_the_end(gateway: Gateway) -> None:
    serve_artifact(gateway)
    status, body, headers = await fetch(gateway, range="bytes=768000-")
    assert status == 416
    assert headers["content-range"] == "bytes */768000"
    assert json.loads(body)["error"]["code"] == "invalid_arguments"
    with pytest.raises(Unsatisfiable):
        part_of("bytes=0-", 0)


async def test_conditions(gateway: Gateway) -> None:
    serve_artifact(gateway)
    etag = '"' + "ab" * 32 + '"'
    assert (await fetch(gateway, if_none_match=etag))[:2] == (304, b"")
    assert (await fetch(gateway, range="bytes=0-1", if_range=etag))[0] == 206
    assert (await fetch(gateway, range="bytes=0-1", if_range='"other"'))[0] == 200


async def test_offset_and_limit(gateway: Gateway) -> None:
    serve_artifact(gateway)
    status, body, _ = await fetch(gateway, f"{PATH}?offset=5&limit=7")
    assert (status, body) == (200, CONTENT[5:12])


@pytest.mark.parametrize("content_type", ["text/html\r\nset-cookie: a=b", "", "nonsense", "x" * 300 + "/y"])
async def test_a_type_that_is_none(gateway: Gateway, content_type: str) -> None:
    serve_artifact(gateway, content_type=content_type)
    status, _, headers = await fetch(gateway)
    assert status == 200
    assert headers["content-type"] == "application/octet-stream"
    assert "set-cookie" not in headers


async def test_an_artifact_that_is_not_there(gateway: Gateway) -> None:
    serve_artifact(gateway)
    status, body, _ = await fetch(gateway, f"/api/artifacts/art_{'0' * 26}")
    assert status == 404
    assert json.loads(body)["error"]["code"] == "not_found"
    gateway["health"].streams.clear()
    status, body, _ = await fetch(gateway)
    assert status == 503


async def test_bytes_that_stop_coming_are_noticed(gateway: Gateway) -> None:
    serve_artifact(gateway, breaks_after=1)
    with pytest.raises(aiohttp.ClientPayloadError):
        await fetch(gateway)
