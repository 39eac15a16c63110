"""What a failed call says, as the contract has it."""

from __future__ import annotations

from dataclasses import dataclass

import grpc
from google.protobuf.json_format import MessageToDict
from google.protobuf.message import DecodeError
from google.rpc import status_pb2
from hyperkitty.operations.v1.errors_pb2 import Error, ErrorCode

_DETAILS = "grpc-status-details-bin"


@dataclass(frozen=True)
class Failure:
    """Why a call failed. `code` is the contract's, lower case: `stale_ref`; `hint` says what to do next."""

    code: str
    message: str
    hint: str
    details: dict[str, object]


def explain(error: grpc.aio.AioRpcError) -> Failure:
    """The failure behind an exception of a call; one that HyperKitty did not make is told by its gRPC status."""
    for key, value in error.trailing_metadata() or ():
        if key == _DETAILS and isinstance(value, bytes):
            found = _read(value)
            if found is not None:
                return found
    return Failure(error.code().name.lower(), error.details() or "", "", {})


def _read(serialized: bytes) -> Failure | None:
    status, told = status_pb2.Status(), Error()
    try:
        status.ParseFromString(serialized)
    except DecodeError:
        return None
    for detail in status.details:
        if detail.Is(Error.DESCRIPTOR) and detail.Unpack(told):
            code = ErrorCode.Name(told.code).removeprefix("ERROR_CODE_").lower()
            return Failure(code, told.message, told.hint, MessageToDict(told.details))
    return None
