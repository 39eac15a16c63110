"""`python -m gateway`."""

from gateway.contract import GATEWAY
from gateway.service import build
from services.kit.run import main

main(GATEWAY, build)
