"""Addresses and credentials of gRPC: Unix sockets in a 0700 directory, TCP with mutual TLS on Kubernetes."""

from __future__ import annotations

import contextlib
import os
import stat
from dataclasses import dataclass
from pathlib import Path

import grpc

from services.kit.config import SettingsError

# The default of 8 KiB is too little for a delegated identity with long grants beside an error's details.
METADATA_BYTES = 64 * 1024
MESSAGE_BYTES = 32 * 1024**2
# Over this a Unix socket's path is refused by some systems (DESIGN §10).
_LONGEST_SOCKET_PATH = 100

COMMON_OPTIONS: list[tuple[str, int | str]] = [
    ("grpc.max_metadata_size", METADATA_BYTES),
    ("grpc.absolute_max_metadata_size", METADATA_BYTES * 2),
    ("grpc.max_receive_message_length", MESSAGE_BYTES),
    ("grpc.max_send_message_length", MESSAGE_BYTES),
    ("grpc.keepalive_time_ms", 20_000),
    ("grpc.keepalive_timeout_ms", 5_000),
    ("grpc.keepalive_permit_without_calls", 1),
    ("grpc.http2.max_pings_without_data", 0),
]


@dataclass(frozen=True)
class Tls:
    """This process's certificate and key, and the authority that signed everybody's (PEM)."""

    certificate: bytes
    key: bytes
    authority: bytes

    @classmethod
    def read(cls, directory: Path | None) -> Tls | None:
        """From a directory laid out as a Kubernetes TLS secret; None where none is set. Raises SettingsError."""
        if directory is None:
            return None
        try:
            parts = [(directory / name).read_bytes() for name in ("tls.crt", "tls.key", "ca.crt")]
        except OSError as error:
            raise SettingsError(f"HYPERKITTY_TLS_DIR: {error.filename}: {error.strerror}") from error
        return cls(*parts)

    def server(self) -> grpc.ServerCredentials:
        """Clients must show a certificate of the same authority."""
        return grpc.ssl_server_credentials(
            [(self.key, self.certificate)], root_certificates=self.authority, require_client_auth=True
        )

    def channel(self) -> grpc.ChannelCredentials:
        return grpc.ssl_channel_credentials(self.authority, self.key, self.certificate)


def prepare_socket(path: Path) -> None:
    """Makes the socket's directory (0700, ours) and removes what an earlier process left. Raises SettingsError."""
    if len(os.fsencode(path)) > _LONGEST_SOCKET_PATH:
        raise SettingsError(f"the socket path {path} is too long; set HYPERKITTY_RUNTIME_DIR to a shorter one")
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    facts = path.parent.stat()
    if facts.st_uid != os.geteuid() or stat.S_IMODE(facts.st_mode) & 0o077:
        raise SettingsError(f"the socket directory {path.parent} must belong to this user with mode 0700")
    with contextlib.suppress(FileNotFoundError):
        path.unlink()


def prepare(listen: str, tls: Tls | None) -> Path | None:
    """Makes ready to listen on `unix:<path>` (returns the path) or `host:port` (None). Raises SettingsError.

    Beyond loopback only with TLS.
    """
    if listen.startswith("unix:"):
        path = Path(listen.removeprefix("unix:"))
        prepare_socket(path)
        return path
    if tls is None and not is_loopback(listen):
        raise SettingsError(f"{listen} is reachable from elsewhere: HYPERKITTY_TLS_DIR must be set for it")
    return None


def is_loopback(listen: str) -> bool:
    """Whether a `host:port` is this machine's own."""
    return listen.rpartition(":")[0].strip("[]") in ("127.0.0.1", "::1", "localhost")
