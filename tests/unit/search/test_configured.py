"""Which providers the settings give, and what is loaded for them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from services.kit.config import SettingsError
from services.kit.settings import CommonSettings, SearchSettings
from services.search.configured import Providers, providers_of


def provided(**settings: object) -> Providers:
    return providers_of(SearchSettings(**settings), CommonSettings())  # pyright: ignore[reportArgumentType]


async def test_what_is_set_is_served(tmp_path: Path) -> None:
    assert sorted(provided().by_name) == ["mock"]
    assert sorted(provided(search_corpus=tmp_path).by_name) == ["corpus", "mock"]
    every = provided(
        search_corpus=tmp_path,
        search_searxng="http://127.0.0.1:8888",
        search_provider="fan-out",
        search_private_hosts="",
    )
    assert (sorted(every.by_name), every.default) == (["corpus", "fan-out", "mock", "searxng"], "fan-out")
    for close in every.close:
        await close()


@pytest.mark.parametrize(
    "settings",
    [
        {"search_provider": "corpus"},
        {"search_provider": "nowhere"},
        {"search_corpus": Path("/nowhere/at/all")},
        {"search_searxng": "not a url"},
        {"search_searxng": "file:///etc"},
        {"search_searxng": "http://127.0.0.1:8888", "search_private_hosts": "com"},
    ],
)
async def test_what_cannot_be_served_refuses_to_start(settings: dict[str, object]) -> None:
    with pytest.raises(SettingsError, match="HYPERKITTY_SEARCH_"):
        provided(**settings)


def test_the_service_starts_without_the_libraries_that_it_may_not_need() -> None:
    code = "import sys, services.search.service as s; print([m for m in sys.argv[1:] if m in sys.modules])"
    libraries = ["trafilatura", "lxml", "tantivy", "pypdf", "protego"]
    done = subprocess.run([sys.executable, "-c", code, *libraries], capture_output=True, text=True, timeout=30)
    assert done.stdout.strip() == "[]", done.stderr
