"""Sends spans to an OpenTelemetry collector. Imported only where one is set: the SDK is large."""

from __future__ import annotations

from opentelemetry import trace
from opentelemetry.exporter.otlp.proto.grpc.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import SERVICE_NAME, SERVICE_NAMESPACE, Resource
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.sdk.util.instrumentation import InstrumentationScope

from services.kit.telemetry import Trace

_CLOSE_MS = 2_000


def _context(span: Trace) -> trace.SpanContext:
    return trace.SpanContext(
        int(span.trace_id, 16), int(span.span_id, 16), is_remote=False, trace_flags=trace.TraceFlags(int(span.sampled))
    )


class OtlpSpans:
    """A span sink; spans are sent in batches from the SDK's own thread, and dropped when its queue is full."""

    def __init__(self, service: str, endpoint: str) -> None:
        self._resource = Resource.create({SERVICE_NAME: service, SERVICE_NAMESPACE: "hyperkitty"})
        self._scope = InstrumentationScope("hyperkitty.kit")
        self._processor = BatchSpanProcessor(OTLPSpanExporter(endpoint=endpoint, insecure=endpoint.startswith("http:")))

    def finished(self, name: str, span: Trace, parent: Trace | None, started_ns: int, ended_ns: int, code: str) -> None:
        made = ReadableSpan(
            name=name,
            context=_context(span),
            parent=None if parent is None else _context(parent),
            resource=self._resource,
            attributes={"rpc.system": "grpc", "rpc.grpc.status_code": code},
            kind=trace.SpanKind.SERVER,
            instrumentation_scope=self._scope,
            start_time=started_ns,
            end_time=ended_ns,
        )
        self._processor.on_end(made)

    def close(self) -> None:
        self._processor.force_flush(_CLOSE_MS)
        self._processor.shutdown()
