"""CDP domain Page: the commands and events this product uses."""

from __future__ import annotations

from typing import ClassVar, Literal

from msgspec import field

from services.browser.cdp.domains import dom, runtime
from services.browser.cdp.message import CdpObject, Command, Empty, Event


class NavigationEntry(CdpObject):
    id: int
    url: str
    user_typed_url: str = field(name="userTypedURL")
    title: str
    transition_type: str


class Viewport(CdpObject):
    x: float
    y: float
    width: float
    height: float
    scale: float


class LayoutViewport(CdpObject):
    page_x: int
    page_y: int
    client_width: int
    client_height: int


class VisualViewport(CdpObject):
    offset_x: float
    offset_y: float
    page_x: float
    page_y: float
    client_width: float
    client_height: float
    scale: float
    zoom: float | None = None


class Frame(CdpObject):
    id: str
    loader_id: str
    url: str
    security_origin: str
    mime_type: str
    parent_id: str | None = None
    name: str | None = None
    url_fragment: str | None = None
    unreachable_url: str | None = None


class FrameTree(CdpObject):
    frame: Frame
    child_frames: list[FrameTree] | None = None


class Enable(Command[Empty]):
    METHOD: ClassVar[str] = "Page.enable"
    enable_file_chooser_opened_event: bool | None = None


class NavigateResult(CdpObject):
    frame_id: str
    loader_id: str | None = None
    error_text: str | None = None
    is_download: bool | None = None


class Navigate(Command[NavigateResult]):
    METHOD: ClassVar[str] = "Page.navigate"
    url: str
    referrer: str | None = None
    transition_type: (
        Literal[
            "link",
            "typed",
            "address_bar",
            "auto_bookmark",
            "auto_subframe",
            "manual_subframe",
            "generated",
            "auto_toplevel",
            "form_submit",
            "reload",
            "keyword",
            "keyword_generated",
            "other",
        ]
        | None
    ) = None
    frame_id: str | None = None
    referrer_policy: (
        Literal[
            "noReferrer",
            "noReferrerWhenDowngrade",
            "origin",
            "originWhenCrossOrigin",
            "sameOrigin",
            "strictOrigin",
            "strictOriginWhenCrossOrigin",
            "unsafeUrl",
        ]
        | None
    ) = None


class NavigateToHistoryEntry(Command[Empty]):
    METHOD: ClassVar[str] = "Page.navigateToHistoryEntry"
    entry_id: int


class GetNavigationHistoryResult(CdpObject):
    current_index: int
    entries: list[NavigationEntry]


class GetNavigationHistory(Command[GetNavigationHistoryResult]):
    METHOD: ClassVar[str] = "Page.getNavigationHistory"


class Reload(Command[Empty]):
    METHOD: ClassVar[str] = "Page.reload"
    ignore_cache: bool | None = None
    script_to_evaluate_on_load: str | None = None
    loader_id: str | None = None


class StopLoading(Command[Empty]):
    METHOD: ClassVar[str] = "Page.stopLoading"


class Close(Command[Empty]):
    METHOD: ClassVar[str] = "Page.close"


class CaptureScreenshotResult(CdpObject):
    data: bytes


class CaptureScreenshot(Command[CaptureScreenshotResult]):
    METHOD: ClassVar[str] = "Page.captureScreenshot"
    format: Literal["jpeg", "png", "webp"] | None = None
    quality: int | None = None
    clip: Viewport | None = None
    from_surface: bool | None = None
    capture_beyond_viewport: bool | None = None
    optimize_for_speed: bool | None = None


class PrintToPDFResult(CdpObject):
    data: bytes
    stream: str | None = None


class PrintToPDF(Command[PrintToPDFResult]):
    METHOD: ClassVar[str] = "Page.printToPDF"
    landscape: bool | None = None
    display_header_footer: bool | None = None
    print_background: bool | None = None
    scale: float | None = None
    paper_width: float | None = None
    paper_height: float | None = None
    margin_top: float | None = None
    margin_bottom: float | None = None
    margin_left: float | None = None
    margin_right: float | None = None
    page_ranges: str | None = None
    header_template: str | None = None
    footer_template: str | None = None
    prefer_css_page_size: bool | None = field(default=None, name="preferCSSPageSize")
    transfer_mode: Literal["ReturnAsBase64", "ReturnAsStream"] | None = None
    generate_tagged_pdf: bool | None = field(default=None, name="generateTaggedPDF")
    generate_document_outline: bool | None = None


class GetLayoutMetricsResult(CdpObject):
    css_layout_viewport: LayoutViewport
    css_visual_viewport: VisualViewport
    css_content_size: dom.Rect


