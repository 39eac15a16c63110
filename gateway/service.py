"""Putting the gateway together: one contract, one door, two fronts."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

from hyperkitty.auth.v1.secret_service_pb2_grpc import SecretServiceServicer, add_SecretServiceServicer_to_server
from hyperkitty.auth.v1.token_service_pb2_grpc import add_TokenServiceServicer_to_server

from gateway.access.denials import CATEGORY, Denials
from gateway.access.door import Door
from gateway.access.issued import BUCKET, IssuedTokens, StoredToken
from gateway.access.leases import Leases
from gateway.access.origins import HostRules
from gateway.access.rights import AuthTable
from gateway.access.tokens import Authenticator, TokenError, read_root_token
from gateway.calls.backends import Backends
from gateway.contract import GATEWAY, linked_services, rpcs
from gateway.openapi.document import document
from gateway.rpc.proxy import proxied
from gateway.tokens.servicer import TokenServicer
from gateway.transcoding.json_text import dump
from gateway.web.front import Front
from gateway.web.pages import PROBES, Pages
from gateway.web.readiness import Readiness
from gateway.web.server import WebServer, listen_on
from services.kit import record
from services.kit.config import SettingsError
from services.kit.json_values import JsonValue
from services.kit.run import Kit, Service
from services.kit.serving import Server, Servicer
from services.kit.settings import GatewaySettings, load
from services.kit.status import VERSION
from services.kit.store import struct_codec

HOST = "127.0.0.1"
_CATCH_UP_SECONDS = 30.0


@dataclass
class _Fronts:
    """The two servers that face callers."""

    kit: Kit
    issued: IssuedTokens
    web: WebServer
    rpc: Server
    rpc_port: int

    async def ready(self) -> None:
        """Takes requests on both ports, once every token is known."""
        async with asyncio.timeout(_CATCH_UP_SECONDS):
            await self.issued.caught_up.wait()
        try:
            await self.rpc.start(f"{HOST}:{self.rpc_port}")
        except SettingsError as error:
            raise SettingsError(f"HYPERKITTY_GRPC_PORT: {error}") from None
        await self.rpc.serve(announce=False)
        await self.web.start()
        self.kit.spawn(self._run_web(), "web")

    async def _run_web(self) -> None:
        await self.web.run()
        self.kit.request_stop("the web server ended")

    async def drain(self) -> None:
        """Lets calls end, closes streams with a reason."""
        await self.rpc.refuse_new()
        await self.web.stop()
        await self.rpc.drain(self.kit.settings.drain_ms / 1000)


async def build(kit: Kit) -> Service:
    """The gateway as kit runs it. Raises SettingsError."""
    settings = load(GatewaySettings)
    try:
        root = read_root_token(kit.settings.home)
    except TokenError as error:
        raise SettingsError(str(error)) from None
    contract = rpcs(linked_services())
    backends = Backends(kit.channel)
    denials = Denials(_emit, kit.clock)
    kit.spawn(denials.run(), "denials")
    leases = Leases(kit.clock)
    issued = IssuedTokens(await kit.store(BUCKET, struct_codec(StoredToken)), leases, kit.clock)
    kit.spawn(issued.follow(), "tokens")
    hosts = HostRules(settings.allowed_hosts.split(","))
    door = Door(hosts, Authenticator(root, issued), AuthTable(contract), denials, leases)
    # The gateway's own services are asked like any other's; whether it serves is what answers.
    others = {rpc.process for rpc in contract} - {GATEWAY}
    pages = Pages(door, Readiness(backends, others), lambda: dump(document(front.table, VERSION)))
    front = Front(contract, door, backends, pages, PROBES)
    grace = kit.settings.drain_ms / 1000
    web = WebServer(front, listen_on(HOST, settings.rest_port), grace)
    fronts = _Fronts(kit, issued, web, Server(proxied(contract, door, backends), None), settings.grpc_port)
    tokens = TokenServicer(issued, {rpc.area for rpc in contract} - {GATEWAY, "auth"}, kit.clock)
    servicers: list[Servicer] = [
        (add_TokenServiceServicer_to_server, tokens),
        # Answers that it is not served yet.
        (add_SecretServiceServicer_to_server, SecretServiceServicer()),
    ]
    return Service(servicers, ready=fronts.ready, drain=fronts.drain)


async def _emit(request_id: str, data: dict[str, JsonValue]) -> None:
    await record.emit(CATEGORY, request_id=request_id, data=data)
