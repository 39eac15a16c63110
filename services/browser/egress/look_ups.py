"""Name look-ups in threads of their own: the system's resolver blocks, and a name server may never answer.

A session has a few at a time and waits in its own line for more, so that one session's hanging names neither stall
another's nor whatever else is done in threads.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from ipaddress import ip_address

from services.kit.addresses import Address
from services.kit.dialer import NameNotResolved

MOST_THREADS = 128
MOST_AT_ONCE = 4
"""Of one session."""
_THREADS = ThreadPoolExecutor(MOST_THREADS, "look-up")
Blocking = Callable[[str, int], list[Address]]


def system_addresses(name: str, port: int) -> list[Address]:
    """What the machine's resolver says (hosts file, DNS), without duplicates. Blocks. Raises NameNotResolved."""
    try:
        found = socket.getaddrinfo(name, port, type=socket.SOCK_STREAM)
    except (socket.gaierror, UnicodeError) as error:
        raise NameNotResolved(f"{name} could not be resolved: {error}") from error
    # The second part of an IPv6 scope (`%eth0`) is only for link-local addresses, which are refused anyway.
    return list(dict.fromkeys(ip_address(str(entry[4][0]).partition("%")[0]) for entry in found))


class LookUps:
    """A `Resolver` for one session."""

    def __init__(self, blocking: Blocking = system_addresses) -> None:
        self._blocking = blocking
        self._free = asyncio.Semaphore(MOST_AT_ONCE)

    async def __call__(self, name: str, port: int) -> list[Address]:
        """The addresses of a name. The caller sets the deadline; a thread is given back only when it is done."""
        loop = asyncio.get_running_loop()
        await self._free.acquire()

        def done(_: Future[list[Address]]) -> None:
            with suppress(RuntimeError):  # the service has ended meanwhile
                loop.call_soon_threadsafe(self._free.release)

        looked_up = _THREADS.submit(self._blocking, name, port)
        looked_up.add_done_callback(done)
        return await asyncio.wrap_future(looked_up)
