"""Message → JSON → message gives the same message, for every type of the contract that a caller may send."""

from __future__ import annotations

import json

from google.protobuf import message_factory
from google.protobuf.descriptor import Descriptor
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gateway.contract import linked_services
from gateway.transcoding import forms
from gateway.transcoding.decode import decoder
from gateway.transcoding.encode import encode_present, encoder
from gateway.transcoding.forms import FormError, OneofForm
from gateway.transcoding.json_text import dump, parse
from tests.unit.gateway.messages import messages


def _types() -> list[Descriptor]:
    methods = [method for service in linked_services() for method in service.methods]
    return sorted({each for m in methods for each in (m.input_type, m.output_type)}, key=lambda each: each.full_name)


def _can_be_read(message: Descriptor) -> bool:
    try:
        decoder(message)
    except FormError:
        return False
    return True


def _has_flattened_arm(message: Descriptor) -> bool:
    return forms.walk(
        message,
        lambda field: (
            (oneof := forms.real_oneof(field)) is not None and forms.oneof_form(oneof) is OneofForm.FLATTEN_ARM
        ),
    )


READABLE = [each for each in _types() if _can_be_read(each)]


def test_only_results_with_a_flattened_arm_cannot_be_read() -> None:
    unreadable = [each for each in _types() if each not in READABLE]
    assert unreadable
    assert all(_has_flattened_arm(each) for each in unreadable)
    assert all(each.full_name.endswith("Response") for each in unreadable)


@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(message_type=st.sampled_from(READABLE), data=st.data())
def test_round_trip(message_type: Descriptor, data: st.DataObject) -> None:
    message = data.draw(messages(message_type))
    text = dump(encoder(message_type)(message))
    again = message_factory.GetMessageClass(message_type)()
    decoder(message_type)(again, parse(text))
    # A flattened message that is unset reads as one that is set and empty, so that JSON is what must be the same.
    assert json.loads(dump(encoder(message_type)(again))) == json.loads(text)
    if not any(forms.is_flattened(field) for field in message_type.fields):
        assert again == message


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(message_type=st.sampled_from(_types()), data=st.data())
def test_what_is_written_is_an_object(message_type: Descriptor, data: st.DataObject) -> None:
    message = data.draw(messages(message_type))
    whole = json.loads(dump(encoder(message_type)(message)))
    assert json.loads(dump(encode_present(message))).items() <= whole.items()
