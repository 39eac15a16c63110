"""CDP domain Network: the commands and events this product uses."""

from __future__ import annotations

from typing import ClassVar, Literal

from msgspec import field

from services.browser.cdp.message import CdpObject, Command, Empty, Event


class Request(CdpObject):
    url: str
    method: str
    headers: dict[str, str]
    url_fragment: str | None = None
    has_post_data: bool | None = None


class Initiator(CdpObject):
    type: str
    url: str | None = None


class Response(CdpObject):
    url: str
    status: int
    status_text: str
    headers: dict[str, str]
    mime_type: str
    encoded_data_length: float
    remote_ip_address: str | None = field(default=None, name="remoteIPAddress")
    remote_port: int | None = None
    from_disk_cache: bool | None = None
    from_service_worker: bool | None = None
    from_prefetch_cache: bool | None = None
    protocol: str | None = None


class CookiePartitionKey(CdpObject):
    top_level_site: str
    has_cross_site_ancestor: bool


class Cookie(CdpObject):
    name: str
    value: str
    domain: str
    path: str
    expires: float
    size: int
    http_only: bool
    secure: bool
    session: bool
    priority: str
    source_scheme: str
    source_port: int
    same_site: str | None = None
    partition_key: CookiePartitionKey | None = None
    partition_key_opaque: bool | None = None


class CookieParam(CdpObject):
    name: str
    value: str
    url: str | None = None
    domain: str | None = None
    path: str | None = None
    secure: bool | None = None
    http_only: bool | None = None
    same_site: Literal["Strict", "Lax", "None"] | None = None
    expires: float | None = None
    priority: Literal["Low", "Medium", "High"] | None = None
    source_scheme: Literal["Unset", "NonSecure", "Secure"] | None = None
    source_port: int | None = None
    partition_key: CookiePartitionKey | None = None


class Enable(Command[Empty]):
    METHOD: ClassVar[str] = "Network.enable"
    max_total_buffer_size: int | None = None
    max_resource_buffer_size: int | None = None
    max_post_data_size: int | None = None
    report_direct_socket_traffic: bool | None = None
    enable_durable_messages: bool | None = None


class SetCacheDisabled(Command[Empty]):
    METHOD: ClassVar[str] = "Network.setCacheDisabled"
    cache_disabled: bool


class SetBypassServiceWorker(Command[Empty]):
    METHOD: ClassVar[str] = "Network.setBypassServiceWorker"
    bypass: bool


class EmulateNetworkConditions(Command[Empty]):
    METHOD: ClassVar[str] = "Network.emulateNetworkConditions"
    offline: bool
    latency: float
    download_throughput: float
    upload_throughput: float
    connection_type: (
        Literal["none", "cellular2g", "cellular3g", "cellular4g", "bluetooth", "ethernet", "wifi", "wimax", "other"]
        | None
    ) = None
    packet_loss: float | None = None
    packet_queue_length: int | None = None
    packet_reordering: bool | None = None


class SetExtraHTTPHeaders(Command[Empty]):
    METHOD: ClassVar[str] = "Network.setExtraHTTPHeaders"
    headers: dict[str, str]


class GetResponseBodyResult(CdpObject):
    body: str
    base64_encoded: bool


class GetResponseBody(Command[GetResponseBodyResult]):
    METHOD: ClassVar[str] = "Network.getResponseBody"
    request_id: str


class RequestWillBeSent(Event):
    METHOD: ClassVar[str] = "Network.requestWillBeSent"
    request_id: str
    loader_id: str
    document_url: str = field(name="documentURL")
    request: Request
    timestamp: float
    wall_time: float
    initiator: Initiator
    redirect_has_extra_info: bool
    redirect_response: Response | None = None
    type: str | None = None
    frame_id: str | None = None
    has_user_gesture: bool | None = None
    render_blocking_behavior: str | None = None


class ResponseReceived(Event):
    METHOD: ClassVar[str] = "Network.responseReceived"
    request_id: str
    loader_id: str
    timestamp: float
    type: str
    response: Response
    has_extra_info: bool
    frame_id: str | None = None


class LoadingFinished(Event):
    METHOD: ClassVar[str] = "Network.loadingFinished"
    request_id: str
    timestamp: float
    encoded_data_length: float


class LoadingFailed(Event):
    METHOD: ClassVar[str] = "Network.loadingFailed"
    request_id: str
    timestamp: float
    type: str
    error_text: str
    canceled: bool | None = None
    blocked_reason: str | None = None


class RequestServedFromCache(Event):
    METHOD: ClassVar[str] = "Network.requestServedFromCache"
    request_id: str


class WebSocketCreated(Event):
    METHOD: ClassVar[str] = "Network.webSocketCreated"
    request_id: str
    url: str
    initiator: Initiator | None = None


class WebSocketClosed(Event):
    METHOD: ClassVar[str] = "Network.webSocketClosed"
    request_id: str
    timestamp: float
