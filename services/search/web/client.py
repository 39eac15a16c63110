"""One HTTP request to a checked address: bounded in time and size, never following a redirect by itself."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass

import ada_url
import aiohttp
from multidict import CIMultiDictProxy
from yarl import URL

from services.kit import logs
from services.kit.deadlines import current_budget
from services.kit.dialer import CheckedDialer, EgressBlocked
from services.kit.errors import Refusal
from services.kit.hosts import InvalidHost, host_and_port
from services.search.web.resolver import CheckedResolver

log = logs.get(__name__)

USER_AGENT = "HyperKittySearch/1.0"
_CONNECTIONS, _CONNECTIONS_A_HOST = 32, 4
_CHUNK = 64 * 1024


class FetchFailed(Exception):
    """Why a document could not be had. `reason`: blocked, robots, status, type, too_large, timeout, unreachable."""

    def __init__(self, reason: str, message: str) -> None:
        super().__init__(message)
        self.reason = reason


@dataclass(frozen=True)
class Answer:
    """An HTTP answer. `is_whole` is false where the body was cut at the limit."""

    status: int
    headers: CIMultiDictProxy[str]
    body: bytes
    is_whole: bool


class HttpClient:
    """GET, with addresses that the dialer checks. Made on the service's event loop; close it at the end."""

    def __init__(self, dialer: CheckedDialer) -> None:
        self._dialer = dialer
        connector = aiohttp.TCPConnector(
            resolver=CheckedResolver(dialer),
            use_dns_cache=False,
            limit=_CONNECTIONS,
            limit_per_host=_CONNECTIONS_A_HOST,
        )
        # No cookies are kept and no proxy of the environment is used: both would be somebody else's.
        self._session = aiohttp.ClientSession(
            connector=connector,
            cookie_jar=aiohttp.DummyCookieJar(),
            headers={"User-Agent": USER_AGENT, "Accept-Encoding": "gzip, deflate"},
            trust_env=False,
            max_line_size=8_190,
        )

    async def close(self) -> None:
        """Closes every connection."""
        await self._session.close()

    async def get(
        self, url: str, *, seconds: float, most_bytes: int, headers: Mapping[str, str] | None = None
    ) -> Answer:
        """Raises FetchFailed, or Refusal deadline_exceeded where the caller's budget ends sooner."""
        try:
            async with current_budget().limit(seconds):
                await self._check(url)
                return await self._send(url, most_bytes, headers or {})
        except (EgressBlocked, InvalidHost) as error:
            # Not why: what a name inside leads to is nobody's business who asks from outside.
            log.info("fetch_blocked", url=url[:200], reason=str(error))
            raise FetchFailed("blocked", f"{url[:200]} may not be reached: it is not a public http address") from error
        except TimeoutError as error:
            raise FetchFailed("timeout", f"{url[:200]} did not answer within {seconds:g} s") from error
        except Refusal:
            raise
        except (aiohttp.ClientError, OSError, ValueError, asyncio.IncompleteReadError) as error:
            raise FetchFailed("unreachable", f"{url[:200]} could not be read: {type(error).__name__}") from error

    async def _check(self, url: str) -> None:
        """Literal addresses are judged here; names once more by the resolver, whose addresses are connected to."""
        host, port = host_and_port(url)
        if ada_url.URL(url).protocol not in ("http:", "https:"):
            raise InvalidHost(f"{url[:200]} is not http or https")
        if host.address is not None:
            await self._dialer.resolve(host, port)
        else:
            self._dialer.check_name(host, port)

    async def _send(self, url: str, most_bytes: int, headers: Mapping[str, str]) -> Answer:
        # The URL as the standard writes it: what was checked is what is asked.
        parsed = ada_url.URL(url)
        parsed.hash = parsed.username = parsed.password = ""
        target = URL(parsed.href, encoded=True)
        if (target.raw_host or "").strip("[]") != parsed.hostname.strip("[]"):
            raise InvalidHost(f"{url[:200]} is read in two ways")
        async with self._session.get(target, headers=headers, allow_redirects=False) as response:
            body = bytearray()
            async for chunk in response.content.iter_chunked(_CHUNK):
                body += chunk
                if len(body) > most_bytes:
                    break
            whole = len(body) <= most_bytes
            return Answer(response.status, response.headers, bytes(body[:most_bytes]), whole)
