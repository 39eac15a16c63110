"""drag: by HTML's data transfer and by the pointer alone, as the page saw it."""

from __future__ import annotations

import pytest
from hyperkitty.browser.v1 import operations_pb2 as pb
from hyperkitty.browser.v1.targets_pb2 import Point, Target
from hyperkitty.operations.v1.errors_pb2 import ErrorCode

from services.kit.errors import Refusal
from tests.integration.page.driving import Driver

STYLE = "<style>body{margin:0} div{position:absolute;width:100px;height:100px} #to{left:400px;top:300px}</style>"
HTML5 = f"""{STYLE}<div id=from draggable=true>Card</div><div id=to>Bin</div><script>
window.log = [];
for (const type of ['dragstart', 'dragenter', 'dragover', 'drop', 'dragend'])
  addEventListener(type, (e) => (log.at(-1) || [])[0] === type || log.push([type, e.target.id, e.isTrusted]));
addEventListener('dragstart', (e) => e.dataTransfer.setData('text/plain', 'the card'));
to.ondragover = (e) => e.preventDefault();
to.ondrop = (e) => {{ e.preventDefault(); to.textContent = e.dataTransfer.getData('text/plain') }};
</script>"""
POINTER = f"""{STYLE}<div id=from style='touch-action:none'>Handle</div><div id=to>Place</div><script>
let held = false;
from.onpointerdown = (e) => {{ held = true; from.setPointerCapture(e.pointerId) }};
from.onpointermove = (e) => {{ if (!held) return;
  from.style.left = e.clientX - 50 + 'px'; from.style.top = e.clientY - 50 + 'px' }};
from.onpointerup = () => {{ held = false }};
</script>"""


def dragging(source: str = "#from", destination: str = "#to") -> pb.DragOperation:
    return pb.DragOperation(source=Target(selector=source), destination=Target(selector=destination))


async def test_with_data_transfer(driver: Driver) -> None:
    await driver.show(HTML5)
    result = await driver.run(dragging())
    assert (result.source.attributes["id"], result.destination.attributes["id"]) == ("from", "to")
    assert await driver.page_says("to.textContent") == "the card"
    log = await driver.page_says("log")
    assert log[0] == ["dragstart", "from", True]
    assert ["drop", "to", True] in log
    assert all(trusted for _, _, trusted in log)
    await driver.run(pb.ClickOperation(target=Target(selector="#to")))
    assert (await driver.seen("click"))[-1]["id"] == "to"


async def test_by_the_pointer_alone(driver: Driver) -> None:
    await driver.show(POINTER)
    await driver.run(dragging())
    assert await driver.page_says("[from.style.left, from.style.top, held]") == ["400px", "300px", False]
    downs = await driver.seen("pointerdown", "pointerup")
    assert [(e["type"], e["x"], e["y"], e["trusted"]) for e in downs] == [
        ("pointerdown", 50, 50, True), ("pointerup", 450, 350, True),
    ]  # fmt: skip
    # A browser may take several moves of one frame together.
    assert len(await driver.seen("pointermove")) >= 3


async def test_to_a_point_when_the_page_prevents_its_drag(driver: Driver) -> None:
    await driver.show(POINTER.replace("id=from", "id=from draggable=true ondragstart='event.preventDefault()'", 1))
    operation = pb.DragOperation(source=Target(selector="#from"), destination=Target(point=Point(x=250, y=150)))
    await driver.run(operation)
    assert await driver.page_says("[from.style.left, from.style.top]") == ["200px", "100px"]


@pytest.mark.parametrize("missing", ["source", "destination"])
async def test_what_is_not_there_is_refused_and_nothing_is_pressed(driver: Driver, missing: str) -> None:
    await driver.show(POINTER)
    names = {"source": "#from", "destination": "#to", missing: "#none"}
    with pytest.raises(Refusal) as caught:
        await driver.run(dragging(**names), seconds=1.0)
    assert caught.value.code == ErrorCode.ERROR_CODE_NOT_FOUND
    assert await driver.seen("pointerdown") == []
