"""The launcher: gives one Chromium its own PID and network namespace, owns it, and dies with the service.

Run as `python -I -S launcher.py <home hash> <session id> <parent pid> <control descriptor> <cdp descriptor>`.
It stands alone (standard library, nothing of the tree): the service executes it as a program of its own, because
what it does around its fork is unsafe beside gRPC's threads.

The control socket (SOCK_SEQPACKET, one JSON object a packet) brings the plan and takes what happened:
  in:  {"argv", "no_sandbox", "env", "directory", "uid", "gid", "proxy_port", "isolate", "allow_unsandboxed"}
  out: {"started": {"pid", "sandbox_problem"}} with the proxy's listening socket attached
       {"failed": {"kind": "sandbox" | "isolation" | "exec", "detail"}}, and it ends
       {"exited": {"status"}} (a wait status), and it ends
When the service closes its end or dies, Chromium is killed; with Chromium, the first process of its PID namespace,
the kernel kills everything else in there.
"""

import array
import ctypes
import fcntl
import json
import os
import resource
import select
import signal
import socket
import struct
import sys
from typing import NoReturn

CLONE_NEWUSER = 0x10000000
CLONE_NEWPID = 0x20000000
CLONE_NEWNET = 0x40000000
PR_SET_PDEATHSIG = 1
PR_SET_DUMPABLE = 4
PR_SET_CHILD_SUBREAPER = 36
PR_SET_NO_NEW_PRIVS = 38
SIOCGIFFLAGS = 0x8913
SIOCSIFFLAGS = 0x8914
IFF_UP = 0x1
IFREQ = "16sh22x"
PACKET_BYTES = 128 * 1024
BACKLOG = 1024

libc = ctypes.CDLL(None, use_errno=True)


class FailedError(Exception):
    """The launch ends here; `kind` and the text go to the service."""

    def __init__(self, kind: str, detail: str) -> None:
        super().__init__(detail)
        self.kind = kind


class Plan:
    """What to start."""

    def __init__(self, packet: bytes) -> None:
        fields = json.loads(packet)
        self.argv: list[str] = fields["argv"]
        self.no_sandbox: str = fields["no_sandbox"]
        self.env: dict[str, str] = fields["env"]
        self.directory: str = fields["directory"]
        self.uid: int = fields["uid"]
        self.gid: int = fields["gid"]
        self.proxy_port: int = fields["proxy_port"]
        self.isolate: bool = fields["isolate"]
        self.allow_unsandboxed: bool = fields["allow_unsandboxed"]


def unshare(flags: int) -> None:
    if libc.unshare(flags) != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"unshare({flags:#x}): {os.strerror(number)}")


def prctl(option: int, value: int) -> None:
    if libc.prctl(option, value, 0, 0, 0) != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"prctl({option}): {os.strerror(number)}")


def become(uid: int, gid: int) -> None:
    """Drop from root to the session's own user, for good."""
    if uid != os.geteuid():
        os.setgroups([])
        os.setresgid(gid, gid, gid)
        os.setresuid(uid, uid, uid)


def die_with(parent: int) -> None:
    """Get SIGKILL at the parent's end. A change of uid clears this, so it is asked for again after one."""
    prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        sys.exit("launcher: the service is gone")


def sandbox_problem(uid: int, gid: int) -> str:
    """Why that user cannot have the user namespace which Chromium's sandbox needs; empty when it can.

    Tried in a child, because a process cannot leave a user namespace again.
    """
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            become(uid, gid)
            unshare(CLONE_NEWUSER)
        except OSError as error:
            os.write(writer, str(error).encode()[:500])
        finally:
            os._exit(0)
    os.close(writer)
    problem = os.read(reader, 500).decode(errors="replace")
    os.close(reader)
    os.waitpid(child, 0)
    return problem


def isolate(uid: int, gid: int, parent: int) -> None:
    """Move into a new network namespace; the next child is the first process of a new PID namespace.

    Root needs no user namespace for it, unless it lacks CAP_SYS_ADMIN: then it becomes the session's user first,
    and does what any user does.
    """
    if os.geteuid() == 0:
        try:
            unshare(CLONE_NEWPID | CLONE_NEWNET)
        except PermissionError:
            become(uid, gid)
            prctl(PR_SET_DUMPABLE, 1)  # else /proc/self/uid_map stays root's
            die_with(parent)
        else:
            return
    unshare(CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNET)
    for name, text in (("setgroups", "deny"), ("uid_map", f"{uid} {uid} 1"), ("gid_map", f"{gid} {gid} 1")):
        with open(f"/proc/self/{name}", "w") as file:
            file.write(text)


def bring_loopback_up() -> None:
    """The one interface a session has: it leads to the proxy and nowhere else."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        answer = fcntl.ioctl(any_socket, SIOCGIFFLAGS, struct.pack(IFREQ, b"lo", 0))
        flags: int = struct.unpack(IFREQ, answer)[1]
        fcntl.ioctl(any_socket, SIOCSIFFLAGS, struct.pack(IFREQ, b"lo", flags | IFF_UP))


def listen(port: int) -> socket.socket:
    """The proxy's socket: made here, it belongs to this network namespace wherever it is accepted on."""
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.bind(("127.0.0.1", port))
    listener.listen(BACKLOG)
    return listener


