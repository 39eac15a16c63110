"""`python -m services.kit.probe <service>`: exit 0 when that service, in this container or pod, says that it serves.

What Kubernetes runs as a probe, since its own gRPC probe speaks no TLS. No identity is needed: gRPC health is open.
"""

from __future__ import annotations

import asyncio
import sys
from typing import cast

import grpc

from services.kit import config
from services.kit.clients import raw_channel
from services.kit.config import SettingsError
from services.kit.settings import CommonSettings, load
from services.kit.transport import Tls

SECONDS = 3.0
_METHOD = "/grpc.health.v1.Health/Check"
# HealthCheckResponse{status: SERVING}; the request for the whole server is an empty message.
_SERVING = b"\x08\x01"


async def serves(target: str, tls: Tls | None) -> bool:
    """Whether the server at `target` says SERVING within SECONDS."""
    async with raw_channel(target, tls, []) as channel:
        try:
            answer = cast("bytes", await channel.unary_unary(_METHOD)(b"", timeout=SECONDS))
        except grpc.aio.AioRpcError:
            return False
    return answer == _SERVING


def own_target(service: str, settings: CommonSettings) -> str:
    """The service's own address as seen from beside it: certificates name `localhost`."""
    listen = settings.listen or str(getattr(settings, f"{service}_target"))
    if listen.startswith("unix:"):
        return listen
    return f"localhost:{listen.rpartition(':')[2]}"


def main() -> int:
    """Entry point."""
    if len(sys.argv) != 2 or f"{sys.argv[1]}_target" not in CommonSettings.model_fields:
        print("usage: python -m services.kit.probe <service>", file=sys.stderr)
        return 2
    try:
        settings = load(CommonSettings)
        return 0 if asyncio.run(serves(own_target(sys.argv[1], settings), Tls.read(settings.tls_dir))) else 1
    except SettingsError as error:
        config.refuse_to_start(error)


if __name__ == "__main__":
    sys.exit(main())
