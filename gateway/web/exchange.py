"""One HTTP or WebSocket request, as far as it is the same for all: ids, headers, where it comes from."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Iterable, MutableMapping
from typing import Any, TypeAlias, cast
from urllib.parse import parse_qsl

from hyperkitty.operations.v1.errors_pb2 import ErrorCode

from services.kit.calls import REQUEST_ID, mint_request_id
from services.kit.errors import Refusal

Scope: TypeAlias = "MutableMapping[str, Any]"
Receive: TypeAlias = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send: TypeAlias = Callable[[MutableMapping[str, Any]], Awaitable[None]]

_IDEMPOTENCY_KEY = re.compile(r"[\x21-\x7e]{1,200}")
# A second one of these could mean one thing here and another to a proxy in front.
_ONCE = (b"host", b"authorization", b"origin", b"content-length", b"x-request-id", b"idempotency-key", b"range")
_MOST_PARAMETERS = 100


class Exchange:
    """What a request says of itself before its body is read."""

    __slots__ = ("_headers", "client", "query_string", "raw_path", "request_id", "verb", "what")

    def __init__(self, scope: Scope) -> None:
        pairs = cast("Iterable[tuple[bytes, bytes]]", scope["headers"])
        self._headers = dict(pairs)
        self.verb = cast("str", scope.get("method", "GET"))
        self.raw_path = cast("bytes", scope["raw_path"]).partition(b"?")[0]
        # The method that is meant, once it is known: for metrics and events.
        self.what = "none"
        self.query_string = cast("bytes", scope["query_string"])
        client = cast("tuple[str, int] | None", scope.get("client"))
        self.client = client[0] if client else ""
        given = self.header(b"x-request-id")
        self.request_id = given if given is not None and REQUEST_ID.fullmatch(given) else mint_request_id()

    def header(self, name: bytes) -> str | None:
        """A header's value; None when it is not there."""
        value = self._headers.get(name)
        return None if value is None else value.decode("latin-1")

    def check_headers(self, scope: Scope) -> None:
        """Raises Refusal invalid_arguments when a header that must be unique is there twice."""
        pairs = cast("list[tuple[bytes, bytes]]", scope["headers"])
        if len(self._headers) == len(pairs):
            return
        names = [name for name, _ in pairs]
        for name in _ONCE:
            if names.count(name) > 1:
                raise invalid(f"the header {name.decode()} is there {names.count(name)} times")

    def idempotency_key(self) -> str | None:
        """The caller's key for repeats. Raises Refusal invalid_arguments for one that is malformed."""
        key = self.header(b"idempotency-key")
        if key is not None and not _IDEMPOTENCY_KEY.fullmatch(key):
            raise invalid("the idempotency-key must be 1 to 200 visible ASCII characters")
        return key

    def query(self) -> list[tuple[str, str]]:
        """The query's parameters in order. Raises Refusal invalid_arguments."""
        if not self.query_string:
            return []
        try:
            return parse_qsl(
                self.query_string.decode("ascii"),
                keep_blank_values=True,
                strict_parsing=True,
                errors="strict",
                max_num_fields=_MOST_PARAMETERS,
            )
        except ValueError as error:
            # UnicodeDecodeError among them: a value that is not UTF-8.
            raise invalid(f"the query string cannot be read: {type(error).__name__}") from None


def invalid(message: str, hint: str = "") -> Refusal:
    """Something about the request itself is wrong."""
    return Refusal(ErrorCode.ERROR_CODE_INVALID_ARGUMENTS, message, hint=hint)
