"""CDP domain DOM: the commands and events this product uses."""

from __future__ import annotations

from typing import ClassVar, Literal

from msgspec import field

from services.browser.cdp.domains import runtime
from services.browser.cdp.message import CdpObject, Command, Empty


class Rect(CdpObject):
    x: float
    y: float
    width: float
    height: float


class Node(CdpObject):
    node_id: int
    backend_node_id: int
    node_type: int
    node_name: str
    local_name: str
    node_value: str
    children: list[Node] | None = None
    attributes: list[str] | None = None
    document_url: str | None = field(default=None, name="documentURL")
    frame_id: str | None = None
    content_document: Node | None = None
    shadow_roots: list[Node] | None = None


class BoxModel(CdpObject):
    content: list[float]
    padding: list[float]
    border: list[float]
    margin: list[float]
    width: int
    height: int


class Enable(Command[Empty]):
    METHOD: ClassVar[str] = "DOM.enable"
    include_whitespace: Literal["none", "all"] | None = None


class GetDocumentResult(CdpObject):
    root: Node


class GetDocument(Command[GetDocumentResult]):
    METHOD: ClassVar[str] = "DOM.getDocument"
    depth: int | None = None
    pierce: bool | None = None


class DescribeNodeResult(CdpObject):
    node: Node


class DescribeNode(Command[DescribeNodeResult]):
    METHOD: ClassVar[str] = "DOM.describeNode"
    node_id: int | None = None
    backend_node_id: int | None = None
    object_id: str | None = None
    depth: int | None = None
    pierce: bool | None = None


class ResolveNodeResult(CdpObject):
    object: runtime.RemoteObject


class ResolveNode(Command[ResolveNodeResult]):
    METHOD: ClassVar[str] = "DOM.resolveNode"
    node_id: int | None = None
    backend_node_id: int | None = None
    object_group: str | None = None
    execution_context_id: int | None = None


class GetContentQuadsResult(CdpObject):
    quads: list[list[float]]


class GetContentQuads(Command[GetContentQuadsResult]):
    METHOD: ClassVar[str] = "DOM.getContentQuads"
    node_id: int | None = None
    backend_node_id: int | None = None
    object_id: str | None = None


class GetBoxModelResult(CdpObject):
    model: BoxModel


class GetBoxModel(Command[GetBoxModelResult]):
    METHOD: ClassVar[str] = "DOM.getBoxModel"
    node_id: int | None = None
    backend_node_id: int | None = None
    object_id: str | None = None


class ScrollIntoViewIfNeeded(Command[Empty]):
    METHOD: ClassVar[str] = "DOM.scrollIntoViewIfNeeded"
    node_id: int | None = None
    backend_node_id: int | None = None
    object_id: str | None = None
    rect: Rect | None = None


class Focus(Command[Empty]):
    METHOD: ClassVar[str] = "DOM.focus"
    node_id: int | None = None
    backend_node_id: int | None = None
    object_id: str | None = None


class SetFileInputFiles(Command[Empty]):
    METHOD: ClassVar[str] = "DOM.setFileInputFiles"
    files: list[str]
    node_id: int | None = None
    backend_node_id: int | None = None
    object_id: str | None = None


class GetFrameOwnerResult(CdpObject):
    backend_node_id: int
    node_id: int | None = None


class GetFrameOwner(Command[GetFrameOwnerResult]):
    METHOD: ClassVar[str] = "DOM.getFrameOwner"
    frame_id: str


class GetNodeForLocationResult(CdpObject):
    backend_node_id: int
    frame_id: str
    node_id: int | None = None


class GetNodeForLocation(Command[GetNodeForLocationResult]):
    METHOD: ClassVar[str] = "DOM.getNodeForLocation"
    x: int
    y: int
    include_user_agent_shadow_dom: bool | None = field(default=None, name="includeUserAgentShadowDOM")
    ignore_pointer_events_none: bool | None = None
