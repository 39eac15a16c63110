"""The closed catalogue of event categories, from the contract (SPEC §9)."""

from __future__ import annotations

from functools import cache

from hyperkitty.events.v1.events_pb2 import EventCategory
from hyperkitty.options.v1 import options_pb2

from services.kit.capabilities import operations


@cache
def catalogue() -> frozenset[str]:
    """Every category that may be published."""
    names = {
        value.GetOptions().Extensions[options_pb2.category]
        for value in EventCategory.DESCRIPTOR.values
        if value.number != EventCategory.EVENT_CATEGORY_UNSPECIFIED
    }
    for facts in operations().values():
        names.update({facts.event, facts.intent_event})
    return frozenset(names - {""})


def check_category(category: str) -> str:
    """`category` itself; raises ValueError for one that the contract does not list."""
    if category not in catalogue():
        raise ValueError(f"{category!r} is not in the contract's catalogue of event categories")
    return category


def default_failure(category: str) -> str:
    """The category that tells of a failed intent: `<root>.action.failed` where it exists, else ""."""
    failure = f"{category.split('.', 1)[0]}.action.failed"
    return failure if failure in catalogue() else ""
