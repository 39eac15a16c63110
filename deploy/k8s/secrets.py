"""Everything secret of one installation, made anew.

    python -m deploy.k8s.secrets --host hyperkitty.example | kubectl apply -f -

Prints a List of Secret manifests for `kubectl apply -f -`: signing keys, mutual TLS, NATS's users with the rights of
deploy/nats_rights.py and each process's credential for it, the root token, the edge's certificate. The manifests of
deploy/k8s name these secrets and hold none. Running it again replaces all of them: every pod must restart then.
"""

from __future__ import annotations

import argparse
import json
import secrets
import sys
from collections.abc import Sequence

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, PublicFormat

from deploy.k8s.certificates import Authority
from deploy.nats_rights import user_of
from deploy.processes import NATS, TABLE, Process

PASSWORD_BYTES = 24
TOKEN_BYTES = 32
NAMESPACE = "hyperkitty"
# Name of a secret -> its files.
Files = dict[str, dict[str, str]]


def generate(namespace: str, hosts: Sequence[str]) -> Files:
    """The files of every secret; `hosts` are the names under which people call the edge."""
    authority = Authority()
    files: Files = {
        "public-keys": {},
        "nats-users": {},
        "root-token": {"root.token": f"hk_{secrets.token_urlsafe(TOKEN_BYTES)}\n"},
        "edge-tls": _tls(authority, [*hosts, "localhost"]),
    }
    users: list[dict[str, object]] = []
    for process in TABLE:
        if process.name == NATS.name:
            continue
        password = secrets.token_urlsafe(PASSWORD_BYTES)
        users.append(user_of(process, password))
        private, files["public-keys"][f"{process.name}.pub"] = _signing_key()
        files[f"{process.name}-identity"] = {
            "identity.pem": private,
            "nats.credentials": f"{process.name}:{password}\n",
        }
        files[f"{process.name}-tls"] = _tls(authority, names_of(process, namespace))
    # The server's configuration language takes JSON values.
    files["nats-users"]["users.conf"] = f"users: {json.dumps(users, indent=2)}\n"
    return files


def names_of(process: Process, namespace: str) -> list[str]:
    """What a process is called by others, and by its own probe."""
    name = process.name
    scoped = f"{name}.{namespace}"
    return [name, scoped, f"{scoped}.svc", f"{scoped}.svc.cluster.local", "localhost"]


def _tls(authority: Authority, names: Sequence[str]) -> dict[str, str]:
    pair = authority.issue(names)
    return {"tls.crt": pair.certificate, "tls.key": pair.key, "ca.crt": authority.certificate}


def _signing_key() -> tuple[str, str]:
    """A private key and its public half, PEM."""
    key = Ed25519PrivateKey.generate()
    private = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode()
    return private, key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo).decode()


def manifests(files: Files, namespace: str) -> dict[str, object]:
    """A List of Secrets, as kubectl applies it."""
    items = [
        {
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": {"name": name, "namespace": namespace, "labels": {"app.kubernetes.io/part-of": "hyperkitty"}},
            "type": "kubernetes.io/tls" if "tls.key" in content else "Opaque",
            "stringData": content,
        }
        for name, content in files.items()
    ]
    return {"apiVersion": "v1", "kind": "List", "items": items}


def main() -> int:
    """Entry point."""
    parser = argparse.ArgumentParser(prog="python -m deploy.k8s.secrets", description=__doc__)
    parser.add_argument("--namespace", default=NAMESPACE)
    parser.add_argument("--host", action="append", required=True, help="a name under which the edge is called")
    chosen = parser.parse_args()
    if sys.stdout.isatty():
        parser.error("this prints keys: send it to a file or to `kubectl apply -f -`")
    json.dump(manifests(generate(chosen.namespace, chosen.host), chosen.namespace), sys.stdout, indent=2)
    return 0


if __name__ == "__main__":
    sys.exit(main())
