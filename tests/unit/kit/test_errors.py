from __future__ import annotations

import grpc
import pytest
from google.rpc import error_details_pb2
from hyperkitty.operations.v1.errors_pb2 import ErrorCode

from services.kit import errors
from services.kit.errors import Refusal
from services.kit.hints import HINTS

# SPEC §10, by hand: what the contract's options must say.
HTTP = {
    400: "invalid_arguments",
    401: "unauthenticated",
    403: "not_authorized navigation_blocked request_blocked",
    404: "not_found",
    409: "wrong_state stale_ref ambiguous_target dialog_open profile_in_use already_exists",
    413: "payload_too_large",
    422: "not_interactable obscured navigation_failed page_unresponsive tab_crashed http_auth_required",
    429: "limit_exceeded resource_exhausted",
    499: "cancelled",
    500: "internal",
    501: "unimplemented",
    502: "provider_failed",
    503: "unavailable session_crashed interrupted event_log_unavailable sandbox_unavailable",
    504: "deadline_exceeded",
}
CODES = [value for value in ErrorCode.values() if value != ErrorCode.ERROR_CODE_UNSPECIFIED]


class Failure:
    def __init__(self, code: grpc.StatusCode, details: bytes | None = None) -> None:
        self._code, self._details = code, details

    def code(self) -> grpc.StatusCode:
        return self._code

    def trailing_metadata(self) -> list[tuple[str, str | bytes]]:
        return [] if self._details is None else [(errors.DETAILS_KEY, self._details)]


def test_http_statuses_are_the_specs() -> None:
    expected = {name: status for status, names in HTTP.items() for name in names.split()}
    assert {errors.reason(code): errors.http_status(code) for code in CODES} == expected


def test_every_code_has_a_hint() -> None:
    assert set(HINTS) == set(CODES)


@pytest.mark.parametrize("code", CODES)
def test_a_refusal_survives_the_wire(code: ErrorCode.ValueType) -> None:
    refusal = Refusal(code, "what was wrong", details={"value": 7, "list": ["a", None, {"b": 1.5}], "flag": True})
    status = errors.to_status(refusal)
    assert status.code == errors.grpc_status(code).value[0]
    back = errors.from_rpc_error(Failure(errors.grpc_status(code), status.SerializeToString()))
    assert (back.code, back.message, back.hint, back.details) == (
        refusal.code,
        refusal.message,
        HINTS[code],
        refusal.details,
    )
    info = error_details_pb2.ErrorInfo()
    assert status.details[0].Unpack(info)
    assert (info.reason, info.domain, info.metadata["value"]) == (errors.reason(code), "hyperkitty", "7")


def test_large_details_are_cut_not_lost() -> None:
    refusal = Refusal(CODES[0], "m" * 5_000, details={"big": "x" * 100_000, "small": 1, "bad": "\ud800"})
    status = errors.to_status(refusal)
    assert len(status.SerializeToString()) < 6_000
    back = errors.from_rpc_error(Failure(grpc.StatusCode.INTERNAL, status.SerializeToString()))
    assert back.details["small"] == 1
    assert back.details["bad"] == "�"
    assert back.details["big"] == {"cut": True, "bytes": pytest.approx(100_000, abs=100)}


def test_grpcs_own_statuses() -> None:
    unavailable = errors.from_rpc_error(Failure(grpc.StatusCode.UNAVAILABLE), "browser")
    assert unavailable.code == ErrorCode.ERROR_CODE_UNAVAILABLE
    assert unavailable.details["retry_after_ms"] == errors.RETRY_AFTER_MS
    assert "browser" in unavailable.message
    assert errors.from_rpc_error(Failure(grpc.StatusCode.DATA_LOSS)).code == ErrorCode.ERROR_CODE_INTERNAL
    assert errors.from_rpc_error(Failure(grpc.StatusCode.CANCELLED)).code == ErrorCode.ERROR_CODE_CANCELLED
    assert errors.from_rpc_error(Failure(grpc.StatusCode.UNKNOWN, b"\xff\xff")).code == ErrorCode.ERROR_CODE_INTERNAL


def test_a_fault_tells_only_an_id(capsys: pytest.CaptureFixture[str]) -> None:
    from services.kit import logs

    logs.configure("test")
    try:
        raise RuntimeError("unix:/tmp/secret.sock refused")
    except RuntimeError as error:
        refusal = errors.internal(error)
    assert refusal.code == ErrorCode.ERROR_CODE_INTERNAL
    assert "secret.sock" not in str(refusal.to_proto())
    logged = capsys.readouterr().err
    assert str(refusal.details["error_id"]) in logged
    assert "RuntimeError" in logged
