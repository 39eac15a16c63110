"""How many requests a session has sent: those of all its targets, from CDP's network events (SPEC §6).

Every hop of a redirect counts, every WebSocket; what a cache or a service worker answered does not, nor what needs no
network (data:, blob:).
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict

from services.browser.cdp.domains import network, runtime, target
from services.browser.cdp.errors import CdpFault
from services.browser.cdp.message import Command, Empty
from services.browser.cdp.session import CdpSession
from services.kit import logs

log = logs.get(__name__)

WORKERS = frozenset({"worker", "shared_worker", "service_worker"})
WORKER_SECONDS = 10.0
MOST_REQUESTS = 5_000
"""Requests that are remembered to see that one is told twice, or came from a cache; the oldest are forgotten."""
_SENT = ("http:", "https:")
_WORKERS_ONLY = [target.FilterEntry(type="worker", exclude=False), target.FilterEntry(exclude=True)]


class RequestCount:
    """A session's total. `total` goes on from that of the session's Chromium before."""

    def __init__(self, total: int) -> None:
        self.total = total
        self._counted: OrderedDict[str, bool] = OrderedDict()
        self._tasks: set[asyncio.Task[None]] = set()

    def follow(self, cdp: CdpSession) -> None:
        """Hear a target, and whatever is attached through it: frames, workers, and what they attach."""
        cdp.on(network.RequestWillBeSent, self._sent)
        cdp.on(network.RequestServedFromCache, lambda event: self._unsent(event.request_id))
        cdp.on(network.ResponseReceived, self._answered)
        cdp.on(network.WebSocketCreated, lambda _: self._add(1))
        cdp.on(target.AttachedToTarget, lambda event: self._attached(cdp, event))

    def _attached(self, cdp: CdpSession, event: target.AttachedToTarget) -> None:
        child = cdp.child(event.session_id)
        if child is None:
            return
        self.follow(child)
        if event.target_info.type in WORKERS:
            task = asyncio.create_task(_run_worker(child), name=f"worker {event.target_info.target_id}")
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    def _add(self, number: int) -> None:
        self.total += number

    def _sent(self, event: network.RequestWillBeSent) -> None:
        if not event.request.url.startswith(_SENT):
            return
        hop = event.redirect_response
        if hop is not None:
            # The hop before was answered, and perhaps by a cache.
            if _without_network(hop):
                self._unsent(event.request_id)
        elif event.request_id in self._counted:
            return  # a worker's own script is told by its page and by the worker
        self._counted[event.request_id] = True
        self._add(1)
        if len(self._counted) > MOST_REQUESTS:
            self._counted.popitem(last=False)

    def _answered(self, event: network.ResponseReceived) -> None:
        if _without_network(event.response):
            self._unsent(event.request_id)

    def _unsent(self, request_id: str) -> None:
        if self._counted.get(request_id):
            self._counted[request_id] = False
            self._add(-1)


def _without_network(response: network.Response) -> bool:
    return bool(response.from_disk_cache or response.from_service_worker)


async def _run_worker(child: CdpSession) -> None:
    """Let a worker run, heard from its first request."""
    commands: list[Command[Empty]] = [
        network.Enable(max_total_buffer_size=0, max_resource_buffer_size=0),
        target.SetAutoAttach(auto_attach=True, wait_for_debugger_on_start=True, flatten=True, filter=_WORKERS_ONLY),
        runtime.RunIfWaitingForDebugger(),
    ]
    sent = [child.post(command, timeout=WORKER_SECONDS) for command in commands]
    for failed in await asyncio.gather(*sent, return_exceptions=True):
        if isinstance(failed, CdpFault):
            # It went away while it was prepared, as workers do.
            log.debug("worker_not_prepared", error=str(failed))
        elif isinstance(failed, BaseException):
            raise failed
