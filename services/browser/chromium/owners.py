"""Which user a session's Chromium runs as: its own where the service is root, the service's otherwise.

The uids lie in 60706–61183, which systemd's table of uid ranges leaves unused and which exist in any container
that maps 65,536. A uid is claimed machine-wide by an abstract socket (unix(7)), which the kernel gives back when
the service dies: two homes on one machine never share one.
"""

from __future__ import annotations

import os
import secrets
import socket
from dataclasses import dataclass, field

FIRST = 60706
LAST = 61183


class NoOwnerLeft(Exception):
    """Every uid of the range is in use."""


@dataclass
class Owner:
    """A user that runs one session."""

    uid: int
    gid: int
    _claim: socket.socket | None = field(default=None, repr=False)

    def release(self) -> None:
        """Give the uid back, once nothing runs under it and nothing of it is left."""
        if self._claim is not None:
            self._claim.close()
            self._claim = None


def claim() -> Owner:
    """A user for one session. Raises NoOwnerLeft."""
    if os.geteuid() != 0:
        return Owner(os.geteuid(), os.getegid())
    count = LAST - FIRST + 1
    start = secrets.randbelow(count)
    for step in range(count):
        uid = FIRST + (start + step) % count
        claimed = _claim(uid)
        if claimed is not None:
            return Owner(uid, uid, claimed)
    raise NoOwnerLeft(f"all {count} users for sessions are in use")


def _claim(uid: int) -> socket.socket | None:
    name = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    try:
        name.bind(f"\0hyperkitty-uid-{uid}")
    except OSError:
        name.close()
        return None
    return name
