"""What a failed call means to its caller."""

from __future__ import annotations

from collections.abc import Iterable

import grpc
from hyperkitty.operations.v1.errors_pb2 import ErrorCode

from gateway.contract import Rpc
from services.kit import errors
from services.kit.calls import OPERATION_ID_KEY
from services.kit.errors import DETAILS_KEY, Refusal


def refusal_of(error: grpc.aio.AioRpcError, rpc: Rpc) -> Refusal:
    """The refusal behind a failed call; nothing of gRPC's own text, which names sockets.

    A service that is gone after it gave the call an id had begun: the operation is interrupted, and a repeat might do
    it twice.
    """
    operation_id = operation_id_of(error.initial_metadata())
    if operation_id and error.code() is grpc.StatusCode.UNAVAILABLE and not _has_details(error):
        return Refusal(
            ErrorCode.ERROR_CODE_INTERRUPTED,
            f"the {rpc.process} service ended during the call",
            details={"operation_id": operation_id, "retry_after_ms": errors.RETRY_AFTER_MS},
        )
    return errors.from_rpc_error(error, rpc.process)


def operation_id_of(metadata: Iterable[tuple[str, str | bytes]] | None) -> str:
    """The id that the service gave the call; empty when it never became an Operation."""
    for key, value in metadata or ():
        if key == OPERATION_ID_KEY and isinstance(value, str):
            return value
    return ""


def _has_details(error: grpc.aio.AioRpcError) -> bool:
    return any(key == DETAILS_KEY for key, _ in error.trailing_metadata() or ())
