"""What a provider does (SPEC §7): plan, search, fetch, extract."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from hyperkitty.operations.v1.errors_pb2 import ErrorCode

from services.kit.errors import Refusal
from services.kit.json_values import JsonValue

_HINTS = {
    "forbidden": "The search engine has to allow the JSON format; or start_search with another provider.",
    "rate_limited": "start_search again after retry_after_ms, or with another provider.",
    "degraded": "The engines behind the provider do not answer: start_search later, or with another provider.",
}


@dataclass(frozen=True)
class Hit:
    """One result as the provider gave it."""

    url: str
    title: str
    snippet: str
    found_by: tuple[str, ...] = ()
    """Engines or providers that gave it."""


@dataclass(frozen=True)
class Found:
    """What a query found."""

    hits: Sequence[Hit]
    """Best first."""
    unresponsive: tuple[str, ...] = ()
    """Engines or providers that did not answer, each with its reason."""


@dataclass(frozen=True)
class Fetched:
    """A document's bytes."""

    url: str
    content_type: str
    content: bytes


class Provider(Protocol):
    """Raises Refusal provider_failed for whatever goes wrong at the provider; never hangs beyond the budget."""

    name: str

    def plan(self, query: str, asked: Sequence[str]) -> list[str]:
        """The next queries to ask; none of `asked`."""
        ...

    async def search(self, query: str) -> Found:
        """Results for one query."""
        ...

    def owns(self, url: str) -> bool:
        """Whether `fetch` is for this URL."""
        ...

    async def fetch(self, url: str) -> Fetched:
        """A document; what it is at is its `url`."""
        ...

    def extract(self, fetched: Fetched) -> str:
        """Its text. Runs in a thread. Raises Unreadable."""
        ...


def failed(provider: str, reason: str, message: str, **details: JsonValue) -> Refusal:
    """A provider's failure.

    `reason` of a search: forbidden, rate_limited, degraded (engines behind it do not answer, or show a CAPTCHA),
    bad_response, timeout, unreachable, down; of a document: blocked, robots, status, type, too_large, timeout,
    unreachable, not_found.
    """
    return Refusal(
        ErrorCode.ERROR_CODE_PROVIDER_FAILED,
        f"the search provider {provider} failed: {message}",
        hint=_HINTS.get(reason, ""),
        details={"provider": provider, "reason": reason, **details},
    )
