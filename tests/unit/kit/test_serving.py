"""A service on a Unix socket, called as services call each other: all four kinds of rpc, with identity."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import grpc
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from grpc_reflection.v1alpha.proto_reflection_descriptor_database import ProtoReflectionDescriptorDatabase
from hyperkitty.auth.v1.identity_pb2 import CallerIdentity, Delegation, TokenScopes
from hyperkitty.operations.v1.errors_pb2 import ErrorCode

from services.kit import deadlines
from services.kit.errors import Refusal
from services.kit.identity import calling_as, current_identity
from services.kit.ids import is_id, new_id
from services.kit.operations import current_operation
from services.kit.serving import Server
from tests.unit.kit.echo_service import SERVICE, Echo, Request, add_echo, caller, running_echo

SERVING, NOT_SERVING = b"\x08\x01", b"\x08\x02"


@pytest.fixture
async def echo(tmp_path: Path) -> AsyncIterator[Echo]:
    async with running_echo(tmp_path) as running:
        yield running


async def health_status(channel: Any, service: str) -> bytes:
    """The answer of grpc.health.v1, which is open: field 1, the status, as it is on the wire."""
    check = channel.unary_unary("/grpc.health.v1.Health/Check")
    request = b"\x0a" + bytes([len(service)]) + service.encode() if service else b""
    return await check(request)


async def plain_call(channel: Any, method: str) -> bytes:
    """A call with nothing that kit's channels add."""
    return await channel.unary_unary(method)(b"")


async def texts(responses: Any) -> list[str]:
    return [response.text async for response in responses]


async def words(*given: str) -> AsyncIterator[Any]:
    for word in given:
        yield Request(text=word)


async def refusal_of(call: Any) -> Refusal:
    ended = texts(call) if hasattr(call, "__aiter__") else call
    with pytest.raises(Refusal) as caught:
        await ended
    return caught.value


async def test_all_four_kinds_answer(echo: Echo) -> None:
    stub = echo.stub()
    with calling_as(caller()):
        assert (await stub.Unary(Request(text="a"))).text == "a"
        assert await texts(stub.Expand(Request(text="abc"))) == ["a", "b", "c"]
        assert (await stub.Collect(words("a", "b"))).text == "a+b"
        assert await texts(stub.Talk(words("a", "b"))) == ["A", "B"]


async def test_all_four_kinds_want_an_identity(echo: Echo) -> None:
    stranger = echo.stub("gateway", Ed25519PrivateKey.generate())
    nobody = echo.stub("agent")
    for stub in (stranger, nobody):
        with calling_as(caller()):
            for call in (
                stub.Unary(Request(text="a")),
                stub.Read(Request(text="a")),
                stub.Expand(Request(text="abc")),
                stub.Act(Request(text="abc")),
                stub.Collect(words("a")),
                stub.Talk(words("a")),
            ):
                assert (await refusal_of(call)).code == ErrorCode.ERROR_CODE_UNAUTHENTICATED
    assert echo.servicer.calls == []


async def test_a_call_without_any_identity_is_refused(echo: Echo) -> None:
    async with grpc.aio.insecure_channel(echo.target) as channel:
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await plain_call(channel, f"/{SERVICE}/Read")
    assert caught.value.code() == grpc.StatusCode.UNAUTHENTICATED


async def test_all_four_kinds_check_bounds(echo: Echo) -> None:
    stub = echo.stub()
    with calling_as(caller()):
        for call in (
            stub.Unary(Request(text="x" * 11)),
            stub.Read(Request(text="x" * 11)),
            stub.Expand(Request(text="x" * 11)),
            stub.Collect(words("a", "x" * 11)),
            stub.Talk(words("a", "x" * 11)),
        ):
            refusal = await refusal_of(call)
            assert refusal.code == ErrorCode.ERROR_CODE_INVALID_ARGUMENTS
            assert "text" in str(refusal.details["fields"])
    assert "x" * 11 not in echo.servicer.calls


