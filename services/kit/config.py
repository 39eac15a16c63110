"""Reading typed settings from HYPERKITTY_* variables: what is malformed or unknown refuses to start (DESIGN §4)."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import NoReturn, TypeVar, cast

from pydantic import ValidationError
from pydantic.fields import FieldInfo
from pydantic_settings import BaseSettings, SettingsConfigDict

PREFIX = "HYPERKITTY_"
EXIT_BAD_SETTINGS = 2


class SettingsError(Exception):
    """Settings that cannot be understood; the text is one clear line for each."""


class Section(BaseSettings):
    """A group of settings; each field is the variable `HYPERKITTY_<FIELD>`, its description is its meaning."""

    model_config = SettingsConfigDict(
        env_prefix=PREFIX, frozen=True, extra="ignore", env_ignore_empty=True, hide_input_in_errors=True
    )


S = TypeVar("S", bound=Section)


@dataclass(frozen=True)
class SettingRow:
    """One line of the settings table."""

    name: str
    type: str
    default: str
    meaning: str
    section: str


def variable(field: str) -> str:
    """The variable that sets a field."""
    return PREFIX + field.upper()


def _type_name(annotation: object) -> str:
    if isinstance(annotation, type):
        return annotation.__name__
    return str(annotation).replace("typing.", "").replace("pathlib.", "").replace(" | None", "")


def rows(sections: Iterable[type[Section]]) -> list[SettingRow]:
    """The settings table, in the order of the code: docs, manifests and the supervisor are made from it."""
    found: list[SettingRow] = []
    for section in sections:
        for name, field in section.model_fields.items():
            if section is not Section and any(name in base.model_fields for base in _parents(section)):
                continue
            meaning = field.description or ""
            found.append(
                SettingRow(variable(name), _type_name(field.annotation), _default(field), meaning, section.__name__)
            )
    return found


def _default(field: FieldInfo) -> str:
    """What the table shows: a computed default is described by the field's `default_text`."""
    extra = field.json_schema_extra
    described = cast("dict[str, object]", extra).get("default_text") if isinstance(extra, dict) else None
    if described is not None:
        return str(described)
    return "" if field.default is None else str(cast("object", field.default))


def _parents(section: type[Section]) -> list[type[Section]]:
    return [base for base in section.__mro__[1:] if issubclass(base, Section)]


def unknown(names: Iterable[str], environment: Mapping[str, str]) -> list[str]:
    """Variables with our prefix that no section has."""
    known = set(names)
    return sorted(name for name in environment if name.startswith(PREFIX) and name not in known)


def load(section: type[S], known: Iterable[str]) -> S:
    """The settings of a section; `known` are the names of every section, since one environment serves all.

    Raises SettingsError.
    """
    problems = [f"{name} is not a setting of HyperKitty" for name in unknown(known, os.environ)]
    try:
        settings = section()
    except ValidationError as error:
        for each in error.errors(include_url=False, include_input=False):
            field = str(each["loc"][0]) if each["loc"] else "?"
            problems.append(f"{variable(field)}: {each['msg']}")
        raise SettingsError("\n".join(problems)) from None
    if problems:
        raise SettingsError("\n".join(problems))
    return settings


def refuse_to_start(error: SettingsError) -> NoReturn:
    """Says what is wrong on standard error and ends the process."""
    for line in str(error).splitlines():
        print(f"hyperkitty: {line}", file=sys.stderr)
    raise SystemExit(EXIT_BAD_SETTINGS)
