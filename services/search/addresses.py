"""The form of a URL by which repeats are found; for comparing only, never for fetching.

Only what changes nothing of what is shown is taken away: scheme, `www.`, a last slash and a parameter `ref` may all
lead somewhere else, and stay.
"""

from __future__ import annotations

import re
from urllib.parse import unquote

import ada_url

# Parameters that say where a visitor came from: what ad networks, mail senders and link shorteners document.
_TRACKING = re.compile(
    r"utm_\w+|_ga|_gl|gclid|gclsrc|dclid|gbraid|wbraid|gad_source|srsltid|fbclid|msclkid|twclid|ttclid|yclid|ysclid"
    r"|li_fat_id|igshid?|mc_(?:cid|eid)|_hs(?:enc|mi)|hsctatracking|mkt_tok|vero_(?:id|conv)|oly_(?:anon|enc)_id"
    r"|wickedid|ref_src|ref_url",
    re.IGNORECASE,
)
_CORPUS = "corpus:///"
_ESCAPE = re.compile(r"%([0-9A-Fa-f]{2})")
_UNRESERVED = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")


class NotAnAddress(ValueError):
    """Not an http, https or corpus URL that can be shown to anybody: one with credentials is none."""


def normalize_url(url: str) -> str:
    """One form for what is one page. Raises NotAnAddress."""
    try:
        parsed = ada_url.URL(url.strip())
    except ValueError as error:
        raise NotAnAddress(url[:200]) from error
    if url.startswith(_CORPUS):
        # Documents of the provider `corpus`, which no page of the web can be.
        return _CORPUS + _path(parsed.pathname)[1:]
    host = parsed.hostname.removesuffix(".")
    if parsed.protocol not in ("http:", "https:") or not host or parsed.username or parsed.password:
        raise NotAnAddress(url[:200])
    port = f":{parsed.port}" if parsed.port else ""
    return f"{parsed.protocol}//{host}{port}{_path(parsed.pathname)}{_query(parsed.search)}{_route(parsed.hash)}"


def _canonical(text: str) -> str:
    """Escapes of characters that need none are undone, the others in upper case (RFC 3986 section 6.2.2)."""

    def one(match: re.Match[str]) -> str:
        character = chr(int(match.group(1), 16))
        return character if character in _UNRESERVED else match.group().upper()

    return _ESCAPE.sub(one, text)


def _path(path: str) -> str:
    plain = _canonical(path)
    # An escaped dot may have become one that a browser would resolve: then the escape is kept.
    return path if "/." in plain and plain != path else plain


def _query(search: str) -> str:
    parts = [_canonical(part) for part in search.removeprefix("?").split("&") if part]
    kept = [part for part in parts if _TRACKING.fullmatch(unquote(part.partition("=")[0])) is None]
    # Equal keys keep their order: a server may take the first or the last.
    kept.sort(key=lambda part: part.partition("=")[0])
    return "?" + "&".join(kept) if kept else ""


def _route(fragment: str) -> str:
    """A fragment names a place on the page, except where it is the page's route."""
    return fragment if fragment.startswith(("#!", "#/")) else ""
