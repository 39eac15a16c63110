"""CDP domain Storage: the commands and events this product uses."""

from __future__ import annotations

from typing import ClassVar

from services.browser.cdp.domains import network
from services.browser.cdp.message import CdpObject, Command, Empty


class GetCookiesResult(CdpObject):
    cookies: list[network.Cookie]


class GetCookies(Command[GetCookiesResult]):
    METHOD: ClassVar[str] = "Storage.getCookies"
    browser_context_id: str | None = None


class SetCookies(Command[Empty]):
    METHOD: ClassVar[str] = "Storage.setCookies"
    cookies: list[network.CookieParam]
    browser_context_id: str | None = None


class ClearCookies(Command[Empty]):
    METHOD: ClassVar[str] = "Storage.clearCookies"
    browser_context_id: str | None = None
