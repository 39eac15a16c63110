"""`buf breaking`: the contract as it stands against the last landed one.

Compared with, first that applies: origin/main, when HEAD is ahead of it; HEAD, when proto/ has uncommitted changes;
the parent of the last commit that touched proto/. With none of them there is nothing to break, and the check passes.
A break that is meant is declared in its commit by a trailer `Contract-Break: <reason>`.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

from generate import IMAGE, ROOT, GenerationError, write_image

TRAILER = "Contract-Break"
GIT_SECONDS = 30
BUF_SECONDS = 60


def main() -> int:
    """Exit code 0 when compatible, declared or without a predecessor; buf's own when it found a break."""
    base = base_commit()
    if base is None:
        print("buf breaking: no earlier contract to compare with")
        return 0
    reasons = git("log", f"--format=%(trailers:key={TRAILER},valueonly)", f"{base}..HEAD", "--", "proto").split()
    if reasons:
        print(f"buf breaking: declared since {base[:12]}: {' '.join(reasons)}")
        return 0
    if not git("ls-tree", base, "proto/hyperkitty").strip():
        print(f"buf breaking: no contract in {base[:12]}")
        return 0
    with tempfile.TemporaryDirectory() as scratch:
        previous = Path(scratch) / "previous.binpb"
        image_of(base, Path(scratch), previous)
        buf = Path(sys.executable).parent / "buf"
        command = [str(buf), "breaking", str(IMAGE), "--against", str(previous), "--path", "hyperkitty"]
        code = subprocess.run(command, cwd=ROOT, timeout=BUF_SECONDS).returncode
    print(f"buf breaking: {'compatible with' if code == 0 else 'breaks'} {base[:12]}")
    return code


def base_commit() -> str | None:
    """The commit whose contract must still hold; None when history has none."""
    landed = git("rev-parse", "--verify", "--quiet", "origin/main").strip()
    head = git("rev-parse", "--verify", "--quiet", "HEAD").strip()
    if not head:
        return None
    if landed and git("rev-list", "--count", f"{landed}..HEAD").strip() not in ("", "0"):
        return landed
    if git("status", "--porcelain", "--", "proto/hyperkitty").strip():
        return head
    touched = git("log", "-1", "--format=%H", "--", "proto/hyperkitty").strip()
    return git("rev-parse", "--verify", "--quiet", f"{touched}~1").strip() or None if touched else None


def image_of(commit: str, scratch: Path, destination: Path) -> None:
    """Write the image of the contract at `commit`; raises GenerationError when it cannot be had."""
    archive = subprocess.run(["git", "archive", commit, "proto"], cwd=ROOT, capture_output=True, timeout=GIT_SECONDS)
    unpacked = subprocess.run(["tar", "-x", "-C", str(scratch)], input=archive.stdout, timeout=GIT_SECONDS)
    if archive.returncode != 0 or unpacked.returncode != 0:
        raise GenerationError(f"the contract of {commit} could not be read")
    write_image(scratch / "proto", destination)


def git(*arguments: str) -> str:
    """Output of a git command; empty when it refused (no such commit, no repository)."""
    done = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, timeout=GIT_SECONDS)
    return done.stdout if done.returncode == 0 else ""


if __name__ == "__main__":
    sys.exit(main())
