"""CDP domain Input: the commands and events this product uses."""

from __future__ import annotations

from typing import ClassVar, Literal

from msgspec import field

from services.browser.cdp.message import CdpObject, Command, Empty, Event


class TouchPoint(CdpObject):
    x: float
    y: float
    radius_x: float | None = None
    radius_y: float | None = None
    rotation_angle: float | None = None
    force: float | None = None
    tangential_pressure: float | None = None
    tilt_x: float | None = None
    tilt_y: float | None = None
    twist: int | None = None
    id: float | None = None


class DragDataItem(CdpObject):
    mime_type: str
    data: str
    title: str | None = None
    base_url: str | None = field(default=None, name="baseURL")


class DragData(CdpObject):
    items: list[DragDataItem]
    drag_operations_mask: int
    files: list[str] | None = None


class DispatchMouseEvent(Command[Empty]):
    METHOD: ClassVar[str] = "Input.dispatchMouseEvent"
    type: Literal["mousePressed", "mouseReleased", "mouseMoved", "mouseWheel"]
    x: float
    y: float
    modifiers: int | None = None
    timestamp: float | None = None
    button: Literal["none", "left", "middle", "right", "back", "forward"] | None = None
    buttons: int | None = None
    click_count: int | None = None
    force: float | None = None
    tangential_pressure: float | None = None
    tilt_x: float | None = None
    tilt_y: float | None = None
    twist: int | None = None
    delta_x: float | None = None
    delta_y: float | None = None
    pointer_type: Literal["mouse", "pen"] | None = None


class DispatchKeyEvent(Command[Empty]):
    METHOD: ClassVar[str] = "Input.dispatchKeyEvent"
    type: Literal["keyDown", "keyUp", "rawKeyDown", "char"]
    modifiers: int | None = None
    timestamp: float | None = None
    text: str | None = None
    unmodified_text: str | None = None
    key_identifier: str | None = None
    code: str | None = None
    key: str | None = None
    windows_virtual_key_code: int | None = None
    native_virtual_key_code: int | None = None
    auto_repeat: bool | None = None
    is_keypad: bool | None = None
    is_system_key: bool | None = None
    location: int | None = None
    commands: list[str] | None = None


class InsertText(Command[Empty]):
    METHOD: ClassVar[str] = "Input.insertText"
    text: str


class DispatchTouchEvent(Command[Empty]):
    METHOD: ClassVar[str] = "Input.dispatchTouchEvent"
    type: Literal["touchStart", "touchEnd", "touchMove", "touchCancel"]
    touch_points: list[TouchPoint]
    modifiers: int | None = None
    timestamp: float | None = None


class DispatchDragEvent(Command[Empty]):
    METHOD: ClassVar[str] = "Input.dispatchDragEvent"
    type: Literal["dragEnter", "dragOver", "drop", "dragCancel"]
    x: float
    y: float
    data: DragData
    modifiers: int | None = None


class SetInterceptDrags(Command[Empty]):
    METHOD: ClassVar[str] = "Input.setInterceptDrags"
    enabled: bool


class DragIntercepted(Event):
    METHOD: ClassVar[str] = "Input.dragIntercepted"
    data: DragData
