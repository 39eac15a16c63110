"""CDP domain Browser: the commands and events this product uses."""

from __future__ import annotations

from typing import ClassVar, Literal

from services.browser.cdp.message import CdpObject, Command, Empty, Event


class PermissionDescriptor(CdpObject):
    name: str
    sysex: bool | None = None
    user_visible_only: bool | None = None
    allow_without_sanitization: bool | None = None
    allow_without_gesture: bool | None = None
    pan_tilt_zoom: bool | None = None


class GetVersionResult(CdpObject):
    protocol_version: str
    product: str
    revision: str
    user_agent: str
    js_version: str


class GetVersion(Command[GetVersionResult]):
    METHOD: ClassVar[str] = "Browser.getVersion"


class Close(Command[Empty]):
    METHOD: ClassVar[str] = "Browser.close"


class SetDownloadBehavior(Command[Empty]):
    METHOD: ClassVar[str] = "Browser.setDownloadBehavior"
    behavior: Literal["deny", "allow", "allowAndName", "default"]
    browser_context_id: str | None = None
    download_path: str | None = None
    events_enabled: bool | None = None


class CancelDownload(Command[Empty]):
    METHOD: ClassVar[str] = "Browser.cancelDownload"
    guid: str
    browser_context_id: str | None = None


class SetPermission(Command[Empty]):
    METHOD: ClassVar[str] = "Browser.setPermission"
    permission: PermissionDescriptor
    setting: Literal["granted", "denied", "prompt"]
    origin: str | None = None
    embedded_origin: str | None = None
    browser_context_id: str | None = None


class GrantPermissions(Command[Empty]):
    METHOD: ClassVar[str] = "Browser.grantPermissions"
    permissions: list[
        Literal[
            "ar",
            "audioCapture",
            "automaticFullscreen",
            "backgroundFetch",
            "backgroundSync",
            "cameraPanTiltZoom",
            "capturedSurfaceControl",
            "clipboardReadWrite",
            "clipboardSanitizedWrite",
            "displayCapture",
            "durableStorage",
            "geolocation",
            "handTracking",
            "idleDetection",
            "keyboardLock",
            "localFonts",
            "localNetwork",
            "localNetworkAccess",
            "loopbackNetwork",
            "midi",
            "midiSysex",
            "nfc",
            "notifications",
            "paymentHandler",
            "periodicBackgroundSync",
            "pointerLock",
            "protectedMediaIdentifier",
            "sensors",
            "smartCard",
            "speakerSelection",
            "storageAccess",
            "topLevelStorageAccess",
            "videoCapture",
            "vr",
            "wakeLockScreen",
            "wakeLockSystem",
            "webAppInstallation",
            "webPrinting",
            "windowManagement",
        ]
    ]
    origin: str | None = None
    browser_context_id: str | None = None


class ResetPermissions(Command[Empty]):
    METHOD: ClassVar[str] = "Browser.resetPermissions"
    browser_context_id: str | None = None


class DownloadWillBegin(Event):
    METHOD: ClassVar[str] = "Browser.downloadWillBegin"
    frame_id: str
    guid: str
    url: str
    suggested_filename: str


class DownloadProgress(Event):
    METHOD: ClassVar[str] = "Browser.downloadProgress"
    guid: str
    total_bytes: float
    received_bytes: float
    state: str
    file_path: str | None = None


class Crash(Command[Empty]):
    METHOD: ClassVar[str] = "Browser.crash"
