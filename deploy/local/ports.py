"""Choosing ports on 127.0.0.1."""

from __future__ import annotations

import os
import random
import socket

# Below Linux's ephemeral range (32768 and up), so that no outgoing connection takes a port while its owner restarts.
FREE_RANGE = range(20000, 32000)
TRIES = 200


class PortRefused(Exception):
    """A port that was asked for is malformed or taken; the message names it."""


def choose(variable: str, default: int, taken: set[int]) -> tuple[int, bool]:
    """The port for the setting `variable`, and whether it replaces a default that is in use.

    Unset: the default, or a free one when that is taken. Set to 0: a free one. Set otherwise: that one or PortRefused.
    `taken` holds ports already given out by this call's family; the chosen one is added.
    """
    text = os.environ.get(variable, "")
    if not text:
        free = default not in taken and is_free(default)
        port = default if free else find_free(taken)
        taken.add(port)
        return port, not free
    if not (text.isascii() and text.isdigit()) or int(text) > 65535:
        raise PortRefused(f"{variable}={text} is not a port (0 to 65535)")
    port = int(text) or find_free(taken)
    if port in taken or not is_free(port):
        raise PortRefused(f"{variable}={port}: port {port} is taken")
    taken.add(port)
    return port, False


def find_free(taken: set[int]) -> int:
    """A port in FREE_RANGE that nothing listens on; random, so that two systems starting at once rarely meet."""
    for _ in range(TRIES):
        port = random.choice(FREE_RANGE)
        if port not in taken and is_free(port):
            return port
    raise PortRefused(f"no free port found between {FREE_RANGE.start} and {FREE_RANGE.stop}")


def is_free(port: int) -> bool:
    """Whether a server could listen on the port now; a connection in TIME_WAIT does not count against it."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
            probe.listen(1)
        except OSError:
            return False
    return True
