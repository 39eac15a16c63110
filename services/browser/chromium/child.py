"""The launcher as the service sees it: started, told what to run, heard, waited for."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

from msgspec import DecodeError, Struct
from msgspec.json import Decoder

from services.browser.chromium.flags import NO_SANDBOX
from services.browser.chromium.stderr_tail import StderrTail

LAUNCHER = Path(__file__).with_name("launcher.py")
_PACKET_BYTES = 64 * 1024


class Started(Struct, forbid_unknown_fields=True):
    """Chromium was executed. `pid` is the host's (the service's PID namespace numbers it)."""

    pid: int
    sandbox_problem: str


class Failed(Struct, forbid_unknown_fields=True):
    """Nothing was started. `kind` is sandbox, isolation or exec."""

    kind: str
    detail: str


class Exited(Struct, forbid_unknown_fields=True):
    """Chromium ended with this wait status."""

    status: int


class _Packet(Struct, forbid_unknown_fields=True):
    started: Started | None = None
    failed: Failed | None = None
    exited: Exited | None = None


_packets = Decoder(_Packet)


@dataclass(frozen=True)
class Plan:
    """What the launcher is to start; see launcher.py for the fields."""

    argv: list[str]
    env: dict[str, str]
    directory: str
    uid: int
    gid: int
    proxy_port: int
    isolate: bool
    allow_unsandboxed: bool
    no_sandbox: str = NO_SANDBOX


def _execute(names: tuple[str, str], env: Mapping[str, str], stderr: int, *descriptors: int) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-I", "-S", str(LAUNCHER), *names, str(os.getpid()), *map(str, descriptors)],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=stderr,
        env=dict(env),
        pass_fds=descriptors,
        start_new_session=True,
    )


class LauncherChild:
    """One launcher process. Watched through its pidfd: nothing here waits for any child but this one."""

    def __init__(self, process: subprocess.Popen[bytes], control: socket.socket, stderr: int) -> None:
        self._loop = asyncio.get_running_loop()
        self._process = process
        self._control: socket.socket | None = control
        self._pidfd = os.pidfd_open(process.pid)
        self.tail = StderrTail(stderr)
        self.proxy_socket: socket.socket | None = None
        self.exited: Exited | None = None
        self.outcome: asyncio.Future[Started | Failed] = self._loop.create_future()
        """How the launch went; Failed of kind `exec` when the launcher itself ended without a word."""
        self.ended = asyncio.Event()
        """Set when the launcher process is gone and reaped."""
        self._loop.add_reader(control.fileno(), self._heard)
        self._loop.add_reader(self._pidfd, self._reap)

    @classmethod
    def start(cls, plan: Plan, names: tuple[str, str], env: Mapping[str, str], cdp: socket.socket) -> LauncherChild:
        """Execute the launcher. `names` (home hash, session id) are on its command line; `cdp` becomes Chromium's.

        To be called on the main thread: the kernel ties the launcher's life to the thread that forked.
        Raises OSError.
        """
        control, far = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        stderr, written = os.pipe()
        with far, cdp:
            try:
                control.setblocking(False)
                control.send(json.dumps(asdict(plan)).encode())
                process = _execute(names, env, written, far.fileno(), cdp.fileno())
            except BaseException:
                control.close()
                os.close(stderr)
                raise
            finally:
                os.close(written)
        return cls(process, control, stderr)

    @property
    def pid(self) -> int:
        """The launcher's own pid."""
        return self._process.pid

    @property
    def returncode(self) -> int | None:
        """The launcher's own exit code, once it has ended."""
        return self._process.returncode

    def let_go(self) -> None:
        """Close the control socket: the launcher kills Chromium and ends."""
        control, self._control = self._control, None
        if control is not None:
            self._loop.remove_reader(control.fileno())
            control.close()

    def kill(self) -> None:
        """SIGKILL for the launcher; the kernel passes it on to Chromium."""
        if not self.ended.is_set():
            self._process.send_signal(signal.SIGKILL)

    async def end(self, seconds: float) -> bool:
        """Kill it, and Chromium with it; whether it was gone within that many seconds."""
        if self.proxy_socket is not None:
            self.proxy_socket.close()
        self.let_go()
        self.kill()
        try:
            async with asyncio.timeout(seconds):
                await self.ended.wait()
        except TimeoutError:
            return False
        return True

    def _heard(self) -> None:
        control = self._control
        if control is None:
            return
        try:
            data, descriptors, _, _ = socket.recv_fds(control, _PACKET_BYTES, 1)
        except BlockingIOError:
            return
        except OSError:
            data, descriptors = b"", []
        received = [socket.socket(fileno=descriptor) for descriptor in descriptors]
        try:
            packet = _packets.decode(data) if data else None
        except DecodeError:
            packet = None
        if packet is None:
            self.let_go()
        elif packet.started is not None and received and not self.outcome.done():
            self.proxy_socket = received.pop()
            self.proxy_socket.setblocking(False)
            self.outcome.set_result(packet.started)
        elif packet.failed is not None and not self.outcome.done():
            self.outcome.set_result(packet.failed)
        elif packet.exited is not None:
            self.exited = packet.exited
        for unwanted in received:
            unwanted.close()

    def _reap(self) -> None:
        if self._process.poll() is None:
            return
        self._loop.remove_reader(self._pidfd)
        os.close(self._pidfd)
        self._heard()  # what it said last may still wait to be read
        self._heard()
        self.let_go()
        self.tail.close()
        if not self.outcome.done():
            self.outcome.set_result(Failed("exec", f"the launcher ended with {self._process.returncode}"))
        self.ended.set()
