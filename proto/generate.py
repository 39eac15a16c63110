"""Generate the Python contract from proto/hyperkitty into clients/python/hyperkitty, and its image for buf.

`python proto/generate.py` does nothing when neither a .proto nor a generator changed. The output is never committed.
Beside the code it writes build/contract.binpb, a FileDescriptorSet with imports and comments: what `buf lint` and
`buf breaking` read, so that neither needs a network.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import re
import subprocess
import sys
import tempfile
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

from comments import NAME as COMMENTS
from comments import comments_json

ROOT = Path(__file__).resolve().parent.parent
OUTPUT = ROOT / "clients" / "python"
BUILD = ROOT / "build"
STAMP = BUILD / "contract.json"
IMAGE = BUILD / "contract.binpb"

# The one file that no installed package ships as .proto: protovalidate holds only its descriptor. It is generated
# under our own package, so that the client never installs a top-level `buf`.
RULES = "buf/validate/validate.proto"
RULES_IMPORT = b"from buf.validate import"
RULES_IMPORT_OURS = b"from hyperkitty.buf.validate import"
# mypy-protobuf types a servicer's context by what the handler returns; a handler that awaits has one of the message.
CONTEXT = re.compile(rb"(ServicerContext\[[\w.]+, )_abc\.\w+\[([\w.]+)\]\]")
SERVICE = re.compile(r"^service\s", re.MULTILINE)
PROTOC_SECONDS = 60
GENERATORS = ("grpcio-tools", "mypy-protobuf", "protobuf", "protovalidate", "googleapis-common-protos")


class GenerationError(Exception):
    """protoc refused the sources; it has said why on standard error."""


def main() -> int:
    """Exit code 0 when the output is up to date, 1 when protoc refused."""
    BUILD.mkdir(exist_ok=True)
    with (BUILD / "contract.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        fingerprint = source_fingerprint(ROOT / "proto")
        if is_current(fingerprint):
            return 0
        try:
            outputs = generate(ROOT / "proto")
        except GenerationError as error:
            print(f"generate: {error}", file=sys.stderr)
            return 1
        write_changed(STAMP, json.dumps({"fingerprint": fingerprint, "outputs": outputs}).encode())
        print(f"generate: {len(outputs)} files in {OUTPUT.relative_to(ROOT)}/hyperkitty")
    return 0


def source_fingerprint(proto_dir: Path) -> str:
    """Hash of everything the output depends on: sources, this file, versions of the generators."""
    digest = hashlib.sha256(Path(__file__).read_bytes() + Path(__file__).with_name("comments.py").read_bytes())
    for name in GENERATORS:
        digest.update(f"{name}={version(name)}\n".encode())
    for name in source_names(proto_dir):
        digest.update(name.encode() + b"\0" + (proto_dir / name).read_bytes() + b"\0")
    return digest.hexdigest()


def source_names(proto_dir: Path) -> list[str]:
    """Our .proto files as protoc names them, relative to `proto_dir`, sorted."""
    return sorted(path.relative_to(proto_dir).as_posix() for path in (proto_dir / "hyperkitty").rglob("*.proto"))


def recorded_outputs() -> tuple[str, list[str]]:
    """Fingerprint and output files of the last run; empty when there was none or its record is damaged."""
    try:
        record = json.loads(STAMP.read_bytes())
        return str(record["fingerprint"]), [str(name) for name in record["outputs"]]
    except (OSError, ValueError, KeyError, TypeError):
        return "", []


def is_current(fingerprint: str) -> bool:
    recorded, outputs = recorded_outputs()
    return recorded == fingerprint and IMAGE.exists() and all((OUTPUT / name).exists() for name in outputs)


def generate(proto_dir: Path) -> list[str]:
    """Write code, stubs and image; remove what an earlier run wrote and this one did not. Returns the files written."""
    with tempfile.TemporaryDirectory(dir=BUILD) as scratch_name:
        scratch = Path(scratch_name)
        image = scratch / "contract.binpb"
        write_image(proto_dir, image)
        fresh = scratch / "python"
        fresh.mkdir()
        names = source_names(proto_dir)
        services = [name for name in names if SERVICE.search((proto_dir / name).read_text())]
        if names:
            messages = [plugin("protoc-gen-mypy"), f"--python_out={fresh}", f"--mypy_out=quiet:{fresh}"]
            protoc(proto_dir, scratch, [*messages, *names])
            ours = fresh / "hyperkitty"
            protoc(proto_dir, scratch, [f"--python_out={ours}", f"--pyi_out={ours}", RULES])
        if services:
            stubs = f"--mypy_grpc_out=quiet,only_async,generate_concrete_servicer_stubs:{fresh}"
            rpcs = [plugin("protoc-gen-mypy_grpc"), f"--grpc_python_out={fresh}", stubs]
            protoc(proto_dir, scratch, [*rpcs, *services])
        comments = fresh / COMMENTS
        comments.parent.mkdir(exist_ok=True)
        comments.write_bytes(comments_json(image.read_bytes()))
        return publish(fresh, image)


def plugin(name: str) -> str:
    """protoc's flag for a plugin installed beside the running Python."""
    return f"--plugin={name}={Path(sys.executable).parent / name}"


