"""Named profiles: kept from session to session, one session at a time (SPEC §4, "Sessions").

They lie beside the sessions' directories, because Chromium's user cannot go through the home (DESIGN §10); the
service's lock on that place keeps other services out, so who uses what is known here.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Set
from contextlib import contextmanager

from hyperkitty.operations.v1.errors_pb2 import ErrorCode

from services.kit.errors import Refusal

Named = tuple[str, str]
"""A tenant and the name of one of its profiles."""


class Profiles:
    """Who uses which. `taken`: the profiles of sessions that run or are on their way back."""

    def __init__(self, taken: Callable[[], Set[Named]]) -> None:
        self._taken = taken
        self._starting: set[Named] = set()

    @contextmanager
    def held(self, tenant: str, name: str) -> Generator[None]:
        """Hold a profile (an empty name: none) while a session starts with it. Raises Refusal profile_in_use."""
        named = (tenant, name)
        if not name:
            yield
            return
        if named in self._starting or named in self._taken():
            raise Refusal(
                ErrorCode.ERROR_CODE_PROFILE_IN_USE,
                f"the profile {name!r} is in use by another session",
                details={"profile": name},
            )
        self._starting.add(named)
        try:
            yield
        finally:
            self._starting.discard(named)