def exec_chromium(plan: Plan, argv: list[str], cdp: int, launcher_alive: int) -> NoReturn:
    """In the child: become Chromium. Raises OSError when that cannot be."""
    os.setsid()
    become(plan.uid, plan.gid)
    prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    # Its parent is outside the PID namespace, so getppid() is 0 either way: the pipe tells whether it lives.
    if select.select([launcher_alive], [], [], 0)[0]:
        os._exit(1)
    prctl(PR_SET_NO_NEW_PRIVS, 1)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    for number in (signal.SIGPIPE, signal.SIGXFSZ):  # Python ignores these, and that would be inherited
        signal.signal(number, signal.SIG_DFL)
    os.umask(0o077)
    os.chdir(plan.directory)
    os.dup2(cdp, 3)
    os.dup2(cdp, 4)
    os.execve(argv[0], argv, plan.env)


def start_chromium(plan: Plan, argv: list[str], cdp: int) -> int:
    """Fork and exec; returns the pid, as this process's PID namespace (the service's) numbers it."""
    launcher_alive, held = os.pipe()
    failure, report = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(held)
        try:
            exec_chromium(plan, argv, cdp, launcher_alive)
        except BaseException as error:
            os.write(report, f"{argv[0]}: {error}".encode()[:500])
        finally:
            os._exit(127)
    os.close(launcher_alive)
    os.close(report)
    problem = os.read(failure, 500).decode(errors="replace")  # ends when exec closes the other side
    os.close(failure)
    if problem:
        os.waitpid(pid, 0)
        raise FailedError("exec", problem)
    return pid  # `held` stays open for as long as this process lives


def launch(plan: Plan, parent: int, cdp: int) -> tuple[int, socket.socket, str]:
    """Isolate and start: (Chromium's pid, the proxy's socket, why there is no sandbox)."""
    problem = sandbox_problem(plan.uid, plan.gid)
    if problem and not plan.allow_unsandboxed:
        raise FailedError("sandbox", problem)
    if plan.isolate:
        try:
            isolate(plan.uid, plan.gid, parent)
            die_with(parent)
            bring_loopback_up()
        except OSError as error:
            raise FailedError("isolation", str(error)) from error
    else:
        prctl(PR_SET_CHILD_SUBREAPER, 1)
    listener = listen(plan.proxy_port if plan.isolate else 0)
    port: int = listener.getsockname()[1]
    argv = [argument.replace("{proxy_port}", str(port)) for argument in plan.argv]
    if problem:
        argv.insert(1, plan.no_sandbox)
    return start_chromium(plan, argv, cdp), listener, problem


def wait_for_end(pid: int, control: socket.socket) -> int:
    """Wait for Chromium, or kill it when the service closes the control socket; returns the wait status."""
    chromium = os.pidfd_open(pid)
    ready = select.select([control, chromium], [], [])[0]
    if chromium not in ready:
        signal.pidfd_send_signal(chromium, signal.SIGKILL)
    status = os.waitpid(pid, 0)[1]
    while True:  # without a PID namespace its children are left to this process
        try:
            with open(f"/proc/self/task/{os.getpid()}/children") as children:
                for child in children.read().split():
                    os.kill(int(child), signal.SIGKILL)
            os.waitpid(-1, 0)
        except OSError:
            return status


def say(control: socket.socket, what: dict[str, dict[str, int | str]], attached: socket.socket | None = None) -> None:
    packet = json.dumps(what).encode()
    rights = [] if attached is None else [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [attached.fileno()]))]
    try:
        control.sendmsg([packet], rights)
    except OSError:
        sys.exit("launcher: the service closed the control socket")


def private(descriptor: int) -> int:
    """The descriptor under a number above Chromium's own (3 and 4), closed at exec."""
    return fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, 10)


def main() -> None:
    parent = int(sys.argv[3])
    die_with(parent)
    given = [int(argument) for argument in sys.argv[4:6]]
    control_descriptor, cdp = (private(descriptor) for descriptor in given)
    nothing = private(os.open(os.devnull, os.O_RDWR))
    for descriptor in {3, 4, *given}:  # held, so that nothing made later gets Chromium's numbers
        os.dup2(nothing, descriptor, inheritable=False)
    control = socket.socket(fileno=control_descriptor)
    plan = Plan(control.recv(PACKET_BYTES))
    try:
        pid, listener, problem = launch(plan, parent, cdp)
    except FailedError as failed:
        say(control, {"failed": {"kind": failed.kind, "detail": str(failed)}})
        return
    say(control, {"started": {"pid": pid, "sandbox_problem": problem}}, listener)
    listener.close()
    os.close(cdp)
    say(control, {"exited": {"status": wait_for_end(pid, control)}})


if __name__ == "__main__":
    main()