class GetLayoutMetrics(Command[GetLayoutMetricsResult]):
    METHOD: ClassVar[str] = "Page.getLayoutMetrics"


class GetFrameTreeResult(CdpObject):
    frame_tree: FrameTree


class GetFrameTree(Command[GetFrameTreeResult]):
    METHOD: ClassVar[str] = "Page.getFrameTree"


class CreateIsolatedWorldResult(CdpObject):
    execution_context_id: int


class CreateIsolatedWorld(Command[CreateIsolatedWorldResult]):
    METHOD: ClassVar[str] = "Page.createIsolatedWorld"
    frame_id: str
    world_name: str | None = None
    grant_univeral_access: bool | None = None
    content_security_policy: str | None = None


class AddScriptToEvaluateOnNewDocumentResult(CdpObject):
    identifier: str


class AddScriptToEvaluateOnNewDocument(Command[AddScriptToEvaluateOnNewDocumentResult]):
    METHOD: ClassVar[str] = "Page.addScriptToEvaluateOnNewDocument"
    source: str
    world_name: str | None = None
    include_command_line_api: bool | None = field(default=None, name="includeCommandLineAPI")
    run_immediately: bool | None = None


class RemoveScriptToEvaluateOnNewDocument(Command[Empty]):
    METHOD: ClassVar[str] = "Page.removeScriptToEvaluateOnNewDocument"
    identifier: str


class SetLifecycleEventsEnabled(Command[Empty]):
    METHOD: ClassVar[str] = "Page.setLifecycleEventsEnabled"
    enabled: bool


class HandleJavaScriptDialog(Command[Empty]):
    METHOD: ClassVar[str] = "Page.handleJavaScriptDialog"
    accept: bool
    prompt_text: str | None = None


class SetInterceptFileChooserDialog(Command[Empty]):
    METHOD: ClassVar[str] = "Page.setInterceptFileChooserDialog"
    enabled: bool
    cancel: bool | None = None


class SetPrerenderingAllowed(Command[Empty]):
    METHOD: ClassVar[str] = "Page.setPrerenderingAllowed"
    is_allowed: bool


class BringToFront(Command[Empty]):
    METHOD: ClassVar[str] = "Page.bringToFront"


class FrameAttached(Event):
    METHOD: ClassVar[str] = "Page.frameAttached"
    frame_id: str
    parent_frame_id: str
    stack: runtime.StackTrace | None = None


class FrameDetached(Event):
    METHOD: ClassVar[str] = "Page.frameDetached"
    frame_id: str
    reason: str


class FrameNavigated(Event):
    METHOD: ClassVar[str] = "Page.frameNavigated"
    frame: Frame
    type: str


class NavigatedWithinDocument(Event):
    METHOD: ClassVar[str] = "Page.navigatedWithinDocument"
    frame_id: str
    url: str
    navigation_type: str


class FrameStartedNavigating(Event):
    METHOD: ClassVar[str] = "Page.frameStartedNavigating"
    frame_id: str
    url: str
    loader_id: str
    navigation_type: str


class FrameStartedLoading(Event):
    METHOD: ClassVar[str] = "Page.frameStartedLoading"
    frame_id: str


class FrameStoppedLoading(Event):
    METHOD: ClassVar[str] = "Page.frameStoppedLoading"
    frame_id: str


class FrameRequestedNavigation(Event):
    METHOD: ClassVar[str] = "Page.frameRequestedNavigation"
    frame_id: str
    reason: str
    url: str
    disposition: str


class LifecycleEvent(Event):
    METHOD: ClassVar[str] = "Page.lifecycleEvent"
    frame_id: str
    loader_id: str
    name: str
    timestamp: float


class JavascriptDialogOpening(Event):
    METHOD: ClassVar[str] = "Page.javascriptDialogOpening"
    url: str
    frame_id: str
    message: str
    type: str
    has_browser_handler: bool
    default_prompt: str | None = None


class JavascriptDialogClosed(Event):
    METHOD: ClassVar[str] = "Page.javascriptDialogClosed"
    frame_id: str
    result: bool
    user_input: str


class WindowOpen(Event):
    METHOD: ClassVar[str] = "Page.windowOpen"
    url: str
    window_name: str
    window_features: list[str]
    user_gesture: bool


class FileChooserOpened(Event):
    METHOD: ClassVar[str] = "Page.fileChooserOpened"
    frame_id: str
    mode: str
    backend_node_id: int | None = None


class DownloadWillBegin(Event):
    METHOD: ClassVar[str] = "Page.downloadWillBegin"
    frame_id: str
    guid: str
    url: str
    suggested_filename: str


class DocumentOpened(Event):
    METHOD: ClassVar[str] = "Page.documentOpened"
    frame: Frame
