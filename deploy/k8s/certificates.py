"""A certificate authority of our own, and certificates for services and the edge (X.509, P-256).

Small on purpose: where cert-manager runs, its certificates in secrets of the same names do as well.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

VALID_DAYS = 365
# Clocks of nodes differ.
BACKDATED = timedelta(minutes=5)


@dataclass(frozen=True)
class Pair:
    """A certificate and its key, PEM."""

    certificate: str
    key: str


class Authority:
    """Signs certificates for `valid_days`; its own key is never written anywhere."""

    def __init__(self, name: str = "HyperKitty", valid_days: int = VALID_DAYS) -> None:
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        self._begins = datetime.now(UTC) - BACKDATED
        self._ends = self._begins + timedelta(days=valid_days)
        built = (
            self._builder(self._name, self._key.public_key())
            .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
            .add_extension(_usage(signs=True), critical=True)
        )
        self._certificate = built.sign(self._key, hashes.SHA256())
        self.certificate = self._certificate.public_bytes(Encoding.PEM).decode()

    def _builder(self, subject: x509.Name, key: ec.EllipticCurvePublicKey) -> x509.CertificateBuilder:
        return (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(self._name)
            .public_key(key)
            .serial_number(x509.random_serial_number())
            .not_valid_before(self._begins)
            .not_valid_after(self._ends)
            .add_extension(x509.SubjectKeyIdentifier.from_public_key(key), critical=False)
        )

    def issue(self, names: Sequence[str]) -> Pair:
        """A certificate for these host names and addresses, good for server and client (mutual TLS)."""
        key = ec.generate_private_key(ec.SECP256R1())
        uses = [ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.CLIENT_AUTH]
        built = (
            self._builder(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, names[0])]), key.public_key())
            .add_extension(x509.SubjectAlternativeName([_general_name(name) for name in names]), critical=False)
            .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
            .add_extension(x509.ExtendedKeyUsage(uses), critical=False)
            .add_extension(_usage(signs=False), critical=True)
            .add_extension(
                x509.AuthorityKeyIdentifier.from_issuer_public_key(self._key.public_key()),
                critical=False,
            )
        )
        private = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode()
        return Pair(built.sign(self._key, hashes.SHA256()).public_bytes(Encoding.PEM).decode(), private)


def _general_name(name: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(name))
    except ValueError:
        return x509.DNSName(name)


def _usage(*, signs: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=not signs,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=signs,
        crl_sign=signs,
        encipher_only=False,
        decipher_only=False,
    )
