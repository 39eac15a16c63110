"""HyperKitty as containers on a network of their own, with the settings, secrets and probes of the manifests."""

from __future__ import annotations

import secrets
import ssl
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import cast

import yaml

from deploy.docker.build import images
from deploy.k8s.secrets import Files, generate
from deploy.processes import EDGE_PORT, NATS, TABLE
from tests.rest_client import RestClient
from tests.system.containers import engine
from tests.waiting import until

TREE = Path(__file__).resolve().parents[3]
BASE = TREE / "deploy" / "k8s" / "base"
SECCOMP = TREE / "deploy" / "k8s" / "node" / "chromium-seccomp.json"
HOME = "/var/lib/hyperkitty"
READY_SECONDS = 60.0
# As restricted as the pods.
RESTRICTED = ("--read-only", "--cap-drop", "ALL", "--security-opt", "no-new-privileges", "--tmpfs", "/tmp")
IMAGES = {image.name: image for image in images()}


def settings() -> dict[str, str]:
    """The ConfigMap that every pod is given."""
    document = cast("dict[str, dict[str, str]]", yaml.safe_load((BASE / "settings.yaml").read_text()))
    return document["data"]


def nats_configuration() -> str:
    """nats.conf of one server, as the ConfigMap has it."""
    first = next(iter(yaml.safe_load_all((BASE / "nats.yaml").read_text())))
    return cast("dict[str, dict[str, str]]", first)["data"]["nats.conf"]


@dataclass
class Stack:
    """Containers `<prefix>-<process>`; `edge_url` and `grpc_target` are Envoy's, published on loopback."""

    prefix: str
    directory: Path
    tag: str
    files: Files
    seccomp: bool = True
    more: Mapping[str, str] = field(default_factory=dict[str, str])

    def name(self, process: str) -> str:
        return f"{self.prefix}-{process}"

    @property
    def token(self) -> str:
        return self.files["root-token"]["root.token"].strip()

    @property
    def authority(self) -> str:
        return self.files["edge-tls"]["ca.crt"]

    @property
    def tls(self) -> ssl.SSLContext:
        return ssl.create_default_context(cadata=self.authority)

    @property
    def edge_port(self) -> int:
        return int(engine.docker("port", self.name("gateway"), f"{EDGE_PORT}/tcp").splitlines()[0].rpartition(":")[2])

    @property
    def edge_url(self) -> str:
        return f"https://localhost:{self.edge_port}"

    @property
    def rest(self) -> RestClient:
        return RestClient(self.edge_url, self.token, tls=self.tls)

    @property
    def host_address(self) -> str:
        """This machine, as the containers see it."""
        return engine.docker("network", "inspect", "--format", "{{(index .IPAM.Config 0).Gateway}}", self.prefix)

    def write_files(self) -> None:
        """Secrets and configuration as a pod finds them mounted; readable by the containers' user."""
        everything = {
            **self.files,
            "nats-config": {"nats.conf": nats_configuration()},
            "edge-config": {"envoy.yaml": (TREE / "deploy" / "envoy" / "envoy.yaml").read_text()},
        }
        for secret, content in everything.items():
            (self.directory / secret).mkdir(mode=0o755)
            for name, text in content.items():
                path = self.directory / secret / name
                path.write_text(text)
                path.chmod(0o644)

    def mount(self, secret: str, target: str) -> list[str]:
        return ["--volume", f"{self.directory / secret}:{target}:ro"]

    def run(self, process: str, options: list[str], *command: str) -> None:
        image = IMAGES[process].tagged(self.tag)
        engine.docker("run", "--detach", "--name", self.name(process), *RESTRICTED, *options, image, *command)

    def home(self, process: str) -> list[str]:
        """A volume, that outlives the container's end."""
        return ["--volume", f"{self.name(process)}:{HOME}"]

    def on_network(self, process: str) -> list[str]:
        return ["--network", self.prefix, "--network-alias", process, "--hostname", process]

    def start_nats(self) -> None:
        options = [*self.on_network("nats"), *self.home("nats"), "--env", "POD_NAME=nats-0"]
        options += [*self.mount("nats-config", "/etc/nats"), *self.mount("nats-users", "/etc/nats-users")]
        self.run("nats", options, "--config", "/etc/nats/nats.conf")

    def start_service(self, process: str) -> None:
        """One of ours, with its own secrets and no other's."""
        options = [*self.on_network(process), *self.home(process)]
        for variable, value in {**settings(), **self.more}.items():
            options += ["--env", f"{variable}={value}"]
        options += self.mount(f"{process}-identity", "/etc/hyperkitty/identity")
        options += self.mount(f"{process}-tls", "/etc/hyperkitty/tls")
        options += self.mount("public-keys", "/etc/hyperkitty/public-keys")
        if process == "browser":
            options += ["--tmpfs", "/var/tmp:exec,mode=1777", "--shm-size", "256m"]
            if self.seccomp:
                options += ["--security-opt", f"seccomp={SECCOMP}"]
        if process == "gateway":
            options += self.mount("root-token/root.token", f"{HOME}/root.token")
            options += ["--publish", f"127.0.0.1::{EDGE_PORT}"]
        self.run(process, options)

    def start_edge(self) -> None:
        """In the gateway's network namespace, as in its pod."""
        options = ["--network", f"container:{self.name('gateway')}"]
        options += [
            *self.mount("edge-config", "/etc/hyperkitty/edge"),
            *self.mount("edge-tls", "/etc/hyperkitty/edge-tls"),
        ]
        self.run("envoy", options, "-c", "/etc/hyperkitty/edge/envoy.yaml", "--concurrency", "1")

    def wait_serving(self, process: str) -> None:
        """Until the probe of the manifests says that the service serves."""
        container = self.name(process)

        def serving() -> bool:
            assert engine.is_running(container), f"{process} ended:\n{engine.logs(container)}"
            return engine.succeeds(container, ["python", "-m", "services.kit.probe", process])

        try:
            until(serving, f"{process} serving", READY_SECONDS)
        except AssertionError as failure:
            raise AssertionError(f"{failure}\n{engine.logs(container)}") from None

    def wait_ready(self) -> None:
        """Until the gateway, through Envoy, says that every service serves."""
        until(self.is_ready, "every service ready behind Envoy", READY_SECONDS)

    def is_ready(self) -> bool:
        try:
            return self.rest.get("/readyz").status == 200
        except OSError:
            return False

    def start(self) -> None:
        self.write_files()
        engine.docker("network", "create", self.prefix)
        self.start_nats()
        services = [process.name for process in TABLE if process.name != NATS.name]
        for process in services:
            self.start_service(process)
        self.start_edge()
        for process in services:
            self.wait_serving(process)
        self.wait_ready()

    def remove(self) -> None:
        """All that `start` made, and nothing else."""
        for process in (*reversed(IMAGES),):
            container = self.name(process)
            engine.forget("rm", "--force", "--volumes", container)
            engine.forget("volume", "rm", "--force", container)
        engine.forget("network", "rm", self.prefix)


@contextmanager
def running(directory: Path, tag: str) -> Generator[Stack]:
    """A whole system from images of `tag`, removed at the end."""
    stack = Stack(f"hk-test-{secrets.token_hex(4)}", directory, tag, generate("hyperkitty", ["localhost"]))
    try:
        stack.start()
        yield stack
    finally:
        stack.remove()
