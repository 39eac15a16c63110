"""What a site lets robots read (RFC 9309)."""

from __future__ import annotations

import time
from collections import OrderedDict

import ada_url
from protego import Protego

from services.search.web.client import USER_AGENT, Answer, FetchFailed, HttpClient

_SECONDS = 5.0
# RFC 9309 section 2.5: a parser takes at least 500 KiB; section 2.4: rules are used for 24 hours at most.
_MOST_BYTES = 500 * 1024
_KEPT_SECONDS = 3600.0
_KEPT_AFTER_FAILURE_SECONDS = 60.0
_MOST_SITES = 500
_REDIRECTS = 5

_EVERYTHING, _NOTHING = "", "User-agent: *\nDisallow: /\n"


class Robots:
    """Rules of sites, the last 500 kept for an hour."""

    def __init__(self, client: HttpClient) -> None:
        self._client = client
        self._rules: OrderedDict[str, tuple[float, Protego]] = OrderedDict()

    async def allows(self, url: str) -> bool:
        """Whether the document may be fetched. Raises FetchFailed blocked where its site may not be reached."""
        try:
            origin = ada_url.URL(url).origin
        except ValueError as error:
            raise FetchFailed("blocked", f"{url[:200]!r} is no URL") from error
        kept = self._rules.get(origin)
        if kept is None or kept[0] < time.monotonic():
            text, seconds = await self._read(origin)
            kept = self._rules[origin] = (time.monotonic() + seconds, Protego.parse(text))
            self._rules.move_to_end(origin)
            while len(self._rules) > _MOST_SITES:
                self._rules.popitem(last=False)
        return kept[1].can_fetch(url, USER_AGENT.partition("/")[0])

    async def _read(self, origin: str) -> tuple[str, float]:
        """The rules, and for how long they hold: all is allowed where there are none, nothing where they are away."""
        try:
            answer = await self._get(f"{origin}/robots.txt")
        except FetchFailed as error:
            if error.reason == "blocked":
                raise
            return _NOTHING, _KEPT_AFTER_FAILURE_SECONDS
        if answer.status == 200:
            return answer.body.decode("utf-8-sig", "replace"), _KEPT_SECONDS
        if answer.status >= 500 or answer.status == 429:
            return _NOTHING, _KEPT_AFTER_FAILURE_SECONDS
        return _EVERYTHING, _KEPT_SECONDS

    async def _get(self, url: str) -> Answer:
        answer = await self._client.get(url, seconds=_SECONDS, most_bytes=_MOST_BYTES)
        for _ in range(_REDIRECTS):
            location = answer.headers.get("Location", "")
            if answer.status not in (301, 302, 303, 307, 308) or not location:
                break
            try:
                url = ada_url.URL(location, url).href
            except ValueError as error:
                raise FetchFailed("unreachable", f"{url[:200]} leads nowhere") from error
            answer = await self._client.get(url, seconds=_SECONDS, most_bytes=_MOST_BYTES)
        return answer
