"""The health service as a process: `python -m services.health`."""

from services.health.service import build
from services.kit.run import main

main("health", build)
