"""A call with one answer: the request to the service, the answer to the client; a client that goes cancels it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass

import grpc
from google.protobuf.message import Message
from hyperkitty.auth.v1.identity_pb2 import CallerIdentity

from gateway.calls.backends import Backends, Metadata
from gateway.calls.failures import operation_id_of, refusal_of
from gateway.routing.routes import Route
from gateway.web.answers import Answer, failed, succeeded
from gateway.web.body import ClientGone
from gateway.web.exchange import Exchange, Receive


@dataclass(frozen=True, slots=True)
class Call:
    """An HTTP request that was understood and is allowed."""

    route: Route
    exchange: Exchange
    caller: CallerIdentity
    request: Message
    metadata: Metadata


async def answer_unary(backends: Backends, call: Call, seconds: float, receive: Receive) -> Answer:
    """Calls, and gives the answer to send. Raises ClientGone when nobody waits for it any more."""
    route, exchange = call.route, call.exchange
    rpc_call = await backends.unary(route.rpc, call.caller, call.request, seconds, call.metadata)
    watch = asyncio.create_task(cancel_when_gone(receive, rpc_call.cancel))
    try:
        response = await rpc_call
        operation_id = operation_id_of(await rpc_call.initial_metadata()) if route.is_operation else ""
    except grpc.aio.AioRpcError as error:
        return failed(
            route.names.translate(refusal_of(error, route.rpc)),
            exchange.request_id,
            with_status=route.has_status,
            operation_id=operation_id_of(error.initial_metadata()) if route.is_operation else "",
        )
    except asyncio.CancelledError:
        # The call's own cancellation looks like that of this task.
        if watch.done() and not watch.cancelled():
            raise ClientGone from None
        raise
    finally:
        watch.cancel()
    return succeeded(route, response, operation_id, exchange.request_id)


async def cancel_when_gone(receive: Receive, cancel: Callable[[], object]) -> None:
    """Cancels a call when its client closes the connection. Ends then; cancelled when the call ended first."""
    while (await receive())["type"] != "http.disconnect":
        pass
    cancel()
