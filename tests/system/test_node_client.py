"""A gRPC client from npm reads the same answers (SPEC §1: gRPC in any language)."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import grpc
import pytest
from google.protobuf.descriptor import FileDescriptor
from google.protobuf.descriptor_pb2 import FileDescriptorProto, FileDescriptorSet

from gateway.contract import linked_services
from tests.running_system import TREE, RunningSystem

PROGRAM = TREE / "clients" / "node-test" / "read.js"
LIBRARIES = ("@grpc/grpc-js@1", "@grpc/proto-loader@0.8")
INSTALL_SECONDS = 60.0
RUN_SECONDS = 30.0


def write_contract(path: Path) -> None:
    """The contract as a descriptor set, dependencies first: what any client can be made from."""
    whole = FileDescriptorSet()
    seen: set[str] = set()

    def add(file: FileDescriptor) -> None:
        if file.name not in seen:
            seen.add(file.name)
            for dependency in file.dependencies:
                add(dependency)
            copy = FileDescriptorProto()
            file.CopyToProto(copy)
            whole.file.append(copy)

    for service in linked_services():
        add(service.file)
    path.write_bytes(whole.SerializeToString())


@pytest.fixture(scope="module")
def node_home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with the libraries installed; skipped where they cannot be."""
    node, npm = shutil.which("node"), shutil.which("npm")
    if node is None or npm is None:
        pytest.skip("needs node and npm")
    home = tmp_path_factory.mktemp("node")
    command = [npm, "install", "--no-audit", "--no-fund", "--no-package-lock", "--prefix", str(home), *LIBRARIES]
    try:
        done = subprocess.run(command, cwd=home, capture_output=True, text=True, timeout=INSTALL_SECONDS)
    except subprocess.TimeoutExpired:
        pytest.skip("npm did not install the libraries in time")
    if done.returncode != 0:
        pytest.skip(f"npm cannot install the libraries here: {done.stderr.strip()[-300:]}")
    return home


@pytest.mark.timeout(120)
def test_a_node_client_reads_the_same_answers(shared_system: RunningSystem, node_home: Path) -> None:
    rest = shared_system.rest
    agent_id = rest.post("/api/agents", {"capabilities": ["message"], "limits": {"max_actions": 7}}).result["agent_id"]
    assert rest.post(f"/api/agents/{agent_id}/terminate").status == 200
    contract = node_home / "contract.bin"
    write_contract(contract)
    state = shared_system.state
    command = ["node", str(PROGRAM), str(contract), state["grpc_target"], state["token"], agent_id]
    done = subprocess.run(command, cwd=node_home, capture_output=True, text=True, timeout=RUN_SECONDS)
    assert done.returncode == 0, done.stderr
    answer: dict[str, Any] = json.loads(done.stdout)
    assert {"agent_id": agent_id, "state": "AGENT_STATE_TERMINATED", "max_actions": 7} in answer["agents"]
    listed = rest.get("/api/agents?page_size=200").json["agents"]
    assert [agent["agent_id"] for agent in answer["agents"]] == [agent["agent_id"] for agent in listed]
    recent = rest.get(f"/api/events/recent?subject={agent_id}").json["events"]
    assert answer["recent"] == [{"category": each["category"], "sequence": each["sequence"]} for each in recent]
    assert answer["exported"] == ["agent.created", "agent.terminated"]
    assert answer["refused"] == grpc.StatusCode.UNAUTHENTICATED.value[0]
