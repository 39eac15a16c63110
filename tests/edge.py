"""Envoy with the product's own configuration in front of a running gateway, for tests."""

from __future__ import annotations

import json
import socket
import ssl
import subprocess
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, cast
from urllib.parse import urlsplit

from deploy.k8s.certificates import Authority
from deploy.processes import GRPC_PORT, REST_PORT
from tests.waiting import until

TREE = Path(__file__).resolve().parents[1]
ENVOY = TREE / ".venv" / "bin" / "envoy"
CONFIGURATION = TREE / "deploy" / "envoy" / "envoy.yaml"
EDGE_PORT = 8443
TLS_DIRECTORY = "/etc/hyperkitty/edge-tls"
STOP_SECONDS = 10.0


class Edge:
    """Envoy as a process of its own, from `with` to its end; what it prints is its access log."""

    def __init__(
        self, directory: Path, *, rest_url: str, grpc_target: str, changes: Mapping[str, str] | None = None
    ) -> None:
        """`changes` are replacements in the configuration's text, each of which must occur."""
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = cast("int", probe.getsockname()[1])
        self._log = directory / "access.log"
        self._own_log = directory / "envoy.log"
        authority = Authority("HyperKitty test")
        self.authority = authority.certificate
        pair = authority.issue(["localhost", "127.0.0.1"])
        for name, content in (("tls.crt", pair.certificate), ("tls.key", pair.key), ("ca.crt", self.authority)):
            (directory / name).write_text(content)
        replaced = {
            f"address: 0.0.0.0, port_value: {EDGE_PORT}": f"address: 127.0.0.1, port_value: {self.port}",
            f"port_value: {REST_PORT}": f"port_value: {urlsplit(rest_url).port}",
            f"port_value: {GRPC_PORT}": f"port_value: {grpc_target.rpartition(':')[2]}",
            TLS_DIRECTORY: str(directory),
            **(changes or {}),
        }
        text = CONFIGURATION.read_text()
        for old, new in replaced.items():
            assert old in text, f"not in envoy.yaml: {old}"
            text = text.replace(old, new)
        self._configuration = directory / "envoy.yaml"
        self._configuration.write_text(text)

    @property
    def url(self) -> str:
        return f"https://127.0.0.1:{self.port}"

    @property
    def target(self) -> str:
        """For gRPC; the certificate names it."""
        return f"localhost:{self.port}"

    @property
    def tls(self) -> ssl.SSLContext:
        """Trusts the edge's authority and no other."""
        return ssl.create_default_context(cadata=self.authority)

    def __enter__(self) -> Edge:
        command = [str(ENVOY), "-c", str(self._configuration), "--use-dynamic-base-id", "--concurrency", "1"]
        command += ["--log-level", "warning", "--log-path", str(self._own_log)]
        with self._log.open("wb") as out:
            self._process = subprocess.Popen(command, stdout=out, stderr=subprocess.STDOUT)
        until(self._listens, "Envoy listening", 20)
        return self

    def _listens(self) -> bool:
        assert self._process.poll() is None, self._log.read_text() + self._own_log.read_text()
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", self.port)) == 0

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._process.terminate()
        self._process.wait(STOP_SECONDS)

    def lines(self) -> list[dict[str, Any]]:
        """The access log so far."""
        return [cast("dict[str, Any]", json.loads(line)) for line in self._log.read_text().splitlines() if line]
