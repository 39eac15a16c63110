"""Ed25519 keys by which services sign who is calling: `python -m deploy.local.keys <private> <public> <name>…`.

A program of its own: cryptography is a large import that the supervisor would otherwise carry for its whole life.
"""

from __future__ import annotations

import sys
from pathlib import Path

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
    load_pem_private_key,
)

from deploy.local.home import write_private


def main() -> int:
    private, public, names = Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3:]
    for name in names:
        ensure_key(private / f"{name}.pem", public / f"{name}.pub")
    for stray in public.glob("*.pub"):
        # A public key in this directory is a signer everybody trusts.
        if stray.stem not in names:
            stray.unlink()
    return 0


def ensure_key(private: Path, public: Path) -> None:
    """Keep the key that is there, else make one; the public half always follows the private one."""
    if private.exists():
        key = load_pem_private_key(private.read_bytes(), password=None)
        if not isinstance(key, Ed25519PrivateKey):
            raise SystemExit(f"{private} is not an Ed25519 key")
    else:
        key = Ed25519PrivateKey.generate()
        write_private(private, key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode())
    write_private(public, key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo).decode())


if __name__ == "__main__":
    sys.exit(main())
