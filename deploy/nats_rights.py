"""What each process may say and hear on NATS, derived from the table of processes.

A process publishes the event categories it owns and `service.>`, writes its own buckets, its own operation records and
idempotency keys, and reads the event log, the operation records and the artifacts. Nobody may update, delete or purge
the log: that a process may create it is harmless, because creating a stream that exists with another configuration is
refused.
Subjects of the JetStream API: https://docs.nats.io/reference/reference-protocols/nats_api_reference
"""

from __future__ import annotations

from dataclasses import dataclass

from deploy.processes import Process

EVENT_STREAM = "HK_EVENTS"
EVENT_SUBJECTS = "hk.events.>"
# hk.events.<tenant>.<agent_id or _>.<session_id or _>.<subject id or _>.<category tokens>
EVENT_PREFIX = "hk.events.*.*.*.*"
OPERATIONS_BUCKET = "operations"
IDEMPOTENCY_BUCKET = "idempotency"
ARTIFACTS_BUCKET = "artifacts"


@dataclass(frozen=True)
class Rights:
    """Subjects a NATS user may publish and subscribe to; everything else is refused."""

    publish: tuple[str, ...]
    subscribe: tuple[str, ...]


def inbox_prefix(user: str) -> str:
    """Prefix of the user's reply subjects; its own, so that no user hears another's replies."""
    return f"_INBOX_{user}"


def rights_of(process: Process) -> Rights:
    """The rights of the NATS user named after `process`."""
    publish = ["$JS.API.INFO", "$JS.API.STREAM.NAMES", "$JS.API.STREAM.LIST", "$JS.API.STREAM.INFO.*"]
    publish += [f"{EVENT_PREFIX}.{root}.>" for root in (*process.categories, "service")]
    publish += _reading(EVENT_STREAM) + _creating(EVENT_STREAM)
    for shared in (OPERATIONS_BUCKET, IDEMPOTENCY_BUCKET):
        publish += _reading(f"KV_{shared}") + _creating(f"KV_{shared}")
        publish += [f"$KV.{shared}.{process.name}.>"]
    for bucket in process.buckets:
        stream = f"KV_{bucket}"
        publish += [*_reading(stream), *_owning(stream), f"$KV.{bucket}.>"]
    artifacts = f"OBJ_{ARTIFACTS_BUCKET}"
    publish += _reading(artifacts)
    if process.writes_artifacts:
        # Replacing or deleting an object purges its chunks.
        publish += [*_creating(artifacts), f"$JS.API.STREAM.PURGE.{artifacts}", f"$O.{ARTIFACTS_BUCKET}.>"]
    return Rights(tuple(publish), (f"{inbox_prefix(process.name)}.>", EVENT_SUBJECTS))


def user_of(process: Process, password: str) -> dict[str, object]:
    """The user of NATS's configuration that `process` is."""
    rights = rights_of(process)
    permissions = {"publish": {"allow": rights.publish}, "subscribe": {"allow": rights.subscribe}}
    return {"user": process.name, "password": password, "permissions": permissions}


def _creating(stream: str) -> list[str]:
    return [f"$JS.API.STREAM.CREATE.{stream}"]


def _owning(stream: str) -> list[str]:
    """Not updating: a stream whose configuration may be changed can be made to republish under any subject."""
    return [*_creating(stream), f"$JS.API.STREAM.PURGE.{stream}"]


def _reading(stream: str) -> list[str]:
    """Getting a message, and making, following and dropping consumers of one's own."""
    api = "$JS.API"
    return [
        f"{api}.STREAM.MSG.GET.{stream}",
        f"{api}.DIRECT.GET.{stream}",
        f"{api}.DIRECT.GET.{stream}.>",
        f"{api}.CONSUMER.CREATE.{stream}",
        f"{api}.CONSUMER.CREATE.{stream}.>",
        f"{api}.CONSUMER.DURABLE.CREATE.{stream}.*",
        f"{api}.CONSUMER.INFO.{stream}.*",
        f"{api}.CONSUMER.MSG.NEXT.{stream}.*",
        f"{api}.CONSUMER.DELETE.{stream}.*",
        f"{api}.CONSUMER.NAMES.{stream}",
        f"{api}.CONSUMER.LIST.{stream}",
        f"$JS.ACK.{stream}.>",
        f"$JS.FC.{stream}.>",
    ]
