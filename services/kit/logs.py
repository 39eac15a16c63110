"""Logs: one JSON object a line on standard error, with the ids of the call it belongs to."""

from __future__ import annotations

import contextlib
import logging
import sys
from collections.abc import MutableMapping
from typing import Protocol

import structlog

_SECRET_NAMES = ("authorization", "cookie", "password", "secret", "token", "credential", "private_key")
# Names that hold an id or a count, not the secret itself.
_HARMLESS = frozenset({"token_id", "page_token", "tokens", "has_token", "secret_name"})
_LONGEST = 4_000


class Log(Protocol):
    """What the product uses of a structlog logger; the event is a name in snake case, facts are keywords."""

    def debug(self, event: str, /, **facts: object) -> object: ...
    def info(self, event: str, /, **facts: object) -> object: ...
    def warning(self, event: str, /, **facts: object) -> object: ...
    def error(self, event: str, /, **facts: object) -> object: ...


def _mask(_logger: object, _name: str, facts: MutableMapping[str, object]) -> MutableMapping[str, object]:
    """Values under a secret's name are masked, long ones cut: a log line must not carry either (SPEC §9)."""
    for key, value in facts.items():
        lowered = key.lower()
        if lowered not in _HARMLESS and any(name in lowered for name in _SECRET_NAMES):
            facts[key] = "[masked]"
        elif isinstance(value, str) and len(value) > _LONGEST and key != "exception":
            facts[key] = f"{value[:_LONGEST]}…[{len(value)} characters]"
    return facts


class _StandardError:
    """Where lines go. A line that cannot be written is lost: logging never fails what is logged."""

    def __init__(self, *_: object) -> None:
        return

    def _write(self, line: str) -> None:
        with contextlib.suppress(OSError, ValueError):
            print(line, file=sys.stderr, flush=True)

    debug = info = warning = error = _write


def configure(service: str, level: str = "info") -> None:
    """Sets up logging for the process. `level`: debug, info, warning, error."""
    number = logging.getLevelNamesMapping()[level.upper()]
    structlog.configure(
        processors=[
            structlog.contextvars.merge_contextvars,
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            structlog.processors.format_exc_info,
            _mask,
            structlog.processors.JSONRenderer(ensure_ascii=False),
        ],
        wrapper_class=structlog.make_filtering_bound_logger(number),
        logger_factory=_StandardError,
        cache_logger_on_first_use=False,
    )
    structlog.contextvars.bind_contextvars(service=service)
    logging.basicConfig(level=max(number, logging.WARNING), stream=sys.stderr, format="%(message)s")


def get(name: str) -> Log:
    """A logger for a module."""
    return structlog.get_logger(module=name.removeprefix("services."))


def bind(**ids: str) -> None:
    """Adds ids to every later line of the current call (its task's context)."""
    structlog.contextvars.bind_contextvars(**{key: value for key, value in ids.items() if value})