async def test_all_four_kinds_map_refusals_and_faults(echo: Echo) -> None:
    async def refuse(_: str) -> str:
        raise Refusal(ErrorCode.ERROR_CODE_NOT_FOUND, "no such thing", details={"id": "x"})

    async def break_down(_: str) -> str:
        raise RuntimeError("unix:/run/secret")

    stub = echo.stub()
    with calling_as(caller()):
        for work, code in (
            (refuse, ErrorCode.ERROR_CODE_NOT_FOUND),
            (break_down, ErrorCode.ERROR_CODE_INTERNAL),
        ):
            echo.servicer.work = work  # pyright: ignore[reportAttributeAccessIssue]
            for call in (
                stub.Unary(Request(text="a")),
                stub.Read(Request(text="a")),
                stub.Expand(Request(text="a")),
                stub.Act(Request(text="a")),
                stub.Collect(words("a")),
                stub.Talk(words("a")),
            ):
                refusal = await refusal_of(call)
                assert refusal.code == code
                assert "secret" not in str(refusal.to_proto())


async def test_ids_travel_in_initial_metadata(echo: Echo) -> None:
    stub, parent = echo.stub(), new_id("op")
    with calling_as(caller()):
        call = stub.Unary(Request(text="a"), metadata=(("x-request-id", "r.1"), ("x-operation-id", parent)))
        await call
        metadata = dict(await call.initial_metadata())
        assert metadata["x-request-id"] == "r.1"
        assert is_id("op", metadata["x-operation-id"])
        operation = await echo.record_of(metadata["x-operation-id"])
        assert (operation.parent_operation_id, operation.request_id, operation.kind) == (parent, "r.1", "unary")
        call = stub.Read(Request(text="a"), metadata=(("x-request-id", "not valid!"),))
        await call
        metadata = dict(await call.initial_metadata())
        assert "x-operation-id" not in metadata
        assert metadata["x-request-id"].startswith("req-")
        failing = stub.Unary(Request(text="x" * 11))
        await refusal_of(failing)
        assert is_id("op", dict(await failing.initial_metadata())["x-operation-id"])


async def test_who_may_sign_what(echo: Echo) -> None:
    delegated = caller(agent_id="agent_1", delegation=Delegation(method=f"/{SERVICE}/Unary"))
    agent, health, gateway = echo.stub("agent"), echo.stub("health"), echo.stub()
    with calling_as(delegated):
        assert (await agent.Unary(Request(text="a"))).text == "a"
        assert (await refusal_of(agent.Read(Request(text="a")))).code == ErrorCode.ERROR_CODE_UNAUTHENTICATED
        assert (await refusal_of(health.Unary(Request(text="a")))).code == ErrorCode.ERROR_CODE_UNAUTHENTICATED
    other = caller(delegation=Delegation(method=f"/{SERVICE}/Other"))
    for stub in (agent, gateway):
        with calling_as(other):
            assert (await refusal_of(stub.Unary(Request(text="a")))).code == ErrorCode.ERROR_CODE_UNAUTHENTICATED
    # Without anything set, a service calls as itself: only where the contract says so.
    assert (await health.Read(Request(text="a"))).text == "a"
    assert (await refusal_of(health.Unary(Request(text="a")))).code == ErrorCode.ERROR_CODE_UNAUTHENTICATED
    assert (await refusal_of(gateway.Read(Request(text="a")))).code == ErrorCode.ERROR_CODE_UNAUTHENTICATED
    with calling_as(caller(token_id="system:health")):
        assert (await refusal_of(gateway.Read(Request(text="a")))).code == ErrorCode.ERROR_CODE_UNAUTHENTICATED


async def test_an_identity_is_good_for_one_service_and_a_while(echo: Echo) -> None:
    elsewhere = echo.stub(service="browser")
    with calling_as(caller()):
        assert (await refusal_of(elsewhere.Read(Request(text="a")))).code == ErrorCode.ERROR_CODE_UNAUTHENTICATED
    with calling_as(caller(expires_at_ms=int(time.time() * 1000) - 1)):
        assert (await refusal_of(echo.stub().Read(Request(text="a")))).code == ErrorCode.ERROR_CODE_UNAUTHENTICATED


async def test_scopes_are_checked_by_the_service(echo: Echo) -> None:
    stub = echo.stub()
    for scopes, allowed in ((TokenScopes(services=["echo"]), True), (TokenScopes(services=["browser"]), False)):
        with calling_as(CallerIdentity(tenant="t", token_id="tok_1", scopes=scopes)):
            if allowed:
                await stub.Unary(Request(text="a"))
            else:
                refusal = await refusal_of(stub.Unary(Request(text="a")))
                assert refusal.code == ErrorCode.ERROR_CODE_NOT_AUTHORIZED


