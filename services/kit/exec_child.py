"""Becomes another program that dies with the process that asked for it.

Run as `python -I -S exec_child.py <parent pid> <uid or -> <gid or -> <program> <argument>…`.
A wrapper, because code between fork and exec (preexec_fn) is unsafe beside gRPC's threads (DESIGN §10).
Stands alone: it is run without the tree on its path.
"""

import ctypes
import os
import signal
import sys

_PR_SET_PDEATHSIG = 1


def _die_with_parent(parent: int) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "prctl(PR_SET_PDEATHSIG)")
    # The parent may have died before the signal was asked for; then nobody would ever send it.
    if os.getppid() != parent:
        raise SystemExit(f"exec_child: parent {parent} is gone")


def main() -> None:
    parent, uid, gid, program = int(sys.argv[1]), sys.argv[2], sys.argv[3], sys.argv[4]
    if gid != "-":
        os.setgroups([])
        os.setgid(int(gid))
    if uid != "-":
        os.setuid(int(uid))
    # A uid change clears the death signal, so it is asked for last.
    _die_with_parent(parent)
    os.execvp(program, sys.argv[4:])


main()
