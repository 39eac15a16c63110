"""What results say of elements."""

from __future__ import annotations

from hyperkitty.browser.v1 import targets_pb2 as pb

from services.browser.page.results import Element


def element_to_proto(element: Element) -> pb.ElementDescription:
    """An element as callers see it; its box is in its own frame's viewport where that is the main frame's."""
    box = element.box
    return pb.ElementDescription(
        ref=element.ref,
        role=element.role,
        name=element.name,
        tag=element.tag,
        text=element.text,
        value=element.value,
        visible=element.visible,
        enabled=element.enabled,
        box=pb.Rectangle(x=box.x, y=box.y, width=box.width, height=box.height),
        attributes=element.attributes,
        states=element.states,
    )
