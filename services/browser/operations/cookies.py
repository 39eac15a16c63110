"""Cookies between the contract and the browser."""

from __future__ import annotations

from typing import Literal

from hyperkitty.browser.v1 import operations_pb2 as pb

from services.browser.cdp.domains import network

SameSite = Literal["Strict", "Lax", "None"]

_SAME_SITE: dict[pb.SameSite.ValueType, SameSite] = {
    pb.SAME_SITE_STRICT: "Strict",
    pb.SAME_SITE_LAX: "Lax",
    pb.SAME_SITE_NONE: "None",
}


def cookie_to_proto(cookie: network.Cookie) -> pb.Cookie:
    """A cookie as callers see it, with its value."""
    same_site = next(
        (known for known, name in _SAME_SITE.items() if name == cookie.same_site), pb.SAME_SITE_UNSPECIFIED
    )
    return pb.Cookie(
        name=cookie.name,
        value=cookie.value,
        domain=cookie.domain,
        path=cookie.path,
        expires_at_ms=0 if cookie.session else int(cookie.expires * 1000),
        http_only=cookie.http_only,
        secure=cookie.secure,
        same_site=same_site,
    )


def cookie_to_set(cookie: pb.Cookie) -> network.CookieParam:
    """A cookie as the browser sets it."""
    return network.CookieParam(
        name=cookie.name,
        value=cookie.value,
        domain=cookie.domain,
        path=cookie.path or "/",
        secure=cookie.secure,
        http_only=cookie.http_only,
        same_site=_SAME_SITE.get(cookie.same_site),
        expires=cookie.expires_at_ms / 1000 if cookie.expires_at_ms else None,
    )


def belongs(cookie: network.Cookie, domain: str) -> bool:
    """Whether a cookie is of a domain, or of one below it."""
    wanted, own = domain.lower().lstrip("."), cookie.domain.lower().lstrip(".")
    return own == wanted or own.endswith(f".{wanted}")
