"""What a failed call means to its caller."""

from __future__ import annotations

from collections.abc import Iterable

import grpc

from gateway.contract import Rpc
from services.kit import errors
from services.kit.calls import OPERATION_ID_KEY
from services.kit.errors import Refusal


def refusal_of(error: grpc.aio.AioRpcError, rpc: Rpc) -> Refusal:
    """The refusal behind a failed call; nothing of gRPC's own text, which names sockets."""
    return errors.from_rpc_error(error, rpc.process)


def operation_id_of(metadata: Iterable[tuple[str, str | bytes]] | None) -> str:
    """The id that the service gave the call; empty when it never became an Operation."""
    for key, value in metadata or ():
        if key == OPERATION_ID_KEY and isinstance(value, str):
            return value
    return ""
