"""CDP domain Target: the commands and events this product uses."""

from __future__ import annotations

from typing import ClassVar, Literal

from services.browser.cdp.message import CdpObject, Command, Empty, Event


class FilterEntry(CdpObject):
    exclude: bool | None = None
    type: str | None = None


class TargetInfo(CdpObject):
    target_id: str
    type: str
    title: str
    url: str
    parent_id: str | None = None
    opener_id: str | None = None
    opener_frame_id: str | None = None
    parent_frame_id: str | None = None
    browser_context_id: str | None = None
    subtype: str | None = None


class CreateTargetResult(CdpObject):
    target_id: str


class CreateTarget(Command[CreateTargetResult]):
    METHOD: ClassVar[str] = "Target.createTarget"
    url: str
    left: int | None = None
    top: int | None = None
    width: int | None = None
    height: int | None = None
    window_state: Literal["normal", "minimized", "maximized", "fullscreen"] | None = None
    browser_context_id: str | None = None
    enable_begin_frame_control: bool | None = None
    new_window: bool | None = None
    background: bool | None = None
    for_tab: bool | None = None
    hidden: bool | None = None
    focus: bool | None = None


class CloseTargetResult(CdpObject):
    success: bool


class CloseTarget(Command[CloseTargetResult]):
    METHOD: ClassVar[str] = "Target.closeTarget"
    target_id: str


class ActivateTarget(Command[Empty]):
    METHOD: ClassVar[str] = "Target.activateTarget"
    target_id: str


class SetAutoAttach(Command[Empty]):
    METHOD: ClassVar[str] = "Target.setAutoAttach"
    auto_attach: bool
    wait_for_debugger_on_start: bool
    flatten: bool | None = None
    filter: list[FilterEntry] | None = None


class GetTargetsResult(CdpObject):
    target_infos: list[TargetInfo]


class GetTargets(Command[GetTargetsResult]):
    METHOD: ClassVar[str] = "Target.getTargets"
    filter: list[FilterEntry] | None = None


class GetTargetInfoResult(CdpObject):
    target_info: TargetInfo


class GetTargetInfo(Command[GetTargetInfoResult]):
    METHOD: ClassVar[str] = "Target.getTargetInfo"
    target_id: str | None = None


class AttachToTargetResult(CdpObject):
    session_id: str


class AttachToTarget(Command[AttachToTargetResult]):
    METHOD: ClassVar[str] = "Target.attachToTarget"
    target_id: str
    flatten: bool | None = None


class DetachFromTarget(Command[Empty]):
    METHOD: ClassVar[str] = "Target.detachFromTarget"
    session_id: str | None = None
    target_id: str | None = None


class SetDiscoverTargets(Command[Empty]):
    METHOD: ClassVar[str] = "Target.setDiscoverTargets"
    discover: bool
    filter: list[FilterEntry] | None = None


class AttachedToTarget(Event):
    METHOD: ClassVar[str] = "Target.attachedToTarget"
    session_id: str
    target_info: TargetInfo
    waiting_for_debugger: bool


class DetachedFromTarget(Event):
    METHOD: ClassVar[str] = "Target.detachedFromTarget"
    session_id: str
    target_id: str | None = None


class TargetCreated(Event):
    METHOD: ClassVar[str] = "Target.targetCreated"
    target_info: TargetInfo


class TargetInfoChanged(Event):
    METHOD: ClassVar[str] = "Target.targetInfoChanged"
    target_info: TargetInfo


class TargetDestroyed(Event):
    METHOD: ClassVar[str] = "Target.targetDestroyed"
    target_id: str


class TargetCrashed(Event):
    METHOD: ClassVar[str] = "Target.targetCrashed"
    target_id: str
    status: str
    error_code: int
