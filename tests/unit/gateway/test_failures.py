"""What a failed call means."""

from __future__ import annotations

import grpc
import pytest
from hyperkitty.operations.v1.errors_pb2 import ErrorCode

from gateway.calls.failures import refusal_of
from gateway.contract import linked_services, rpcs
from services.kit.errors import DETAILS_KEY, Refusal, to_status

RPC = next(rpc for rpc in rpcs(linked_services()) if rpc.method.name == "Execute")
IDS = grpc.aio.Metadata(("x-operation-id", "op_1"), ("x-request-id", "r"))
NONE = grpc.aio.Metadata()
REFUSED = to_status(Refusal(ErrorCode.ERROR_CODE_UNAVAILABLE, "not now")).SerializeToString()
DETAILS = grpc.aio.Metadata((DETAILS_KEY, REFUSED))
SOCKET = "failed to connect to all addresses; last error: unix:/run/hk/browser.sock: connection refused"


@pytest.mark.parametrize(
    ("code", "initial", "trailing", "expected"),
    [
        (grpc.StatusCode.UNAVAILABLE, NONE, NONE, ErrorCode.ERROR_CODE_UNAVAILABLE),
        (grpc.StatusCode.UNAVAILABLE, IDS, NONE, ErrorCode.ERROR_CODE_INTERRUPTED),
        (grpc.StatusCode.UNAVAILABLE, IDS, DETAILS, ErrorCode.ERROR_CODE_UNAVAILABLE),
        (grpc.StatusCode.DEADLINE_EXCEEDED, IDS, NONE, ErrorCode.ERROR_CODE_DEADLINE_EXCEEDED),
        (grpc.StatusCode.RESOURCE_EXHAUSTED, NONE, NONE, ErrorCode.ERROR_CODE_RESOURCE_EXHAUSTED),
        (grpc.StatusCode.UNIMPLEMENTED, NONE, NONE, ErrorCode.ERROR_CODE_UNIMPLEMENTED),
        (grpc.StatusCode.UNKNOWN, NONE, NONE, ErrorCode.ERROR_CODE_INTERNAL),
    ],
)
def test_meanings(
    code: grpc.StatusCode,
    initial: grpc.aio.Metadata,
    trailing: grpc.aio.Metadata,
    expected: ErrorCode.ValueType,
) -> None:
    refusal = refusal_of(grpc.aio.AioRpcError(code, initial, trailing, SOCKET, SOCKET), RPC)
    assert refusal.code == expected
    assert "sock" not in refusal.message
    assert refusal.hint
