"""Targets that are hidden, off screen, moving, disabled, late (tests/cases/21)."""

from __future__ import annotations

import time

import pytest
from hyperkitty.operations.v1.errors_pb2 import ErrorCode

from services.kit.errors import Refusal
from tests.integration.page.driving import Driver

CASE = "21-invisible-targets"


@pytest.mark.parametrize(
    ("target", "reason"),
    [
        ("zero", "not_visible"),
        ("none", "not_visible"),
        ("vis", "not_visible"),
        ("off", "out_of_viewport"),
        ("dis", "disabled"),
    ],
)
async def test_what_cannot_be_clicked_says_why(driver: Driver, target: str, reason: str) -> None:
    await driver.case(CASE)
    started = time.perf_counter()
    with pytest.raises(Refusal) as caught:
        await driver.click(1.0, selector=f"#{target}")
    assert time.perf_counter() - started < 2.0
    assert caught.value.code == ErrorCode.ERROR_CODE_NOT_INTERACTABLE
    assert caught.value.details["reason"] == reason
    assert await driver.page_says("log.textContent") == ""


@pytest.mark.parametrize("target", ["fold", "clip", "move", "late", "trans"])
async def test_what_can_be_clicked_is(driver: Driver, target: str) -> None:
    await driver.case(CASE)
    await driver.click(5.0, selector=f"#{target}")
    assert await driver.page_says("log.textContent") == f"{target}\n"
