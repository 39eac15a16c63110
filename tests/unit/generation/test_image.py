"""Generating from .proto: field rules and REST bindings are understood offline, and buf can judge the image."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from generate import GenerationError, source_fingerprint, write_image
from google.protobuf.descriptor_pb2 import FileDescriptorSet

BUF_SECONDS = 30
SOURCE = """
syntax = "proto3";
package hyperkitty.try.v1;
import "buf/validate/validate.proto";
import "google/api/annotations.proto";
// A service.
service TryService {
  // Tries.
  rpc Try(TryRequest) returns (TryResponse) { option (google.api.http) = {get: "/api/try"}; }
}
// What to try.
message TryRequest {
  // Its name.
  string name = 1 [(buf.validate.field).string.min_len = 1];
}
// What came of it.
message TryResponse {}
"""


def contract(directory: Path, source: str) -> Path:
    file = directory / "hyperkitty" / "try" / "v1" / "try_service.proto"
    file.parent.mkdir(parents=True)
    file.write_text(source)
    return directory


def buf(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [str(Path(sys.executable).parent / "buf"), *arguments, "--path", "hyperkitty"]
    return subprocess.run(command, capture_output=True, text=True, timeout=BUF_SECONDS)


def test_the_image_holds_imports_and_comments_and_passes_lint(tmp_path: Path) -> None:
    image = tmp_path / "image.binpb"
    write_image(contract(tmp_path / "proto", SOURCE), image)
    files = {file.name: file for file in FileDescriptorSet.FromString(image.read_bytes()).file}
    assert {"buf/validate/validate.proto", "google/api/http.proto"} <= files.keys()
    comments = files["hyperkitty/try/v1/try_service.proto"].source_code_info.location
    assert " Tries.\n" in [location.leading_comments for location in comments]
    assert (done := buf("lint", str(image))).returncode == 0, done.stdout


def test_lint_and_breaking_see_what_is_wrong(tmp_path: Path) -> None:
    before, after = tmp_path / "before.binpb", tmp_path / "after.binpb"
    write_image(contract(tmp_path / "old", SOURCE), before)
    write_image(
        contract(
            tmp_path / "new",
            SOURCE.replace("string name = 1", "int32 Name = 1").replace(".string.min_len", ".int32.gte"),
        ),
        after,
    )
    assert "lower_snake_case" in buf("lint", str(after)).stdout
    assert "changed type" in buf("breaking", str(after), "--against", str(before)).stdout
    assert buf("breaking", str(before), "--against", str(before)).returncode == 0


def test_what_protoc_refuses_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(GenerationError, match="exit code 1"):
        write_image(contract(tmp_path / "proto", "syntax = 'proto3'; message {"), tmp_path / "image.binpb")


def test_the_fingerprint_follows_the_sources(tmp_path: Path) -> None:
    proto = contract(tmp_path, SOURCE)
    first = source_fingerprint(proto)
    assert source_fingerprint(proto) == first
    (proto / "hyperkitty" / "try" / "v1" / "other.proto").write_text("")
    assert source_fingerprint(proto) != first
