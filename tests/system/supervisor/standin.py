"""A process that behaves like a service towards its supervisor: `standin <name> <fault>`."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from types import FrameType


def end(_number: int, _frame: FrameType | None) -> None:
    sys.exit(0)


def listen(variable: str) -> socket.socket:
    return socket.create_server(("127.0.0.1", int(os.environ[variable])))


def main() -> None:
    name, fault = sys.argv[1:]
    print(f"{name} starts as {os.environ['HYPERKITTY_IDENTITY_KEY']}", flush=True)
    if fault == "crash":
        sys.exit("stand-in crashes")
    if fault == "settings":
        print("HYPERKITTY_X is not a setting", file=sys.stderr)
        sys.exit(2)
    if fault == "stubborn":
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    else:
        signal.signal(signal.SIGTERM, end)
    listeners = [listen(port) for port in ("HYPERKITTY_REST_PORT", "HYPERKITTY_GRPC_PORT") if name == "gateway"]
    if fault == "family":
        subprocess.Popen(["sleep", "600"])
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as notify:
        notify.sendto(b"READY=1", os.environ["NOTIFY_SOCKET"])
    signal.pause()
    del listeners


if __name__ == "__main__":
    main()
