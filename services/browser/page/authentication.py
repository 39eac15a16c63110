"""HTTP authentication from the session's credentials, each for its own origin only (SPEC §4, "Never a hang").

Requests are held up at the Fetch domain for this alone, and only in sessions that have credentials.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence

from hyperkitty.browser.v1.sessions_pb2 import HttpCredentials

from services.browser.cdp.domains import fetch
from services.browser.cdp.session import CdpSession

SECONDS = 30.0
MOST_TRIED = 1000


_DEFAULT_PORTS = {"http": ":80", "https": ":443"}


def origin_of(text: str) -> str:
    """An origin as browsers write it: lower case, without a default port or a path."""
    scheme, _, rest = text.strip().lower().partition("://")
    host = rest.partition("/")[0]
    return f"{scheme}://{host.removesuffix(_DEFAULT_PORTS.get(scheme, '/'))}"


class Authentication:
    """Answers the challenges of a page."""

    def __init__(self, credentials: Sequence[HttpCredentials] = ()) -> None:
        self._credentials = {origin_of(known.origin): (known.username, known.password) for known in credentials}
        self._tried: OrderedDict[str, None] = OrderedDict()
        self._off = False

    def commands(self, session: CdpSession) -> list[fetch.Enable]:
        """What a process of the page's frames is told before it runs; nothing without credentials."""
        if not self._credentials:
            return []
        session.on(fetch.AuthRequired, lambda event: self._asked(session, event))
        session.on(fetch.RequestPaused, lambda event: self._go_on(session, event))
        return [fetch.Enable(handle_auth_requests=True)]

    def switch_off(self) -> None:
        """Someone else answers the page's requests now."""
        self._off = True

    def _go_on(self, session: CdpSession, event: fetch.RequestPaused) -> None:
        if self._off:
            return
        session.post(fetch.ContinueRequest(request_id=event.request_id), timeout=SECONDS)

    def _asked(self, session: CdpSession, event: fetch.AuthRequired) -> None:
        """Once a request: a site that asks again did not take them."""
        challenge = event.auth_challenge
        known = self._credentials.get(origin_of(challenge.origin)) if challenge.source != "Proxy" else None
        if known is None or event.request_id in self._tried:
            response = fetch.AuthChallengeResponse(response="CancelAuth")
        else:
            self._tried[event.request_id] = None
            if len(self._tried) > MOST_TRIED:
                self._tried.popitem(last=False)
            response = fetch.AuthChallengeResponse(response="ProvideCredentials", username=known[0], password=known[1])
        command = fetch.ContinueWithAuth(request_id=event.request_id, auth_challenge_response=response)
        session.post(command, timeout=SECONDS)
