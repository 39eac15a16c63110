"""The in-page scripts as one expression, for a frame's isolated world. Evaluating it twice does nothing."""

from __future__ import annotations

from functools import cache
from pathlib import Path

WORLD = "hyperkitty"
"""Name of the isolated world; the page's own scripts cannot reach into it."""

ENTRY = "__hyperkitty"
"""The one global of that world."""

# A script may use what stands in those before it.
ORDER = (
    "dom",
    "visibility",
    "roles",
    "names",
    "states",
    "refs",
    "outline",
    "snapshot",
    "hidden",
    "writers",
    "markdown",
    "content",
    "links",
    "targets",
    "geometry",
    "guard",
    "actionability",
    "typing",
    "finding",
    "choosing",
    "synthetic",
    "scrolling",
    "storage",
    "run",
)

CALL = (
    f"function (name, args) {{ const run = Object.hasOwn(globalThis, '{ENTRY}') && {ENTRY};"
    " return run ? run.run(name, args) : { missing: true }; }"
)
"""Runs one of the scripts' functions; `missing` when they are not there yet."""

OWN_FRAME = f"function (id) {{ {ENTRY}.ownFrame(this, id); }}"
"""Called on a frame's owner element: tells the world of its document which frame it owns."""

ELEMENT = f"function (handle) {{ return {ENTRY}.elementOfHandle(handle); }}"
"""The element of a handle, as an object of its world."""


@cache
def bundle() -> str:
    """All scripts in one function scope."""
    folder = Path(__file__).parent / "scripts"
    body = "\n".join((folder / f"{name}.js").read_text(encoding="utf-8") for name in ORDER)
    return (
        f"if (!Object.hasOwn(globalThis, '{ENTRY}')) {{ (() => {{ 'use strict';\n{body}\nlisten();\n"
        f"Object.defineProperty(globalThis, '{ENTRY}', {{ value: Object.freeze("
        "{ run, ownFrame, elementOfHandle }) });\n})(); }"
    )
