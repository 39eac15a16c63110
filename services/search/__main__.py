"""The search service as a process: `python -m services.search`."""

from services.kit.run import main
from services.search.service import build

main("search", build)
