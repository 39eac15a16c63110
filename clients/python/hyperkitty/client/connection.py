"""A connection to HyperKitty's gRPC front: every service of the contract as a typed stub.

    async with Connection.local() as hyperkitty:
        agent = (await hyperkitty.agents.CreateAgent(CreateAgentRequest(capabilities=[...]))).agent
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import Any

import grpc
from hyperkitty.agent.v1.agent_service_pb2_grpc import AgentServiceStub
from hyperkitty.auth.v1.token_service_pb2_grpc import TokenServiceStub
from hyperkitty.browser.v1.browser_service_pb2_grpc import BrowserServiceStub
from hyperkitty.events.v1.event_service_pb2_grpc import EventServiceStub
from hyperkitty.health.v1.health_service_pb2_grpc import HealthServiceStub
from hyperkitty.local_system import LocalSystem
from hyperkitty.messaging.v1.messaging_service_pb2_grpc import MessagingServiceStub
from hyperkitty.operations.v1.operation_service_pb2_grpc import OperationServiceStub
from hyperkitty.search.v1.search_service_pb2_grpc import SearchServiceStub

MOST_MESSAGE_BYTES = 64 * 1024 * 1024


class NotRunning(Exception):
    """No HyperKitty runs on this machine under the home that is meant."""


Details = grpc.aio.ClientCallDetails


class _Bearer:
    """Puts the token on every call."""

    def __init__(self, token: str) -> None:
        self._header = ("authorization", f"Bearer {token}")

    def details(self, details: Details) -> Details:
        """The call's details with the token among its metadata."""
        metadata = grpc.aio.Metadata(*(details.metadata or ()), self._header)
        return grpc.aio.ClientCallDetails(
            details.method, details.timeout, metadata, details.credentials, details.wait_for_ready
        )


class _UnaryUnary(_Bearer, grpc.aio.UnaryUnaryClientInterceptor):
    async def intercept_unary_unary(
        self, continuation: Callable[[Details, Any], Any], client_call_details: Details, request: Any
    ) -> Any:
        return await continuation(self.details(client_call_details), request)


class _UnaryStream(_Bearer, grpc.aio.UnaryStreamClientInterceptor):
    async def intercept_unary_stream(
        self, continuation: Callable[[Details, Any], Any], client_call_details: Details, request: Any
    ) -> Any:
        return await continuation(self.details(client_call_details), request)


class _StreamStream(_Bearer, grpc.aio.StreamStreamClientInterceptor):
    async def intercept_stream_stream(
        self, continuation: Callable[[Details, Any], Any], client_call_details: Details, request_iterator: Any
    ) -> Any:
        return await continuation(self.details(client_call_details), request_iterator)


def _bearers(token: str) -> Sequence[grpc.aio.ClientInterceptor]:
    """One for each kind of call that the contract has."""
    return [_UnaryUnary(token), _UnaryStream(token), _StreamStream(token)]


class Connection:
    """One channel, made on entering and closed on leaving. Calls raise grpc.aio.AioRpcError; see `errors.explain`."""

    def __init__(self, target: str, token: str, *, credentials: grpc.ChannelCredentials | None = None) -> None:
        """`target` is `host:port`; without `credentials` the connection is not encrypted: loopback only."""
        options = [("grpc.max_receive_message_length", MOST_MESSAGE_BYTES)]
        if credentials is None:
            self._channel = grpc.aio.insecure_channel(target, options=options, interceptors=_bearers(token))
        else:
            self._channel = grpc.aio.secure_channel(target, credentials, options=options, interceptors=_bearers(token))
        self.agents = AgentServiceStub(self._channel)
        self.browser = BrowserServiceStub(self._channel)
        self.search = SearchServiceStub(self._channel)
        self.messages = MessagingServiceStub(self._channel)
        self.events = EventServiceStub(self._channel)
        self.operations = OperationServiceStub(self._channel)
        self.health = HealthServiceStub(self._channel)
        self.tokens = TokenServiceStub(self._channel)

    @classmethod
    def local(cls) -> Connection:
        """The system that `hyperkitty up` runs here, under $HYPERKITTY_HOME or the user's own. Raises NotRunning."""
        home = LocalSystem.of_environment().home
        try:
            state = json.loads((home / "state.json").read_text())
        except FileNotFoundError:
            raise NotRunning(f"no state.json in {home}; start one with `hyperkitty up`") from None
        return cls(state["grpc_target"], state["token"])

    async def __aenter__(self) -> Connection:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._channel.close()
