"""Spans as a collector receives them."""

from __future__ import annotations

import asyncio
from typing import Any

import grpc
from opentelemetry.proto.collector.trace.v1 import trace_service_pb2, trace_service_pb2_grpc

from services.kit.otlp_spans import OtlpSpans
from services.kit.telemetry import Trace


class Collector(trace_service_pb2_grpc.TraceServiceServicer):
    def __init__(self) -> None:
        self.spans: list[Any] = []

    async def Export(self, request: Any, context: Any) -> Any:
        for resource in request.resource_spans:
            for scope in resource.scope_spans:
                self.spans += [(resource.resource, span) for span in scope.spans]
        return trace_service_pb2.ExportTraceServiceResponse()


async def test_a_span_arrives_with_its_parent() -> None:
    collector, server = Collector(), grpc.aio.server()
    generated: Any = trace_service_pb2_grpc
    generated.add_TraceServiceServicer_to_server(collector, server)
    port = server.add_insecure_port("127.0.0.1:0")
    await server.start()
    parent = Trace.begin()
    child = parent.child()
    spans = OtlpSpans("browser", f"http://127.0.0.1:{port}")
    spans.finished("/x/Y", child, parent, 1_000, 2_000, "ok")
    await asyncio.to_thread(spans.close)
    await server.stop(0)
    resource, span = collector.spans[0]
    assert (span.trace_id.hex(), span.span_id.hex(), span.parent_span_id.hex()) == (
        child.trace_id,
        child.span_id,
        parent.span_id,
    )
    assert (span.name, span.start_time_unix_nano, span.end_time_unix_nano) == ("/x/Y", 1_000, 2_000)
    assert {each.key: each.value.string_value for each in resource.attributes}["service.name"] == "browser"
