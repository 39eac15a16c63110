"""One running child process: started, its output read, its end noticed, its group ended with it."""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import os
import signal
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from deploy.local.log_file import LogFile

PR_SET_PDEATHSIG = 1
READ_BYTES = 65536
# A pipe holds 64 KiB; what a surviving descendant writes into it later is not waited for.
LAST_READS = 2

_prctl = ctypes.CDLL(None, use_errno=True).prctl


class Child:
    """A process in a session of its own, killed by the kernel when the supervisor dies in whatever way.

    Only for a supervisor without threads: the death signal is tied to the thread that forked, and code between fork and
    exec is safe only then.
    """

    def __init__(self, command: Sequence[str], environment: Mapping[str, str], directory: Path, log: LogFile) -> None:
        self._loop = asyncio.get_running_loop()
        self._log = log
        self._exited: asyncio.Future[int] = self._loop.create_future()
        supervisor = os.getpid()

        def tie_to_supervisor() -> None:
            _prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
            if os.getppid() != supervisor:
                os._exit(1)

        self._process = subprocess.Popen(
            command,
            env=dict(environment),
            cwd=directory,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            preexec_fn=tie_to_supervisor,  # noqa: PLW1509 - no threads here, see above
        )
        assert self._process.stdout is not None
        self._output = self._process.stdout.fileno()
        os.set_blocking(self._output, False)
        self._loop.add_reader(self._output, self._read_output)
        self._descriptor = os.pidfd_open(self.pid)
        self._loop.add_reader(self._descriptor, self._reap)

    @property
    def pid(self) -> int:
        return self._process.pid

    async def exit_code(self) -> int:
        """Wait for the end: the exit code, or the negative number of the signal that ended it."""
        return await asyncio.shield(self._exited)

    def send(self, number: signal.Signals) -> None:
        """Signal the process itself; nothing when it has ended."""
        if not self._exited.done():
            signal.pidfd_send_signal(self._descriptor, number)

    def _read_output(self) -> None:
        try:
            data = os.read(self._output, READ_BYTES)
        except BlockingIOError:
            return
        if data:
            self._log.write(data)
        else:
            self._loop.remove_reader(self._output)

    def _reap(self) -> None:
        """The process has ended: end what is left of its group while its number cannot be another's, then reap it."""
        self._loop.remove_reader(self._descriptor)
        with contextlib.suppress(OSError):
            os.killpg(self.pid, signal.SIGKILL)
        code = self._process.wait()
        for _ in range(LAST_READS):
            self._read_output()
        self._loop.remove_reader(self._output)
        assert self._process.stdout is not None
        self._process.stdout.close()
        os.close(self._descriptor)
        self._exited.set_result(code)
