"""Single values: what each protobuf scalar accepts from JSON and from a query string, and how it is written."""

from __future__ import annotations

import binascii
import math
import re
import struct
from collections.abc import Callable
from typing import TypeAlias

from google.protobuf.descriptor import FieldDescriptor

from gateway.transcoding import forms
from gateway.transcoding.mismatch import Mismatch, unknown_name, wrong_type

# What setattr takes, and what a field of that type gives back.
Scalar: TypeAlias = "bool | int | float | str | bytes"
Check: TypeAlias = Callable[[object], Scalar]
Write: TypeAlias = Callable[[Scalar], Scalar]

_SIGNED_32 = (-(2**31), 2**31 - 1)
_SIGNED_64 = (-(2**63), 2**63 - 1)
_UNSIGNED_32 = (0, 2**32 - 1)
_UNSIGNED_64 = (0, 2**64 - 1)
_BOUNDS: dict[int, tuple[int, int]] = {
    FieldDescriptor.CPPTYPE_INT32: _SIGNED_32,
    FieldDescriptor.CPPTYPE_INT64: _SIGNED_64,
    FieldDescriptor.CPPTYPE_UINT32: _UNSIGNED_32,
    FieldDescriptor.CPPTYPE_UINT64: _UNSIGNED_64,
}
_FLOAT_LARGEST = struct.unpack("<f", b"\xff\xff\x7f\x7f")[0]
_INTEGER = re.compile(r"-?[0-9]{1,20}")
_NUMBER = re.compile(r"-?[0-9]{1,40}(\.[0-9]{1,40})?([eE][+-]?[0-9]{1,3})?")


def text_of(value: object) -> str:
    """A string that UTF-8 can carry."""
    if not isinstance(value, str):
        raise wrong_type("string", value)
    if not value.isascii():
        try:
            value.encode()
        except UnicodeEncodeError as error:
            problem = f"the string has half of a surrogate pair at character {error.start}"
            raise Mismatch(problem, expected="string") from None
    return value


def number_of(value: object) -> float:
    """A finite number."""
    if type(value) is float or type(value) is int:
        try:
            number = float(value)
        except OverflowError:
            number = math.inf
        if math.isfinite(number):
            return number
        raise wrong_type("finite number", value)
    raise wrong_type("number", value)


def checker(field: FieldDescriptor) -> Check:
    """The check of one value of the field (of one element, when it is repeated): returns what may be set."""
    kind = field.cpp_type
    if kind in _BOUNDS:
        return _integer_check(*_BOUNDS[kind])
    if kind == FieldDescriptor.CPPTYPE_ENUM:
        return _enum_check(field)
    if kind == FieldDescriptor.CPPTYPE_BOOL:
        return _boolean
    if kind == FieldDescriptor.CPPTYPE_DOUBLE:
        return number_of
    if kind == FieldDescriptor.CPPTYPE_FLOAT:
        return _single
    if kind == FieldDescriptor.CPPTYPE_STRING:
        return _bytes if field.type == FieldDescriptor.TYPE_BYTES else text_of
    raise forms.FormError(f"{field.full_name} is not a scalar")


def writer(field: FieldDescriptor) -> Write | None:
    """How one value of the field is written in JSON; None when as it is."""
    if field.type == FieldDescriptor.TYPE_BYTES:
        return _base64
    if field.cpp_type == FieldDescriptor.CPPTYPE_FLOAT:
        return _short
    if field.cpp_type == FieldDescriptor.CPPTYPE_ENUM:
        names = forms.enum_names(forms.enum_type(field))
        # A number that this build does not know comes from a newer service, and is shown as it is.
        return lambda number: names.get(int(number), number)
    return None


def from_text(field: FieldDescriptor) -> Callable[[str], object]:
    """What a query parameter or path variable stands for, as JSON: `checker` decides whether it may be set."""
    kind = field.cpp_type
    if kind in _BOUNDS:
        return lambda text: int(text) if _INTEGER.fullmatch(text) else text
    if kind in (FieldDescriptor.CPPTYPE_DOUBLE, FieldDescriptor.CPPTYPE_FLOAT):
        return lambda text: float(text) if _NUMBER.fullmatch(text) else text
    if kind == FieldDescriptor.CPPTYPE_BOOL:
        return lambda text: {"true": True, "false": False}.get(text, text)
    return lambda text: text


def _integer_check(lowest: int, highest: int) -> Check:
    def check(value: object) -> int:
        # bool is an int to Python, and 1.0 is an integer to some parsers: neither is one here.
        if type(value) is not int:
            raise wrong_type("integer", value)
        if not lowest <= value <= highest:
            raise wrong_type(f"integer from {lowest} to {highest}", value)
        return value

    return check


def _enum_check(field: FieldDescriptor) -> Check:
    numbers = {name: number for number, name in forms.enum_names(forms.enum_type(field)).items()}

    def check(value: object) -> int:
        if not isinstance(value, str):
            raise wrong_type("string", value)
        number = numbers.get(value)
        if number is None:
            raise unknown_name("value", value, numbers)
        return number

    return check


def _boolean(value: object) -> bool:
    if not isinstance(value, bool):
        raise wrong_type("boolean", value)
    return value


def _single(value: object) -> float:
    number = number_of(value)
    if abs(number) > _FLOAT_LARGEST:
        raise wrong_type("number of single precision", value)
    return number


def _bytes(value: object) -> bytes:
    if not isinstance(value, str):
        raise wrong_type("base64 string", value)
    try:
        return binascii.a2b_base64(value, strict_mode=True)
    except ValueError as error:
        raise Mismatch(f"not base64: {error}", expected="base64 string", got="string") from None


def _base64(value: Scalar) -> str:
    assert isinstance(value, bytes)
    return binascii.b2a_base64(value, newline=False).decode("ascii")


def _short(value: Scalar) -> float:
    """The shortest number that is the same in single precision."""
    number = float(value)
    if not math.isfinite(number):
        return number
    short = float(f"{number:.7g}")
    return short if struct.pack("<f", short) == struct.pack("<f", number) else float(f"{number:.9g}")
