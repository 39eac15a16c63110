"""The one table of processes: what runs, needs what, owns what on NATS. Supervisor, manifests and docs read it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum


class StopStage(IntEnum):
    """The order in which a system is taken down: no new calls, then those under way, then the record of them."""

    DOOR = 0
    SERVICE = 1
    STORE = 2


@dataclass(frozen=True)
class Process:
    """One operating-system process of HyperKitty.

    `module` is run as `python -m <module>`; `needs` are processes that must have been ready before its first start.
    `categories` are the roots of the event categories it may publish, `buckets` the key-value buckets it owns,
    `writes_artifacts` whether it may put into the object store (SPEC section 9, section 2).
    """

    name: str
    module: str
    needs: tuple[str, ...] = ()
    stops: StopStage = StopStage.SERVICE
    categories: tuple[str, ...] = ()
    buckets: tuple[str, ...] = ()
    writes_artifacts: bool = False
    serves_grpc: bool = True


NATS = Process("nats", module="", stops=StopStage.STORE, serves_grpc=False)

TABLE: tuple[Process, ...] = (
    NATS,
    Process(
        "browser",
        module="services.browser",
        needs=("nats",),
        categories=("browser",),
        buckets=("sessions",),
        writes_artifacts=True,
    ),
    Process("agent", module="services.agent", needs=("nats",), categories=("agent",), buckets=("agents", "actions")),
    Process("search", module="services.search", needs=("nats",), categories=("search",), buckets=("jobs",)),
    Process("messaging", module="services.messaging", needs=("nats",), categories=("message",), buckets=("messages",)),
    Process("health", module="services.health", needs=("nats",)),
    Process(
        "gateway",
        module="gateway",
        needs=("nats",),
        stops=StopStage.DOOR,
        categories=("auth",),
        buckets=("tokens",),
        writes_artifacts=True,
        serves_grpc=False,
    ),
)

# Ports of the front door on 127.0.0.1 (SPEC section 11).
REST_PORT = 8420
GRPC_PORT = 8421

# Where a process has an address of its own (container, pod), all use the same ports.
POD_GRPC_PORT = 8430
POD_METRICS_PORT = 8431
NATS_PORT = 4222
NATS_CLUSTER_PORT = 6222
NATS_MONITOR_PORT = 8222
# Envoy, in front of the gateway.
EDGE_PORT = 8443
