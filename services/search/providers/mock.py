"""The provider `mock`: deterministic, offline, for demonstrations and tests. What it says of a subject is invented.

Its results repeat pages under several addresses, as real ones do. A query with the word `sparse` finds one page at a
time, one with `nothing` none, one with `outage` fails: each way of going on can be seen without a network.
"""

from __future__ import annotations

from collections.abc import Sequence
from urllib.parse import quote, unquote

from services.search.providers.provider import Fetched, Found, Hit, failed
from services.search.queries import plan_queries
from services.search.text import telling_words

NAME = "mock"
_ORIGIN = "https://www.mock.example/"
_ASPECTS = ("history", "basics", "uses", "care", "questions")


def _text(subject: str, aspect: str) -> str:
    title = subject.capitalize()
    return (
        f"{title}: {aspect}.\n\n"
        f"This page of the mock provider is about the {aspect} of {subject}. "
        f"Nothing on it is true of {subject}; it exists so that a search can be shown without a network. "
        f"A reader who asks about {subject} finds {len(_ASPECTS)} pages here, and {aspect} is one of them.\n\n"
        f"The {aspect} of {subject} fill one paragraph. "
        f"Other pages tell of {', '.join(each for each in _ASPECTS if each != aspect)}."
    )


class MockProvider:
    """See Provider."""

    name = NAME

    def plan(self, query: str, asked: Sequence[str]) -> list[str]:
        return plan_queries(query, asked)

    async def search(self, query: str) -> Found:
        terms = telling_words(query)
        if "outage" in terms:
            raise failed(NAME, "down", "it was asked to be down")
        if "nothing" in terms:
            return Found(())
        subject = " ".join(word for word in terms if word not in ("overview", "explained", "guide", "facts", "about"))
        aspects = _ASPECTS
        if "sparse" in terms:
            aspects = (_ASPECTS[sum(map(ord, query)) % len(_ASPECTS)],)
        hits = [self._hit(subject, aspect, "") for aspect in aspects]
        # The first page once more, by another way to it.
        return Found([*hits, self._hit(subject, aspects[0], "?utm_source=mock")])

    def _hit(self, subject: str, aspect: str, suffix: str) -> Hit:
        url = f"{_ORIGIN}{quote(subject)}/{aspect}{suffix}"
        return Hit(url, f"{subject.capitalize()}: {aspect}", f"About the {aspect} of {subject}.", (NAME,))

    def owns(self, url: str) -> bool:
        return url.startswith(_ORIGIN)

    async def fetch(self, url: str) -> Fetched:
        subject, _, aspect = url.removeprefix(_ORIGIN).partition("?")[0].rpartition("/")
        if aspect not in _ASPECTS:
            raise failed(NAME, "not_found", f"it has no page {url[:200]}")
        return Fetched(url, "text/plain; charset=utf-8", _text(unquote(subject), aspect).encode())

    def extract(self, fetched: Fetched) -> str:
        return fetched.content.decode()
