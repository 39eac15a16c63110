"""fill_form: every kind of control, what the page saw, what it holds in the end."""

from __future__ import annotations

from typing import Any

import pytest
from hyperkitty.browser.v1 import operations_pb2 as pb
from hyperkitty.browser.v1.targets_pb2 import Target
from hyperkitty.operations.v1.errors_pb2 import ErrorCode

from services.kit.errors import Refusal
from tests.integration.page.driving import Driver

FORM = """<form id=f action=/sent><label>Name <input id=n name=n value=old></label>
<label>About <textarea id=t name=t></textarea></label>
<label>Size <select id=s name=s><option value=1>Small<option value=2>Large</select></label>
<label>News <input type=checkbox id=c name=c></label><label>Born <input type=date id=d name=d></label>
<label>How much <input type=range id=r name=r min=0 max=10></label><button>Send</button></form>"""


async def fill(driver: Driver, *, submit: bool = False, values: dict[str, str]) -> pb.FillFormResult:
    fields = [pb.FormField(target=Target(selector=f"#{name}"), value=value) for name, value in values.items()]
    return await driver.run(pb.FillFormOperation(fields=fields, submit=submit))


async def test_every_kind_of_control(driver: Driver) -> None:
    await driver.show(FORM)
    text = "two\nlines and emoji 🙂"
    result = await fill(driver, values={"n": "Ada", "t": text, "s": "Large", "c": "true", "d": "2024-02-29", "r": "7"})
    assert [field.value for field in result.fields] == ["Ada", text, "Large", "true", "2024-02-29", "7"]
    assert await driver.page_says("[n.value, t.value, s.value, c.checked, d.value, r.value]") == [
        "Ada", text, "2", True, "2024-02-29", "7",
    ]  # fmt: skip
    assert driver.changed.synthetic
    inserted = [event for event in await driver.seen("input") if event["id"] in ("n", "t") and event["data"]]
    assert next((event["data"], event["trusted"]) for event in inserted) == ("Ada", True)
    assert all(event["trusted"] for event in await driver.seen("click", "keydown"))


async def test_submit_clicks_the_forms_button_and_waits(driver: Driver) -> None:
    driver.site.put("/sent", "<title>Sent</title>")
    await driver.show(FORM)
    await fill(driver, submit=True, values={"n": "Ada", "c": "true"})
    assert driver.changed.title == "Sent"
    assert driver.changed.url.endswith("/sent?n=Ada&t=&s=1&c=on&d=&r=5")


async def test_a_page_that_owns_its_model_sees_the_text(driver: Driver) -> None:
    await driver.case("13-controlled-input")
    target = await driver.page_says("document.querySelector('input').id")
    assert target
    result = await fill(driver, values={target: "Ada"})
    assert result.fields[0].value == "Ada"


@pytest.mark.parametrize(
    ("values", "code"),
    [
        ({"d": "29 February"}, ErrorCode.ERROR_CODE_INVALID_ARGUMENTS),
        ({"c": "perhaps"}, ErrorCode.ERROR_CODE_INVALID_ARGUMENTS),
        ({"s": "Medium"}, ErrorCode.ERROR_CODE_NOT_FOUND),
    ],
    ids=["date", "box", "list"],
)
async def test_what_a_control_does_not_take_is_refused(driver: Driver, values: dict[str, Any], code: int) -> None:
    await driver.show(FORM)
    with pytest.raises(Refusal) as caught:
        await fill(driver, values=values)
    assert caught.value.code == code
    assert await driver.page_says("[s.value, c.checked, d.value]") == ["1", False, ""]


async def test_a_control_that_does_not_keep_it_is_told(driver: Driver) -> None:
    await driver.show("<input id=n><script>n.oninput = () => { n.value = '' }</script>")
    with pytest.raises(Refusal) as caught:
        await fill(driver, values={"n": "Ada"})
    assert caught.value.details["reason"] == "not_filled"
