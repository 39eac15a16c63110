"""`python -m services.browser`."""

from __future__ import annotations

from services.browser.build import build
from services.kit.run import main

main("browser", build)
