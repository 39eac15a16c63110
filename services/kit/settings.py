"""Every HYPERKITTY_* variable, in one place. `python -m services.kit.settings` prints the table for the docs."""

from __future__ import annotations

import hashlib
import os
import tempfile
from pathlib import Path
from typing import Any, Literal, TypeVar

from pydantic import Field

from services.kit import config
from services.kit.config import Section, SettingRow

S = TypeVar("S", bound=Section)


def default_home() -> Path:
    """The user's state directory (XDG base directory specification)."""
    base = os.environ.get("XDG_STATE_HOME", "")
    return (Path(base) if base.startswith("/") else Path.home() / ".local" / "state") / "hyperkitty"


def home_hash(home: Path) -> str:
    """12 hexadecimal digits that stand for a home in short paths and process environments."""
    return hashlib.sha256(os.fsencode(os.path.abspath(home))).hexdigest()[:12]


def default_runtime_dir(home: Path) -> Path:
    """Where sockets live: paths stay under 60 bytes, since 116 are too long for AF_UNIX (DESIGN §10)."""
    base = os.environ.get("XDG_RUNTIME_DIR", "")
    root = (
        Path(base) if base.startswith("/") and len(base) <= 30 and os.path.isdir(base) else Path(tempfile.gettempdir())
    )
    return root / f"hk-{home_hash(home)}"


def _runtime(data: dict[str, Any]) -> Path:
    return default_runtime_dir(data["home"])


def _in_home(name: str) -> Any:
    def make(data: dict[str, Any]) -> Path:
        return data["home"] / name

    return make


def _target(service: str) -> Any:
    def make(data: dict[str, Any]) -> str:
        return f"unix:{data['runtime_dir']}/{service}.sock"

    return Field(
        default_factory=make,
        description=f"gRPC target of the {service} service.",
        json_schema_extra={"default_text": f"unix:<runtime dir>/{service}.sock"},
    )


class CommonSettings(Section):
    """What every process reads."""

    home: Path = Field(
        default_factory=default_home,
        description="Directory of everything that is kept.",
        json_schema_extra={"default_text": "$XDG_STATE_HOME/hyperkitty"},
    )
    runtime_dir: Path = Field(
        default_factory=_runtime,
        description="Directory of sockets, mode 0700.",
        json_schema_extra={"default_text": "hk-<hash of home> under $XDG_RUNTIME_DIR or the temporary directory"},
    )
    listen: str = Field(
        default="",
        description="Where this service serves gRPC: unix:<path> or host:port.",
        json_schema_extra={"default_text": "its own target"},
    )
    metrics_listen: str = Field(
        default="",
        description="Where this service serves Prometheus metrics: unix:<path> or host:port.",
        json_schema_extra={"default_text": "unix:<runtime dir>/<service>.metrics.sock"},
    )
    browser_target: str = _target("browser")
    agent_target: str = _target("agent")
    search_target: str = _target("search")
    messaging_target: str = _target("messaging")
    health_target: str = _target("health")
    gateway_target: str = _target("gateway")
    nats_url: str = Field(default="nats://127.0.0.1:4222", description="Where NATS listens.")
    nats_credentials: Path | None = Field(
        default=None,
        description="File (0600) with one line `user:password` for NATS.",
        json_schema_extra={"default_text": "none: no authentication"},
    )
    identity_key: Path | None = Field(
        default=None,
        description="File (0600) with this service's Ed25519 private key (PKCS8, PEM).",
        json_schema_extra={"default_text": "none: the service cannot start"},
    )
    identity_keys: Path = Field(
        default_factory=_in_home("keys"),
        description="Directory of the public keys, `<service>.pub` (PEM).",
        json_schema_extra={"default_text": "<home>/keys"},
    )
    events_max_count: int = Field(
        default=0,
        ge=0,
        description="Most events a log made with this keeps, oldest dropped first; 0: as many as time and bytes allow.",
    )
    tls_dir: Path | None = Field(
        default=None,
        description="Directory with tls.crt, tls.key and ca.crt for mutual TLS between services on TCP.",
        json_schema_extra={"default_text": "none: Unix sockets or loopback only"},
    )
    spool_dir: Path = Field(
        default_factory=_in_home("spool"),
        description="Directory of what could not be written to the event log yet.",
        json_schema_extra={"default_text": "<home>/spool"},
    )
    log_level: Literal["debug", "info", "warning", "error"] = Field(
        default="info", description="Least level that is logged."
    )
    drain_ms: int = Field(
        default=8_000,
        ge=0,
        le=120_000,
        description="Time for calls in flight to end when a service stops, in milliseconds.",
    )
    otlp_endpoint: str = Field(default="", description="OTLP gRPC collector for traces; empty: none are sent.")


class BrowserSettings(Section):
    """What the browser service reads."""

    allow_unsandboxed: bool = Field(
        default=False, description="Run Chromium without its sandbox where that cannot run; health is degraded."
    )
    chromium: Path | None = Field(
        default=None,
        description="Chromium binary to use.",
        json_schema_extra={"default_text": "found in /usr/lib/chromium"},
    )
    max_sessions: int = Field(default=16, ge=1, le=500, description="Most sessions at a time.")
    warm_pool: int = Field(default=2, ge=0, le=50, description="Browsers kept started in advance.")


class GatewaySettings(Section):
    """What the gateway and the supervisor read."""

    rest_port: int = Field(default=8420, ge=1, le=65535, description="Port of REST, WebSocket, frontend and MCP.")
    grpc_port: int = Field(default=8421, ge=1, le=65535, description="Port of gRPC.")
    allowed_hosts: str = Field(
        default="",
        description="Names under which the gateway is called beside loopback's, separated by commas.",
        json_schema_extra={"default_text": "none"},
    )


class SearchSettings(Section):
    """What the search service reads."""

    search_provider: str = Field(default="mock", description="Provider of jobs that name none.")
    search_corpus: Path | None = Field(
        default=None,
        description="Folder of text, Markdown, HTML and PDF files for the provider `corpus`.",
        json_schema_extra={"default_text": "none: there is no such provider"},
    )
    search_searxng: str = Field(
        default="",
        description="URL of a SearXNG instance, with its JSON format allowed, for the provider `searxng`.",
        json_schema_extra={"default_text": "none: there is no such provider"},
    )
    search_private_hosts: str = Field(
        default="",
        description="`host:port` of loopback or private hosts whose documents may be fetched, separated by commas.",
        json_schema_extra={"default_text": "none: documents come from public addresses only"},
    )


SECTIONS: tuple[type[Section], ...] = (CommonSettings, BrowserSettings, GatewaySettings, SearchSettings)


def table() -> list[SettingRow]:
    """The whole settings table."""
    return config.rows(SECTIONS)


def load(section: type[S]) -> S:
    """A section's settings from the environment; raises SettingsError for what is malformed or unknown."""
    return config.load(section, (row.name for row in table()))


def markdown() -> str:
    """The settings table for the docs."""
    lines = ["| Variable | Type | Default | Meaning |", "|---|---|---|---|"]
    lines += [f"| `{row.name}` | {row.type} | {row.default} | {row.meaning} |" for row in table()]
    return "\n".join(lines)


if __name__ == "__main__":
    print(markdown())
