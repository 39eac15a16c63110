"""Asking one service how it is: grpc.health.v1, then what it says of itself; 1 s altogether (SPEC §13)."""

from __future__ import annotations

import asyncio
import time

import grpc
from grpc_health.v1.health_pb2 import HealthCheckRequest, HealthCheckResponse
from hyperkitty.health.v1.health_pb2 import HealthStatus, ServiceHealth
from hyperkitty.health.v1.health_service_pb2 import GetServiceStatusRequest
from hyperkitty.health.v1.health_service_pb2_grpc import ServiceStatusServiceStub

from services.kit import deadlines
from services.kit.errors import Refusal, unavailable

ASK_SECONDS = 1.0
HEALTHY = HealthStatus.HEALTH_STATUS_HEALTHY
DEGRADED = HealthStatus.HEALTH_STATUS_DEGRADED
UNHEALTHY = HealthStatus.HEALTH_STATUS_UNHEALTHY


async def ask(name: str, channel: grpc.aio.Channel) -> ServiceHealth:
    """The service's own word, with the latency of its health check; unhealthy when it gives none. Never raises."""
    try:
        with deadlines.within(ASK_SECONDS):
            latency_ms, told = await asyncio.gather(_latency_ms(channel), _status(channel))
    except Refusal as refusal:
        return ServiceHealth(name=name, status=UNHEALTHY, detail=refusal.message)
    told.name = name
    told.latency_ms = latency_ms
    return told


async def _latency_ms(channel: grpc.aio.Channel) -> float:
    # The package's stub has no types; the method and its messages have.
    check: grpc.aio.UnaryUnaryMultiCallable[HealthCheckRequest, HealthCheckResponse] = channel.unary_unary(
        "/grpc.health.v1.Health/Check",
        request_serializer=HealthCheckRequest.SerializeToString,
        response_deserializer=HealthCheckResponse.FromString,
    )
    began = time.perf_counter()
    answer = await check(HealthCheckRequest())
    if answer.status != HealthCheckResponse.SERVING:
        raise unavailable("it answers, but is starting or stopping")
    return (time.perf_counter() - began) * 1000


async def _status(channel: grpc.aio.Channel) -> ServiceHealth:
    answer = await ServiceStatusServiceStub(channel).GetServiceStatus(GetServiceStatusRequest())
    return answer.service