async def test_handlers_know_their_caller_and_operation(echo: Echo) -> None:
    async def tell(_: str) -> str:
        current_operation().subject = "tab_1"
        return f"{current_identity().token_id} {current_operation().kind}"

    echo.servicer.work = tell  # pyright: ignore[reportAttributeAccessIssue]
    with calling_as(caller(token_id="tok_7")):
        assert (await echo.stub().Unary(Request(text="a"))).text == "tok_7 unary"


async def test_a_deadline_is_kept_and_named(echo: Echo) -> None:
    async def hang(_: str) -> str:
        await asyncio.Event().wait()
        return ""

    echo.servicer.work = hang  # pyright: ignore[reportAttributeAccessIssue]
    stub = echo.stub()
    with calling_as(caller()):
        for make in (stub.Unary, stub.Read, stub.Expand):
            began = time.monotonic()
            with deadlines.within(0.5):
                refusal = await refusal_of(make(Request(text="a"), timeout=0.5))
            assert refusal.code == ErrorCode.ERROR_CODE_DEADLINE_EXCEEDED
            assert refusal.hint
            assert time.monotonic() - began < 0.75


async def test_the_budget_shrinks_on_the_way(echo: Echo) -> None:
    async def tell(_: str) -> str:
        return f"{deadlines.current_budget().left():.2f}"

    echo.servicer.work = tell  # pyright: ignore[reportAttributeAccessIssue]
    with calling_as(caller()), deadlines.within(5.0):
        assert 4.5 < float((await echo.stub().Read(Request(text="a"))).text) < 4.95


async def test_health_and_reflection_are_open(echo: Echo) -> None:
    async with grpc.aio.insecure_channel(echo.target) as channel:
        assert await health_status(channel, SERVICE) == SERVING
    with grpc.insecure_channel(echo.target) as sync_channel:
        services = await asyncio.to_thread(ProtoReflectionDescriptorDatabase(sync_channel).get_services)
    assert SERVICE in services


async def test_draining_says_so_lets_calls_end_and_ends_streams(echo: Echo) -> None:
    release = asyncio.Event()

    async def wait(text: str) -> str:
        await release.wait()
        return text

    stub = echo.stub()
    with calling_as(caller()):
        talk = stub.Talk(_endless("a"))
        stream = aiter(talk)
        assert (await anext(stream)).text == "A"
        echo.servicer.work = wait  # pyright: ignore[reportAttributeAccessIssue]
        pending = asyncio.ensure_future(_await(stub.Unary(Request(text="late"))))
        await echo.servicer.entered.wait()
        await echo.server.refuse_new()
        async with grpc.aio.insecure_channel(echo.target) as channel:
            assert await health_status(channel, "") == NOT_SERVING
        stopping = asyncio.create_task(echo.server.drain(5.0))
        with pytest.raises(Refusal) as caught:
            await anext(stream)
        assert caught.value.code == ErrorCode.ERROR_CODE_UNAVAILABLE
        release.set()
        assert (await pending).text == "late"
        await stopping


async def _await(call: Any) -> Any:
    return await call


async def _endless(first: str) -> AsyncIterator[Any]:
    yield Request(text=first)
    await asyncio.Event().wait()


async def test_a_service_that_is_away_is_unavailable_and_one_that_returns_is_found(tmp_path: Path) -> None:
    async with running_echo(tmp_path) as first:
        stub = first.stub()
        with calling_as(caller()):
            assert (await stub.Read(Request(text="a"))).text == "a"
            await first.server.drain(0)
            with deadlines.within(0.4):
                refusal = await refusal_of(stub.Read(Request(text="a")))
            assert refusal.code == ErrorCode.ERROR_CODE_UNAVAILABLE
            assert refusal.details["retry_after_ms"]
            assert "sock" not in refusal.message
            waiting = asyncio.create_task(_await(stub.Read(Request(text="b"))))
            await asyncio.sleep(0.3)
            second = Server([(add_echo, first.servicer)], first.around)
            first.around.draining = False
            began = time.monotonic()
            await second.start(first.target)
            assert (await waiting).text == "b"
            assert time.monotonic() - began < 1.0
            await second.drain(0)
