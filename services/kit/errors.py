"""Refusals: the one exception type that a caller gets to see, and its forms on the wire (SPEC §10)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Protocol

import grpc
from google.protobuf.any_pb2 import Any as AnyMessage
from google.protobuf.message import DecodeError
from google.rpc import error_details_pb2, status_pb2
from hyperkitty.operations.v1 import errors_pb2
from hyperkitty.operations.v1.errors_pb2 import ErrorCode
from hyperkitty.options.v1 import options_pb2

from services.kit import logs
from services.kit.hints import HINTS
from services.kit.ids import ulid
from services.kit.json_values import JsonValue, clean_text, from_struct, to_struct

DOMAIN = "hyperkitty"
DETAILS_KEY = "grpc-status-details-bin"

# gRPC's default limit for all metadata is 8 KiB, and the details travel in it in base64.
_DETAILS_LIMIT = 3_000
_TEXT_LIMIT = 1_000
_PREFIX = "ERROR_CODE_"

log = logs.get(__name__)

_GRPC_CODES: dict[int, grpc.StatusCode] = {code.value[0]: code for code in grpc.StatusCode}
_OPTIONS: dict[int, options_pb2.ErrorOptions] = {
    value.number: value.GetOptions().Extensions[options_pb2.error] for value in ErrorCode.DESCRIPTOR.values
}
_REASONS: dict[int, str] = {
    value.number: value.name.removeprefix(_PREFIX).lower() for value in ErrorCode.DESCRIPTOR.values
}
# What a status without our details means: it comes from gRPC itself or from a proxy.
_BY_STATUS: dict[grpc.StatusCode, ErrorCode.ValueType] = {
    grpc.StatusCode.INVALID_ARGUMENT: ErrorCode.ERROR_CODE_INVALID_ARGUMENTS,
    grpc.StatusCode.UNAUTHENTICATED: ErrorCode.ERROR_CODE_UNAUTHENTICATED,
    grpc.StatusCode.PERMISSION_DENIED: ErrorCode.ERROR_CODE_NOT_AUTHORIZED,
    grpc.StatusCode.NOT_FOUND: ErrorCode.ERROR_CODE_NOT_FOUND,
    grpc.StatusCode.ALREADY_EXISTS: ErrorCode.ERROR_CODE_ALREADY_EXISTS,
    grpc.StatusCode.FAILED_PRECONDITION: ErrorCode.ERROR_CODE_WRONG_STATE,
    grpc.StatusCode.RESOURCE_EXHAUSTED: ErrorCode.ERROR_CODE_RESOURCE_EXHAUSTED,
    grpc.StatusCode.CANCELLED: ErrorCode.ERROR_CODE_CANCELLED,
    grpc.StatusCode.UNIMPLEMENTED: ErrorCode.ERROR_CODE_UNIMPLEMENTED,
    grpc.StatusCode.UNAVAILABLE: ErrorCode.ERROR_CODE_UNAVAILABLE,
    grpc.StatusCode.DEADLINE_EXCEEDED: ErrorCode.ERROR_CODE_DEADLINE_EXCEEDED,
}
RETRY_AFTER_MS = 500


class RpcFailure(Protocol):
    """The parts of a failed call's exception that are read here (grpc.aio.AioRpcError has them)."""

    def code(self) -> grpc.StatusCode: ...
    def trailing_metadata(self) -> Iterable[tuple[str, str | bytes]] | None: ...


class Refusal(Exception):
    """A call is refused or failed in a way the contract names. Carries no trace and no internal address."""

    def __init__(
        self,
        code: ErrorCode.ValueType,
        message: str,
        *,
        hint: str = "",
        details: Mapping[str, JsonValue] | None = None,
    ) -> None:
        super().__init__(f"{reason(code)}: {message}")
        self.code = code
        self.message = message
        self.hint = hint or HINTS[code]
        self.details: dict[str, JsonValue] = dict(details or {})

    def to_proto(self) -> errors_pb2.Error:
        """The contract's error message; texts and details are bounded."""
        return errors_pb2.Error(
            code=self.code,
            message=clean_text(self.message[:_TEXT_LIMIT]),
            hint=clean_text(self.hint[:_TEXT_LIMIT]),
            details=to_struct(self.details, _DETAILS_LIMIT),
        )


def reason(code: ErrorCode.ValueType) -> str:
    """`ERROR_CODE_STALE_REF` → `stale_ref`: the code as JSON and ErrorInfo show it."""
    return _REASONS[code]


def http_status(code: ErrorCode.ValueType) -> int:
    """The HTTP status that the contract gives the code."""
    return _OPTIONS[code].http_status


def grpc_status(code: ErrorCode.ValueType) -> grpc.StatusCode:
    """The gRPC status that the contract gives the code."""
    return _GRPC_CODES[_OPTIONS[code].grpc_code]


def to_status(refusal: Refusal) -> status_pb2.Status:
    """google.rpc.Status with ErrorInfo (reason, domain, scalar details) and the contract's Error."""
    error = refusal.to_proto()
    info = error_details_pb2.ErrorInfo(reason=reason(refusal.code), domain=DOMAIN)
    for key, value in list(from_struct(error.details).items())[:20]:
        if isinstance(value, (str, int, float)):
            info.metadata[key] = str(value)[:200]
    status = status_pb2.Status(code=_OPTIONS[refusal.code].grpc_code, message=error.message)
    for detail in (info, error):
        packed = AnyMessage()
        packed.Pack(detail)
        status.details.append(packed)
    return status


def from_proto(error: errors_pb2.Error) -> Refusal:
    """The refusal that an Error message tells of; an unknown code is `internal`."""
    known = error.code in HINTS
    code = error.code if known else ErrorCode.ERROR_CODE_INTERNAL
    return Refusal(code, error.message, hint=error.hint, details=from_struct(error.details))


def _trailing_details(failure: RpcFailure) -> bytes | None:
    for key, value in failure.trailing_metadata() or ():
        if key == DETAILS_KEY and isinstance(value, bytes):
            return value
    return None


def _from_details(details: bytes) -> Refusal | None:
    status = status_pb2.Status()
    try:
        status.ParseFromString(details)
        for detail in status.details:
            error = errors_pb2.Error()
            if detail.Unpack(error):
                return from_proto(error)
    except DecodeError:
        return None
    return None


def from_rpc_error(failure: RpcFailure, target: str = "service") -> Refusal:
    """The refusal behind a failed call. `target` names the called service in the message.

    A status that gRPC itself made has no details of ours; its text may hold socket paths, so it is not repeated.
    """
    details = _trailing_details(failure)
    refusal = None if details is None else _from_details(details)
    if refusal is not None:
        return refusal
    code = _BY_STATUS.get(failure.code(), ErrorCode.ERROR_CODE_INTERNAL)
    if code == ErrorCode.ERROR_CODE_UNAVAILABLE:
        return unavailable(f"the {target} service does not answer")
    return Refusal(code, f"the call to the {target} service ended with {failure.code().name.lower()}")


def unavailable(message: str, retry_after_ms: int = RETRY_AFTER_MS) -> Refusal:
    """A part is down or starting; says when to try again."""
    return Refusal(ErrorCode.ERROR_CODE_UNAVAILABLE, message, details={"retry_after_ms": retry_after_ms})


def internal(cause: BaseException) -> Refusal:
    """What a caller is told of a fault: an id that finds the traceback in the log, nothing else."""
    error_id = ulid()
    log.error("internal_error", error_id=error_id, exc_info=cause)
    return Refusal(
        ErrorCode.ERROR_CODE_INTERNAL, "something went wrong inside HyperKitty", details={"error_id": error_id}
    )
