"""CDP domain Emulation: the commands and events this product uses."""

from __future__ import annotations

from typing import ClassVar, Literal

from services.browser.cdp.domains import page
from services.browser.cdp.message import CdpObject, Command, Empty


class ScreenOrientation(CdpObject):
    type: Literal["portraitPrimary", "portraitSecondary", "landscapePrimary", "landscapeSecondary"]
    angle: int


class DisplayFeature(CdpObject):
    orientation: Literal["vertical", "horizontal"]
    offset: int
    mask_length: int


class DevicePosture(CdpObject):
    type: Literal["continuous", "folded"]


class UserAgentBrandVersion(CdpObject):
    brand: str
    version: str


class UserAgentMetadata(CdpObject):
    platform: str
    platform_version: str
    architecture: str
    model: str
    mobile: bool
    brands: list[UserAgentBrandVersion] | None = None
    full_version_list: list[UserAgentBrandVersion] | None = None
    full_version: str | None = None
    bitness: str | None = None
    wow64: bool | None = None
    form_factors: list[str] | None = None


class MediaFeature(CdpObject):
    name: str
    value: str


class SetDeviceMetricsOverride(Command[Empty]):
    METHOD: ClassVar[str] = "Emulation.setDeviceMetricsOverride"
    width: int
    height: int
    device_scale_factor: float
    mobile: bool
    scale: float | None = None
    screen_width: int | None = None
    screen_height: int | None = None
    position_x: int | None = None
    position_y: int | None = None
    dont_set_visible_size: bool | None = None
    screen_orientation: ScreenOrientation | None = None
    viewport: page.Viewport | None = None
    display_feature: DisplayFeature | None = None
    device_posture: DevicePosture | None = None
    scrollbar_type: Literal["overlay", "default"] | None = None
    screen_orientation_lock_emulation: bool | None = None
    viewport_meta: Literal["enable", "default"] | None = None
    text_layout_mode: Literal["mobile", "default"] | None = None


class ClearDeviceMetricsOverride(Command[Empty]):
    METHOD: ClassVar[str] = "Emulation.clearDeviceMetricsOverride"


class SetFocusEmulationEnabled(Command[Empty]):
    METHOD: ClassVar[str] = "Emulation.setFocusEmulationEnabled"
    enabled: bool


class SetUserAgentOverride(Command[Empty]):
    METHOD: ClassVar[str] = "Emulation.setUserAgentOverride"
    user_agent: str
    accept_language: str | None = None
    platform: str | None = None
    user_agent_metadata: UserAgentMetadata | None = None


class SetLocaleOverride(Command[Empty]):
    METHOD: ClassVar[str] = "Emulation.setLocaleOverride"
    locale: str | None = None


class SetTimezoneOverride(Command[Empty]):
    METHOD: ClassVar[str] = "Emulation.setTimezoneOverride"
    timezone_id: str


class SetGeolocationOverride(Command[Empty]):
    METHOD: ClassVar[str] = "Emulation.setGeolocationOverride"
    latitude: float | None = None
    longitude: float | None = None
    accuracy: float | None = None
    altitude: float | None = None
    altitude_accuracy: float | None = None
    heading: float | None = None
    speed: float | None = None


class SetEmulatedMedia(Command[Empty]):
    METHOD: ClassVar[str] = "Emulation.setEmulatedMedia"
    media: str | None = None
    features: list[MediaFeature] | None = None


class SetTouchEmulationEnabled(Command[Empty]):
    METHOD: ClassVar[str] = "Emulation.setTouchEmulationEnabled"
    enabled: bool
    max_touch_points: int | None = None
