"""DESIGN §3: what the contract must say of every operation and event, and the code of every event it publishes."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hyperkitty.browser.v1 import operations_pb2
from hyperkitty.events.v1.events_pb2 import EventCategory
from hyperkitty.options.v1 import options_pb2

from services.kit.capabilities import OperationFacts, capabilities, operations

TREE = Path(__file__).resolve().parents[2]
ROOTS = "agent|browser|search|message|auth|service"
LITERAL = re.compile(rf'"((?:{ROOTS})(?:\.[a-z_]+)+)"')

# Categories of the catalogue that nothing publishes yet. Later issues shorten this to empty.
UNPUBLISHED = {
    "agent.action.approval_requested",
    "agent.action.approved",
    "agent.action.denied",
    "browser.control.returned",
    "browser.control.taken",
}


def catalogue() -> set[str]:
    values = EventCategory.DESCRIPTOR.values
    listed = {str(value.GetOptions().Extensions[options_pb2.category]) for value in values if value.number}
    return listed | declared_by_operations()


def declared_by_operations() -> set[str]:
    return {facts.event for facts in operations().values()} | {
        facts.intent_event for facts in operations().values() if facts.write
    }


def published() -> set[str]:
    """Categories that stand in the code, and those that follow from the operations' options."""
    found = set[str]()
    for folder in ("services", "gateway"):
        for path in (TREE / folder).rglob("*.py"):
            found |= set(LITERAL.findall(path.read_text()))
    return found


@pytest.mark.parametrize("facts", operations().values(), ids=lambda facts: facts.name)
def test_an_operation_says_what_it_is(facts: OperationFacts) -> None:
    assert facts.effect in (options_pb2.EFFECT_READ, options_pb2.EFFECT_WRITE)
    assert facts.capability == facts.name
    assert facts.covering <= capabilities()
    assert facts.event.startswith("browser.")
    assert bool(facts.intent_event) == facts.write
    assert 1 <= facts.default_timeout_ms <= 120_000


def test_every_operation_has_a_result_of_its_number() -> None:
    asked = operations_pb2.BrowserOperation.DESCRIPTOR.oneofs_by_name["operation"].fields
    given = operations_pb2.BrowserResult.DESCRIPTOR.oneofs_by_name["result"].fields
    assert {field.name: field.number for field in asked} == {field.name: field.number for field in given}


def test_the_core_is_the_fifteen() -> None:
    core = [facts.name for facts in operations().values() if facts.core]
    assert (
        core
        == (
            "create_session close_session open_tab close_tab navigate back forward reload read_page query_element "
            "click type scroll screenshot extract_links"
        ).split()
    )


def test_every_published_category_is_in_the_catalogue() -> None:
    assert published() - catalogue() == set()


def test_every_category_is_published_or_stands_in_the_one_list() -> None:
    assert catalogue() - declared_by_operations() - published() == UNPUBLISHED
