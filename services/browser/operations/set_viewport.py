"""set_viewport: another size of a tab's visible part."""

from __future__ import annotations

import asyncio

from hyperkitty.browser.v1.operations_pb2 import SetViewportOperation, SetViewportResult

from services.browser.cdp.domains import emulation
from services.browser.cdp.message import Command, Empty
from services.browser.operations.reads import reading
from services.browser.operations.registry import handles
from services.browser.tab import Tab
from services.kit.deadlines import current_budget

TOUCH_POINTS = 5


@handles(SetViewportOperation)
async def set_viewport(tab: Tab, operation: SetViewportOperation) -> SetViewportResult:
    """Set it, and see to it that pages are laid out anew."""
    viewport = operation.viewport
    viewport.device_scale_factor = viewport.device_scale_factor or 1
    commands: list[Command[Empty]] = [
        emulation.SetDeviceMetricsOverride(
            width=viewport.width,
            height=viewport.height,
            device_scale_factor=viewport.device_scale_factor,
            mobile=viewport.mobile,
        ),
        emulation.SetTouchEmulationEnabled(
            enabled=viewport.touch, max_touch_points=TOUCH_POINTS if viewport.touch else None
        ),
    ]
    with reading(tab):
        seconds = current_budget().remaining()
        await asyncio.gather(*(tab.page.wire.post(tab.cdp, command, seconds) for command in commands))
    tab.emulated.viewport.CopyFrom(viewport)
    return SetViewportResult(viewport=viewport)
