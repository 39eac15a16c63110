"""The form of an exported state: cookies and storage, as JSON."""

from __future__ import annotations

from msgspec import Struct
from msgspec.json import Decoder, Encoder

from services.browser.cdp.domains.network import CookieParam
from services.browser.page.results import Kept

CONTENT_TYPE = "application/vnd.hyperkitty.state+json"
MOST_BYTES = 64 * 1024 * 1024
VERSION = 1


class State(Struct, frozen=True):
    """What a session keeps of the sites it was at."""

    version: int
    cookies: list[CookieParam]
    origins: list[Kept]


encode = Encoder().encode
decode = Decoder(State).decode
