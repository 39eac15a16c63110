"""Which coroutine handles which operation. A handler is found by the request message that it declares."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import cache
from typing import Any, TypeVar

from google.protobuf.message import Message

from services.browser import operations
from services.kit.capabilities import by_message

Subject = TypeVar("Subject")
Request = TypeVar("Request", bound=Message)
Result = TypeVar("Result", bound=Message)


@dataclass(frozen=True, slots=True)
class Handler:
    """A handler and how it is called."""

    # Its first argument is the tab, session or registry that the operation names: the decorated types differ.
    call: Callable[[Any, Any], Awaitable[Message]]
    gated: bool
    """It waits at the gate itself, just before its first command that can change anything."""


_handlers: dict[str, Handler] = {}


def handles(
    request: type[Request], *, gated: bool = False
) -> Callable[[Callable[[Subject, Request], Awaitable[Result]]], Callable[[Subject, Request], Awaitable[Result]]]:
    """Declare a coroutine the handler of an operation. Raises ValueError for a second one."""

    def register(
        call: Callable[[Subject, Request], Awaitable[Result]],
    ) -> Callable[[Subject, Request], Awaitable[Result]]:
        name = by_message()[request.DESCRIPTOR.full_name].name
        if name in _handlers:
            raise ValueError(f"{name} has two handlers")
        _handlers[name] = Handler(call, gated)
        return call

    return register


@cache
def _load() -> None:
    for module in pkgutil.iter_modules(operations.__path__):
        importlib.import_module(f"{operations.__name__}.{module.name}")


def handler_of(name: str) -> Handler | None:
    """The handler of an operation; None: it is not served."""
    _load()
    return _handlers.get(name)
