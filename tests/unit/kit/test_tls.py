"""Between pods: mutual TLS, beside the signed identity."""

from __future__ import annotations

import datetime
import ipaddress
import socket
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID

from services.kit import deadlines
from services.kit.clients import open_channel
from services.kit.clock import SystemClock
from services.kit.config import SettingsError
from services.kit.errors import Refusal
from services.kit.identity import Signer, calling_as
from services.kit.serving import Server
from services.kit.transport import Tls, prepare
from tests.unit.kit.echo_service import EchoStub, Request, add_echo, caller, running_echo


class Authority:
    """A certificate authority for one test."""

    def __init__(self) -> None:
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "authority")])
        self.certificate = self._sign(self._name, self._key, is_authority=True)

    def _sign(self, name: x509.Name, key: ec.EllipticCurvePrivateKey, *, is_authority: bool) -> bytes:
        now = datetime.datetime.now(datetime.UTC)
        builder = (
            x509.CertificateBuilder()
            .subject_name(name)
            .issuer_name(self._name)
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - datetime.timedelta(hours=1))
            .not_valid_after(now + datetime.timedelta(hours=1))
            .add_extension(x509.BasicConstraints(ca=is_authority, path_length=None), critical=True)
            .add_extension(
                x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]), critical=False
            )
        )
        return builder.sign(self._key, SHA256()).public_bytes(Encoding.PEM)

    def issue(self, directory: Path, authority: bytes | None = None) -> Tls:
        """A secret as Kubernetes would mount it."""
        key = ec.generate_private_key(ec.SECP256R1())
        name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "service")])
        directory.mkdir()
        (directory / "tls.crt").write_bytes(self._sign(name, key, is_authority=False))
        private = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
        (directory / "tls.key").write_bytes(private)
        (directory / "ca.crt").write_bytes(authority or self.certificate)
        read = Tls.read(directory)
        assert read is not None
        return read


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


async def test_only_who_shows_a_certificate_of_the_authority_is_answered(tmp_path: Path) -> None:
    authority, port = Authority(), free_port()
    stranger = Authority().issue(tmp_path / "stranger", authority.certificate)
    async with running_echo(tmp_path) as echo:
        server = Server([(add_echo, echo.servicer)], echo.around)
        await server.start(f"127.0.0.1:{port}", authority.issue(tmp_path / "server"))
        signer = Signer("gateway", echo.keys["gateway"], SystemClock())
        for tls, answered in ((authority.issue(tmp_path / "client"), True), (stranger, False), (None, False)):
            channel = open_channel("echo", f"127.0.0.1:{port}", signer, tls)
            with calling_as(caller()), deadlines.within(5.0 if answered else 0.5):
                if answered:
                    assert (await EchoStub(channel).Read(Request(text="a"))).text == "a"
                else:
                    with pytest.raises(Refusal, match="unavailable"):
                        await EchoStub(channel).Read(Request(text="a"))
            await channel.close()
        await server.drain(0)


def test_beyond_loopback_only_with_tls(tmp_path: Path) -> None:
    assert prepare("127.0.0.1:0", None) is None
    assert prepare("0.0.0.0:0", Authority().issue(tmp_path / "server")) is None
    with pytest.raises(SettingsError, match="HYPERKITTY_TLS_DIR"):
        prepare("0.0.0.0:0", None)
