"""The form of a URL by which repeats are found; for comparing only, never for fetching.

Only what changes nothing of what is shown is taken away: scheme, `www.`, a last slash and a parameter `ref` may all
lead somewhere else, and stay.
"""

from __future__ import annotations

import re
from urllib.parse import quote_from_bytes, unquote, unquote_to_bytes

import ada_url

# Parameters that say where a visitor came from: what ad networks, analytics, mail senders and shops document.
_TRACKING = re.compile(
    r"utm_\w+|_ga|_gl|gclid|gclsrc|dclid|gbraid|wbraid|gad_(?:source|campaignid)|srsltid|fbclid|msclkid|twclid|ttclid"
    r"|yclid|ysclid|_openstat|li_fat_id|igshid?|epik|scclid|rdt_cid|s_kwcid|ef_id|dm_i|_branch_(?:match_id|referrer)"
    r"|mc_(?:cid|eid)|_hs(?:enc|mi)|__hs(?:tc|sc|fp)|hsctatracking|hsa_\w+|mkt_tok|vero_(?:id|conv)|oly_(?:anon|enc)_id"
    r"|ml_subscriber(?:_hash)?|_kx|_ke|wickedid|rb_clickid|wt_mc|(?:pk|mtm|piwik|matomo)_(?:campaign|kwd|keyword|source"
    r"|medium|content|cid|group|placement)|itm_(?:source|medium|campaign|content|term)|guce_referrer(?:_sig)?|guccounter"
    r"|ref_src|ref_url",
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


def _form(text: str) -> str:
    """Part of a query as servers read it (WHATWG URL section 5.1): `+` is `%20`, `[` is `%5B`."""
    return quote_from_bytes(unquote_to_bytes(text.replace("+", " ")), safe="~")


def _query(search: str) -> str:
    kept: list[tuple[str, str]] = []
    for part in search.removeprefix("?").split("&"):
        key, equals, value = part.partition("=")
        if part and _TRACKING.fullmatch(unquote(key)) is None:
            kept.append((_form(key), equals + _form(value)))
    # Equal keys keep their order: a server may take the first or the last.
    kept.sort(key=lambda each: each[0])
    return "?" + "&".join(key + rest for key, rest in kept) if kept else ""


def _route(fragment: str) -> str:
    """A fragment names a place on the page, except where it is the page's route."""
    return fragment if fragment.startswith(("#!", "#/")) else ""
