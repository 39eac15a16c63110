"""What a provider does (SPEC §7): plan, search, fetch, extract."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from hyperkitty.operations.v1.errors_pb2 import ErrorCode

from services.kit.errors import Refusal


@dataclass(frozen=True)
class Hit:
    """One result as the provider gave it."""

    url: str
    title: str
    snippet: str


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

    async def search(self, query: str) -> list[Hit]:
        """Results, best first."""
        ...

    async def fetch(self, url: str) -> Fetched:
        """A document."""
        ...

    def extract(self, fetched: Fetched) -> str:
        """Its text."""
        ...


def failed(provider: str, reason: str, message: str) -> Refusal:
    """A provider's failure. `reason`: `down`, `limited`, `captcha`, `bad_answer`, …"""
    return Refusal(
        ErrorCode.ERROR_CODE_PROVIDER_FAILED,
        f"the search provider {provider} failed: {message}",
        details={"provider": provider, "reason": reason},
    )
