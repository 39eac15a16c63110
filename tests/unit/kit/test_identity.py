from __future__ import annotations

from pathlib import Path

import pytest
from hyperkitty.auth.v1.identity_pb2 import CallerIdentity, SignedIdentity

from services.kit.clock import ManualClock
from services.kit.errors import Refusal
from services.kit.identity import KeyUnreadable, PublicKeys, Signer, Verifier, load_private_key, system_identity
from tests.unit.kit.echo_service import caller, keys_in


class Parties:
    """A signer and a verifier with a clock between them."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.clock = ManualClock()
        self.keys = keys_in(directory, "gateway", "agent")
        self.signer = Signer("gateway", self.keys["gateway"], self.clock)
        self.verifier = Verifier("browser", PublicKeys(directory), self.clock)


@pytest.fixture
def parties(tmp_path: Path) -> Parties:
    return Parties(tmp_path / "keys")


def test_what_was_signed_is_believed(parties: Parties) -> None:
    verified = parties.verifier.verify(parties.signer.sign(caller(agent_id="agent_1"), "browser"))
    assert (verified.signer, verified.identity.agent_id, verified.identity.audience) == (
        "gateway",
        "agent_1",
        "browser",
    )


def test_a_signature_is_made_once_for_a_while(parties: Parties) -> None:
    first = parties.signer.sign(caller(), "browser")
    assert parties.signer.sign(caller(), "browser") == first
    assert parties.signer.sign(caller(), "agent") != first
    parties.clock.advance(30)
    assert parties.signer.sign(caller(), "browser") != first


def test_it_expires_and_is_not_from_the_future(parties: Parties) -> None:
    data = parties.signer.sign(caller(), "browser")
    parties.verifier.verify(data)
    parties.clock.advance(61)
    with pytest.raises(Refusal, match="expired"):
        parties.verifier.verify(data)
    later = ManualClock(parties.clock.now_ms() + 60_000)
    with pytest.raises(Refusal, match="times"):
        parties.verifier.verify(Signer("gateway", parties.keys["gateway"], later).sign(caller(), "browser"))


@pytest.mark.parametrize("data", [None, b"", b"\xff\xff", SignedIdentity(key_id="gateway").SerializeToString()])
def test_what_is_no_identity(parties: Parties, data: bytes | None) -> None:
    with pytest.raises(Refusal, match="unauthenticated"):
        parties.verifier.verify(data)


def test_tampering_is_seen(parties: Parties) -> None:
    signed = SignedIdentity.FromString(parties.signer.sign(caller(), "browser"))
    identity = CallerIdentity.FromString(signed.payload)
    identity.tenant = "other"
    signed.payload = identity.SerializeToString()
    with pytest.raises(Refusal, match="signature"):
        parties.verifier.verify(signed.SerializeToString())


@pytest.mark.parametrize("key_id", ["../gateway", "", "nobody", "GATEWAY", "agent"])
def test_another_key_id_is_not_the_signer(parties: Parties, key_id: str) -> None:
    signed = SignedIdentity.FromString(parties.signer.sign(caller(), "browser"))
    signed.key_id = key_id
    with pytest.raises(Refusal, match="signature"):
        parties.verifier.verify(signed.SerializeToString())


def test_a_replaced_key_is_read_again(parties: Parties) -> None:
    parties.verifier.verify(parties.signer.sign(caller(), "browser"))
    new = keys_in(parties.directory, "gateway")["gateway"]
    parties.verifier.verify(Signer("gateway", new, parties.clock).sign(caller(token_id="tok_2"), "browser"))


def test_an_identity_needs_tenant_and_token(parties: Parties) -> None:
    with pytest.raises(Refusal, match="tenant"):
        parties.verifier.verify(parties.signer.sign(CallerIdentity(token_id="tok_1"), "browser"))


def test_a_services_own_identity_is_of_the_system() -> None:
    assert system_identity("health") == CallerIdentity(tenant="system", token_id="system:health")


def test_keys_that_cannot_be_read(tmp_path: Path) -> None:
    (tmp_path / "x.pem").write_text("no key")
    for path in (tmp_path / "x.pem", tmp_path / "absent"):
        with pytest.raises(KeyUnreadable):
            load_private_key(path)
