"""Where the reading of a page's content stands, and cursors by which it is gone on with."""

from __future__ import annotations

import secrets
from collections import OrderedDict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from hyperkitty.operations.v1.errors_pb2 import ErrorCode

from services.kit.errors import Refusal

if TYPE_CHECKING:
    from services.browser.page.frames import Frame

MOST_CURSORS = 16

Form = Literal["text", "markdown", "html", "snapshot"]


@dataclass(slots=True)
class Place:
    """Where the reading stands in one frame."""

    frame: Frame
    loader_id: str
    walk: str = ""
    scope: str = ""
    depth: int = 0


@dataclass(slots=True)
class Reading:
    """A content that is being read: the frames from the outermost in."""

    form: Form
    interactive_only: bool = False
    places: list[Place] = field(default_factory=list[Place])


class Cursors:
    """Readings that can be gone on with. Bounded: the oldest are forgotten."""

    def __init__(self) -> None:
        self._readings: OrderedDict[str, Reading] = OrderedDict()

    def keep(self, reading: Reading) -> str:
        """A cursor for where a reading stands."""
        cursor = secrets.token_hex(8)
        self._readings[cursor] = reading
        if len(self._readings) > MOST_CURSORS:
            self._readings.popitem(last=False)
        return cursor

    def take(self, cursor: str, form: Form) -> Reading:
        """The reading of a cursor, which is good for once. Raises Refusal."""
        reading = self._readings.pop(cursor, None)
        if reading is None or reading.form != form:
            raise Refusal(
                ErrorCode.ERROR_CODE_INVALID_ARGUMENTS,
                f"the cursor {cursor[:40]!r} is not one of this tab for {form}, or was used",
                hint="Call read_page without a cursor to begin anew.",
                details={"cursor": cursor[:40]},
            )
        return reading
