"""Every rpc and browser operation is served, or stands in the one list and answers `unimplemented` (DESIGN §2)."""

from __future__ import annotations

import importlib
import importlib.util
import pkgutil
import tempfile
from collections.abc import AsyncIterator
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any, cast

import hyperkitty
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from google.protobuf import descriptor_pool, message_factory
from google.protobuf.message import Message
from hyperkitty.auth.v1.identity_pb2 import CallerIdentity, TokenScopes
from hyperkitty.browser.v1.browser_service_pb2 import ExecuteRequest
from hyperkitty.browser.v1.browser_service_pb2_grpc import BrowserServiceStub
from hyperkitty.browser.v1.operations_pb2 import BrowserOperation
from hyperkitty.operations.v1.errors_pb2 import ErrorCode
from hyperkitty.operations.v1.operations_pb2 import Operation

from services.browser.operations.registry import handler_of
from services.browser.service import BrowserServer
from services.browser.sessions import Sessions
from services.kit.capabilities import operations
from services.kit.clients import KitChannel, open_channel
from services.kit.clock import SystemClock
from services.kit.errors import Refusal
from services.kit.identity import PublicKeys, Signer, Verifier, calling_as
from services.kit.interceptor import Surroundings
from services.kit.memory_events import MemoryEventLog
from services.kit.memory_store import MemoryStore
from services.kit.recorder import Recorder
from services.kit.serving import Server, Servicer
from services.kit.spool import Spool
from services.kit.store import proto_codec
from tests.architecture import unserved
from tests.unit.kit.echo_service import keys_in

ROOT = CallerIdentity(tenant="default", token_id="tok_root", scopes=TokenScopes(root=True))
TREE = Path(__file__).resolve().parents[2]
AUDIENCE = "everything"


def _modules(package: ModuleType) -> list[ModuleType]:
    """The generated modules of an area."""
    names = [found.name for found in pkgutil.iter_modules(package.__path__, f"{package.__name__}.")]
    return [importlib.import_module(name) for name in names]


def _import_servicers() -> None:
    """Every module of the product that has a servicer; others may be scripts."""
    for root in ("services", "gateway"):
        for path in (TREE / root).rglob("*.py"):
            if "Servicer)" in path.read_text():
                importlib.import_module(".".join(path.relative_to(TREE).with_suffix("").parts))


@cache
def generated() -> dict[str, tuple[type, Any]]:
    """Each service of the contract by its short name: the generated servicer, and the function that adds one."""
    found: dict[str, tuple[type, Any]] = {}
    for area in pkgutil.iter_modules(hyperkitty.__path__):
        # Beside the areas of the contract there are the client and the CLI.
        if not area.ispkg or importlib.util.find_spec(f"hyperkitty.{area.name}.v1") is None:
            continue
        package = importlib.import_module(f"hyperkitty.{area.name}.v1")
        for module in _modules(package):
            for name in vars(module):
                if name.endswith("Servicer"):
                    service = f"{area.name}.v1.{name.removesuffix('Servicer')}"
                    found[service] = (getattr(module, name), getattr(module, f"add_{name}_to_server"))
    return found


@cache
def implementations() -> dict[str, type]:
    """The product's class for each service that it has one for."""
    _import_servicers()
    found: dict[str, type] = {}
    for service, (base, _) in generated().items():
        ours = [each for each in base.__subclasses__() if each.__module__.split(".")[0] in ("services", "gateway")]
        assert len(ours) <= 1, f"{service} is served twice"
        if ours:
            found[service] = ours[0]
    return found


def methods() -> set[str]:
    """Every rpc, `area.v1.Service/Method`."""
    pool = descriptor_pool.Default()
    return {
        f"{service}/{method.name}"
        for service in generated()
        for method in pool.FindServiceByName(f"hyperkitty.{service}").methods
    }


def is_written(rpc: str) -> bool:
    """Whether the product has a handler of its own for it."""
    service, method = rpc.split("/")
    ours = implementations().get(service)
    return ours is not None and not getattr(ours, method).__module__.endswith("_pb2_grpc")


def test_every_rpc_has_a_handler_or_stands_in_the_list() -> None:
    assert {rpc for rpc in methods() if not is_written(rpc)} - set(unserved.RPCS) == set()
    assert set(unserved.RPCS) - methods() == set()


def test_every_operation_has_a_handler_or_stands_in_the_list() -> None:
    assert {name for name in operations() if handler_of(name) is None} == set(unserved.OPERATIONS)


def _bare(servicer: type[object]) -> object:
    if issubclass(servicer, BrowserServer):
        return BrowserServer(cast("Sessions", None))
    bare: object = object.__new__(servicer)
    return bare


@pytest.fixture
async def channel(tmp_path: Path) -> AsyncIterator[KitChannel]:
    """Every service in one server with all that kit puts around handlers; what handlers would need is missing."""
    keys: dict[str, Ed25519PrivateKey] = keys_in(tmp_path / "keys", "gateway")
    servicers: list[Servicer] = []
    for service, (base, add) in generated().items():
        ours = implementations().get(service, base)
        # Whatever an unserved method would need, it does not get as far as needing it.
        servicers.append((add, _bare(ours)))
    recorder = Recorder("all", MemoryEventLog(), MemoryStore(proto_codec(Operation)), Spool(tmp_path / "spool"))
    verifier = Verifier(AUDIENCE, PublicKeys(tmp_path / "keys"), SystemClock())
    server = Server(servicers, Surroundings(verifier, recorder, SystemClock()))
    with tempfile.TemporaryDirectory(prefix="hk-", dir="/tmp") as short:
        target = f"unix:{short}/all.sock"
        await server.start(target)
        await server.serve()
        made = open_channel(AUDIENCE, target, Signer("gateway", keys["gateway"], SystemClock()))
        yield made
        await made.close()
        await server.drain(0)


async def _call(channel: KitChannel, rpc: str, request: Message) -> None:
    service, name = rpc.split("/")
    method = descriptor_pool.Default().FindServiceByName(f"hyperkitty.{service}").methods_by_name[name]
    kind = f"{'stream' if method.client_streaming else 'unary'}_{'stream' if method.server_streaming else 'unary'}"
    call = getattr(channel, kind)(
        f"/hyperkitty.{rpc}",
        request_serializer=type(request).SerializeToString,
        response_deserializer=message_factory.GetMessageClass(method.output_type).FromString,
    )
    with calling_as(ROOT):
        under_way = call() if method.client_streaming else call(request)
    if method.client_streaming:
        await under_way.write(request)
    if method.server_streaming:
        await under_way.read()
    else:
        await under_way


@pytest.mark.parametrize("rpc", sorted(unserved.RPCS))
async def test_an_rpc_of_the_list_answers_unimplemented(channel: KitChannel, rpc: str) -> None:
    with pytest.raises(Refusal) as caught:
        await _call(channel, rpc, unserved.RPCS[rpc])
    assert caught.value.code == ErrorCode.ERROR_CODE_UNIMPLEMENTED
    assert caught.value.hint


@pytest.mark.parametrize("name", sorted(unserved.OPERATIONS))
async def test_an_operation_of_the_list_answers_unimplemented(channel: KitChannel, name: str) -> None:
    operation = BrowserOperation()
    getattr(operation, name).CopyFrom(unserved.OPERATIONS[name])
    with calling_as(ROOT):
        call = BrowserServiceStub(channel).Execute(ExecuteRequest(operation=operation))
    with pytest.raises(Refusal) as caught:
        await call
    assert caught.value.code == ErrorCode.ERROR_CODE_UNIMPLEMENTED
