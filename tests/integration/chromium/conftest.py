"""A Chromium held by a stand-in for the service, once as root and once as an ordinary user."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.integration.chromium.held import Held, User, held, home_of, users


@pytest.fixture(params=users(), ids=lambda user: user.name)
def user(request: pytest.FixtureRequest) -> User:
    return request.param


@pytest.fixture
def home(user: User) -> Iterator[Path]:
    with home_of(user) as made:
        yield made


@pytest.fixture
def browser(user: User, home: Path) -> Iterator[Held]:
    """A Chromium with its proxy; nothing is opened yet."""
    with held(user, home) as started:
        yield started
