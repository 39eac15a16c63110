"""Which Chromium to run. Never a wrapper script: a shell that does not exec leaves the browser behind when killed."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

_SHELLS = (
    "/usr/lib/chromium/chromium-headless-shell",
    "/usr/lib64/chromium-browser/headless_shell",
    "/usr/lib/chromium-browser/headless_shell",
)
_FULL = (
    "/usr/lib/chromium/chromium",
    "/usr/lib64/chromium-browser/chromium-browser",
    "/usr/lib/chromium-browser/chromium-browser",
    "/opt/google/chrome/chrome",
)
_ELF = b"\x7fELF"


class ChromiumNotFound(Exception):
    """There is no Chromium to run; the text says where it was looked for."""


@dataclass(frozen=True)
class Binary:
    """A Chromium executable. The headless shell needs 66 MiB where full Chromium needs 162, and starts in a third."""

    path: Path
    is_shell: bool

    @property
    def name(self) -> str:
        """How a session names it."""
        return "chromium-headless-shell" if self.is_shell else "chromium"


def find(configured: Path | None = None, *, full: bool = False) -> Binary:
    """The headless shell where it is installed, full Chromium when `full` is asked (headed, or by a session).

    `configured` (HYPERKITTY_CHROMIUM) is used whatever is asked. Raises ChromiumNotFound.
    """
    if configured is not None:
        if not _is_program(configured):
            raise ChromiumNotFound(f"HYPERKITTY_CHROMIUM={configured} is not an executable program (a script is none)")
        return Binary(configured, is_shell="shell" in configured.name)
    candidates = [(path, False) for path in _FULL]
    if not full:
        candidates = [*((path, True) for path in _SHELLS), *candidates]
    for path, is_shell in candidates:
        if _is_program(Path(path)):
            return Binary(Path(path), is_shell)
    looked = ", ".join(path for path, _ in candidates)
    raise ChromiumNotFound(f"no Chromium found ({looked}); install chromium-headless-shell, or set HYPERKITTY_CHROMIUM")


def _is_program(path: Path) -> bool:
    try:
        with path.open("rb") as file:
            return os.access(path, os.X_OK) and file.read(4) == _ELF
    except OSError:
        return False
