"""CDP domain Fetch: the commands and events this product uses."""

from __future__ import annotations

from typing import ClassVar, Literal

from services.browser.cdp.domains import network
from services.browser.cdp.message import CdpObject, Command, Empty, Event


class RequestPattern(CdpObject):
    url_pattern: str | None = None
    resource_type: (
        Literal[
            "Document",
            "Stylesheet",
            "Image",
            "Media",
            "Font",
            "Script",
            "TextTrack",
            "XHR",
            "Fetch",
            "Prefetch",
            "EventSource",
            "WebSocket",
            "Manifest",
            "SignedExchange",
            "Ping",
            "CSPViolationReport",
            "Preflight",
            "FedCM",
            "Other",
        ]
        | None
    ) = None
    request_stage: Literal["Request", "Response"] | None = None


class HeaderEntry(CdpObject):
    name: str
    value: str


class AuthChallengeResponse(CdpObject):
    response: Literal["Default", "CancelAuth", "ProvideCredentials"]
    username: str | None = None
    password: str | None = None


class AuthChallenge(CdpObject):
    origin: str
    scheme: str
    realm: str
    source: str | None = None


class Enable(Command[Empty]):
    METHOD: ClassVar[str] = "Fetch.enable"
    patterns: list[RequestPattern] | None = None
    handle_auth_requests: bool | None = None


class Disable(Command[Empty]):
    METHOD: ClassVar[str] = "Fetch.disable"


class ContinueRequest(Command[Empty]):
    METHOD: ClassVar[str] = "Fetch.continueRequest"
    request_id: str
    url: str | None = None
    method: str | None = None
    post_data: bytes | None = None
    headers: list[HeaderEntry] | None = None
    intercept_response: bool | None = None


class FailRequest(Command[Empty]):
    METHOD: ClassVar[str] = "Fetch.failRequest"
    request_id: str
    error_reason: Literal[
        "Failed",
        "Aborted",
        "TimedOut",
        "AccessDenied",
        "ConnectionClosed",
        "ConnectionReset",
        "ConnectionRefused",
        "ConnectionAborted",
        "ConnectionFailed",
        "NameNotResolved",
        "InternetDisconnected",
        "AddressUnreachable",
        "BlockedByClient",
        "BlockedByResponse",
    ]


class FulfillRequest(Command[Empty]):
    METHOD: ClassVar[str] = "Fetch.fulfillRequest"
    request_id: str
    response_code: int
    response_headers: list[HeaderEntry] | None = None
    binary_response_headers: bytes | None = None
    body: bytes | None = None
    response_phrase: str | None = None


class ContinueWithAuth(Command[Empty]):
    METHOD: ClassVar[str] = "Fetch.continueWithAuth"
    request_id: str
    auth_challenge_response: AuthChallengeResponse


class RequestPaused(Event):
    METHOD: ClassVar[str] = "Fetch.requestPaused"
    request_id: str
    request: network.Request
    frame_id: str
    resource_type: str
    response_error_reason: str | None = None
    response_status_code: int | None = None
    response_status_text: str | None = None
    response_headers: list[HeaderEntry] | None = None
    network_id: str | None = None
    redirected_request_id: str | None = None


class AuthRequired(Event):
    METHOD: ClassVar[str] = "Fetch.authRequired"
    request_id: str
    request: network.Request
    frame_id: str
    resource_type: str
    auth_challenge: AuthChallenge
