"""What the scripts in a page, and the code that calls them, must not do (SPEC §4)."""

from __future__ import annotations

import re
from pathlib import Path

from services.browser.page import scripts_bundle

BROWSER = Path(__file__).resolve().parents[2] / "services" / "browser"
SCRIPTS = sorted((BROWSER / "page" / "scripts").glob("*.js"))

FORBIDDEN_IN_SCRIPTS = {
    "clicks of their own": r"\.click\(",
    "events of their own": r"dispatchEvent|new (?:Mouse|Pointer|Keyboard|Input)?Event\(",
    "values set": r"\.(?:value|checked|selected|selectedIndex|innerHTML|innerText|textContent|outerHTML)\s*=(?!=)",
    "attributes set": r"\.(?:setAttribute|removeAttribute|toggleAttribute|classList|dataset)\b",
    "nodes added or moved": r"\.(?:append|appendChild|insertBefore|prepend|replaceWith|insertAdjacent\w+)\(",
    "commands of the editor": r"execCommand|requestSubmit|\.submit\(",
    "code from strings": r"\beval\(|new Function",
    "time alone": r"setInterval",
    "the page's network": r"\bfetch\(|XMLHttpRequest|sendBeacon|new WebSocket",
}
FORBIDDEN_IN_PYTHON = {
    "the accessibility tree of the whole page": r"getFullAXTree|GetFullAXTree|Accessibility\.",
    "bare sleeps": r"asyncio\.sleep\(|time\.sleep\(",
}

# What no input device can do stands in one script, and results say so (SPEC §4, "Acting").
SYNTHETIC = "synthetic.js"


def without_comments(source: str) -> str:
    return re.sub(r"(?m)^\s*//.*$|\s//\s.*$", "", source)


def test_scripts_only_look() -> None:
    found = [
        f"{path.name}: {what}"
        for path in SCRIPTS
        for what, pattern in FORBIDDEN_IN_SCRIPTS.items()
        if path.name != SYNTHETIC and re.search(pattern, without_comments(path.read_text(encoding="utf-8")))
    ]
    assert found == []


def test_the_service_does_not_ask_for_the_whole_tree_nor_sleeps() -> None:
    found = [
        f"{path.relative_to(BROWSER)}: {what}"
        for path in [*(BROWSER / "page").rglob("*.py"), *(BROWSER / "operations").rglob("*.py")]
        for what, pattern in FORBIDDEN_IN_PYTHON.items()
        if re.search(pattern, path.read_text(encoding="utf-8"))
    ]
    assert found == []


def test_page_scripts_run_in_the_isolated_world_only() -> None:
    """Evaluations name a context, and only world.py makes them."""
    callers = [
        path.name
        for path in [*(BROWSER / "page").rglob("*.py"), *(BROWSER / "operations").rglob("*.py")]
        if re.search(r"runtime\.(?:Evaluate|CallFunctionOn)\(", path.read_text(encoding="utf-8"))
    ]
    assert callers == ["world.py"]
    world = (BROWSER / "page" / "world.py").read_text(encoding="utf-8")
    calls = [
        world[found.end() : found.end() + 250]
        for found in re.finditer(r"runtime\.(?:Evaluate|CallFunctionOn)\(", world)
    ]
    assert calls
    assert all(re.search(r"context_id=context|object_id=node", call) for call in calls)


def test_every_script_is_in_the_bundle_and_small() -> None:
    assert sorted(scripts_bundle.ORDER) == sorted(path.stem for path in SCRIPTS)
    for path in SCRIPTS:
        lines = path.read_text(encoding="utf-8").splitlines()
        assert lines[0].startswith("// "), path.name
        assert len(lines) <= 200, path.name
        assert max(map(len, lines)) <= 140, path.name
