"""The messaging service as a process: `python -m services.messaging`."""

from services.kit.run import main
from services.messaging.service import build

main("messaging", build)
