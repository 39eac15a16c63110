"""What the gateway counts."""

from __future__ import annotations

from services.kit import telemetry

REQUESTS = telemetry.histogram("gateway_request_seconds", "Time that HTTP requests took.", ("method", "status"))
SOCKETS = telemetry.gauge("gateway_sockets", "Open WebSockets.")
DENIED = telemetry.counter("gateway_denied", "Refusals at the door.", ("code",))