def write_image(proto_dir: Path, destination: Path) -> None:
    """Write the FileDescriptorSet of `proto_dir`, with imports and source positions, for buf."""
    names = source_names(proto_dir)
    if not names:
        destination.write_bytes(b"")
        return
    with tempfile.TemporaryDirectory() as scratch:
        flags = [f"--descriptor_set_out={destination}", "--include_imports", "--include_source_info"]
        protoc(proto_dir, Path(scratch), [*flags, *names])


def protoc(proto_dir: Path, scratch: Path, arguments: list[str]) -> None:
    """Run protoc over `proto_dir`; raises GenerationError when it refuses."""
    rules = scratch / "rules.binpb"
    rules.write_bytes(rules_descriptor_set())
    well_known = package_directory("grpc_tools") / "_proto"
    # google/api/*.proto lie beside the code generated from them.
    site = package_directory("google.api").parents[1]
    includes = [f"-I{directory}" for directory in (proto_dir, well_known, site)]
    command = [sys.executable, "-m", "grpc_tools.protoc", f"--descriptor_set_in={rules}", *includes, *arguments]
    done = subprocess.run(command, timeout=PROTOC_SECONDS)
    if done.returncode != 0:
        raise GenerationError(f"protoc refused the sources in {proto_dir} (exit code {done.returncode})")


def package_directory(name: str) -> Path:
    """Where an installed package lies. Raises GenerationError when it is not installed."""
    spec = find_spec(name)
    locations = list(spec.submodule_search_locations or []) if spec else []
    if not locations:
        raise GenerationError(f"{name} is not installed; run `make setup`")
    return Path(locations[0])


def rules_descriptor_set() -> bytes:
    """buf/validate/validate.proto, from the descriptor inside protovalidate's wheel, after what it imports."""
    from google.protobuf.descriptor_pb2 import FileDescriptorProto, FileDescriptorSet
    from protovalidate import ViolationPb

    rules = ViolationPb.desc().file
    assert rules.name == RULES, rules.name
    files = [FileDescriptorProto.FromString(file.proto.to_binary()) for file in (*rules.dependencies, rules)]
    return FileDescriptorSet(file=files).SerializeToString()


def publish(fresh: Path, image: Path) -> list[str]:
    """Move the fresh output into place file by file, each by rename: a process may be importing meanwhile."""
    for package in sorted({parent for path in fresh.rglob("*.py") for parent in path.relative_to(fresh).parents}):
        if package.parts and package != Path("hyperkitty"):
            (fresh / package / "__init__.py").touch()
    _, previous = recorded_outputs()
    outputs = sorted(path.relative_to(fresh).as_posix() for path in fresh.rglob("*") if path.is_file())
    for name in outputs:
        content = (fresh / name).read_bytes()
        if name.endswith("_pb2.py"):
            content = content.replace(RULES_IMPORT, RULES_IMPORT_OURS)
        if name.endswith("_grpc.pyi"):
            content = CONTEXT.sub(rb"\1\2]", content)
        write_changed(OUTPUT / name, content)
    for name in set(previous) - set(outputs):
        (OUTPUT / name).unlink(missing_ok=True)
    write_changed(IMAGE, image.read_bytes())
    return outputs


def write_changed(path: Path, content: bytes) -> None:
    """Write by rename, unless the file already says the same (its time then stays, and so do caches keyed on it)."""
    if path.exists() and path.read_bytes() == content:
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f".{path.name}.{os.getpid()}")
    partial.write_bytes(content)
    partial.replace(path)


if __name__ == "__main__":
    sys.exit(main())
