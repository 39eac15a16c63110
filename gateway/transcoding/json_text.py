"""Bytes ↔ JSON values. Strict on the way in (RFC 8259): no duplicate keys, no NaN, UTF-8 only; says where."""

from __future__ import annotations

import json
from typing import NoReturn

import msgspec
from hyperkitty.operations.v1.errors_pb2 import ErrorCode

from gateway.transcoding.mismatch import describe
from services.kit.errors import Refusal
from services.kit.json_values import JsonValue

_encoder = msgspec.json.Encoder()


class _Fault(Exception):
    """Something that Python's parser would let through."""


def _object(pairs: list[tuple[str, object]]) -> dict[str, object]:
    members = dict(pairs)
    if len(members) != len(pairs):
        seen: set[str] = set()
        for name, _ in pairs:
            if name in seen:
                raise _Fault(f"the name {describe(name).removeprefix('string ')} stands twice in one object")
            seen.add(name)
    return members


def _constant(name: str) -> NoReturn:
    raise _Fault(f"{name} is not JSON")


_decoder = json.JSONDecoder(object_pairs_hook=_object, parse_constant=_constant)


def parse(body: bytes) -> object:
    """The JSON value in `body`, {} for an empty one. Raises Refusal invalid_arguments with the place of the fault."""
    try:
        text = body.decode()
    except UnicodeDecodeError as error:
        raise _malformed(f"the body is not UTF-8 at byte {error.start}", {"position": error.start}) from None
    if not text or text.isspace():
        return {}
    try:
        return _decoder.decode(text)
    except json.JSONDecodeError as error:
        place: dict[str, JsonValue] = {"position": error.pos, "line": error.lineno, "column": error.colno}
        where = f"line {error.lineno} column {error.colno} (character {error.pos})"
        raise _malformed(f"the body is not JSON: {error.msg} at {where}", place) from None
    except _Fault as error:
        raise _malformed(f"the body is not JSON as it must be: {error}", {}) from None
    except RecursionError:
        raise _malformed("the body is nested too deeply", {}) from None
    except ValueError:
        # Python refuses to convert integers of more than 4,300 digits.
        raise _malformed("the body holds a number with too many digits", {}) from None


def _malformed(message: str, details: dict[str, JsonValue]) -> Refusal:
    return Refusal(
        ErrorCode.ERROR_CODE_INVALID_ARGUMENTS,
        message,
        hint="Send one JSON object in UTF-8; list_browser_operations shows what each operation takes.",
        details=details,
    )


def dump(value: object) -> bytes:
    """JSON text, compact, in UTF-8. Numbers that JSON has no form for (NaN, infinities) become null."""
    return _encoder.encode(value)
