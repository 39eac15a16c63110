"""The agent service as a process: `python -m services.agent`."""

from services.agent.service import build
from services.kit.run import main

main("agent", build)
