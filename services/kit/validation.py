"""The contract's bounds (buf.validate rules), checked before anything else hears of a message (DESIGN §3)."""

from __future__ import annotations

from google.protobuf.message import Message
from hyperkitty.operations.v1.errors_pb2 import ErrorCode
from protovalidate import CompilationError, EvaluationError, Validator, Violation

from services.kit.errors import Refusal, internal

_MOST_FIELDS = 20

_validator = Validator()


def _path(violation: Violation, within: str) -> str:
    """`operation.fields[3].value`, as the caller would write it."""
    path = within
    field = violation.proto.field
    for element in () if field is None else field.elements:
        path += f".{element.field_name}" if path else element.field_name
        if element.subscript is not None:
            path += f"[{element.subscript.value}]"
    return path or "request"


def refuse_fields(problems: list[tuple[str, str]]) -> Refusal:
    """invalid_arguments, field by field."""
    first_field, first_problem = problems[0]
    more = f" (and {len(problems) - 1} more)" if len(problems) > 1 else ""
    return Refusal(
        ErrorCode.ERROR_CODE_INVALID_ARGUMENTS,
        f"{first_field}: {first_problem}{more}",
        details={"fields": [{"field": field, "problem": problem} for field, problem in problems[:_MOST_FIELDS]]},
    )


def check_message(message: Message, *, within: str = "") -> None:
    """Raises Refusal invalid_arguments naming each field that breaks a rule; `within` is put before its path."""
    try:
        violations = _validator.collect_violations(message)
    except (CompilationError, EvaluationError) as error:
        # A rule that cannot be evaluated has not been met.
        raise internal(error) from error
    if violations:
        raise refuse_fields([(_path(each, within), each.proto.message) for each in violations])
