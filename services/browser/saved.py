"""What brings a session back (SPEC §4, "Crashes"): one file a session, 0600, written by rename and fsynced.

It holds cookies and credentials, so it lies in the service's home, where no session's user can look.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

import msgspec
from hyperkitty.browser.v1 import sessions_pb2 as pb

from services.browser.cdp.domains.network import Cookie, CookieParam
from services.browser.cdp.domains.storage import GetCookiesResult
from services.kit import logs
from services.kit.ids import is_id

log = logs.get(__name__)

# Refs are numbered on from the next multiple but one: the file need not be written for every snapshot.
REF_STEP = 10_000
# More requests than these are worth a write of their own.
REQUEST_STEP = 20


class SavedTab(msgspec.Struct, frozen=True):
    """A tab as it is opened again."""

    tab_id: str
    url: str
    opener_tab_id: str
    created_at_ms: int


class SavedSession(msgspec.Struct, frozen=True):
    """A session as it is started again. `settings` and `policy` are serialized messages of the contract."""

    session_id: str
    tenant: str
    owner_agent_id: str
    profile: str
    settings: bytes
    policy: bytes
    created_at_ms: int
    restart_count: int
    opened_tabs: int
    next_ref: int
    opened: tuple[str, ...]
    tabs: tuple[SavedTab, ...]
    cookies: tuple[CookieParam, ...]
    network_requests: int = 0
    requests_before_owner: int = 0

    def is_kept_by(self, kept: SavedSession | None) -> bool:
        """Whether what was last written will do: the same, but for a few requests more."""
        if kept is None or self.network_requests - kept.network_requests >= REQUEST_STEP:
            return False
        return msgspec.structs.replace(self, network_requests=kept.network_requests) == kept

    def tab_ids(self) -> frozenset[str]:
        """The tabs it has."""
        return frozenset(tab.tab_id for tab in self.tabs)


def params_of(answer: GetCookiesResult) -> tuple[CookieParam, ...]:
    """Cookies as they are set again."""
    return tuple(_param_of(cookie) for cookie in answer.cookies)


def _param_of(cookie: Cookie) -> CookieParam:
    """A cookie as it is set again. A host-only one must be named by a URL: a domain would widen it."""
    host_only = not cookie.domain.startswith(".")
    scheme = "https" if cookie.secure else "http"
    return CookieParam(
        name=cookie.name,
        value=cookie.value,
        url=f"{scheme}://{cookie.domain}{cookie.path}" if host_only else None,
        domain=None if host_only else cookie.domain,
        path=cookie.path,
        secure=cookie.secure,
        http_only=cookie.http_only,
        same_site=msgspec.convert(cookie.same_site, _SAME_SITE) if cookie.same_site else None,
        expires=None if cookie.session else cookie.expires,
        partition_key=cookie.partition_key,
    )


_SAME_SITE = CookieParam.__annotations__["same_site"]


@dataclass(frozen=True, slots=True)
class SavedSessions:
    """All files of a home. Its methods block: call them in a thread."""

    directory: Path

    def prepare(self) -> None:
        """Make the directory."""
        self.directory.mkdir(mode=0o700, parents=True, exist_ok=True)

    def save(self, saved: SavedSession) -> None:
        """Write, so that the file is whole whenever the machine stops. Raises OSError."""
        path = self._path(saved.session_id)
        partial = path.with_suffix(".partial")
        descriptor = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(descriptor, "wb") as file:
            file.write(msgspec.json.encode(saved))
            file.flush()
            os.fsync(file.fileno())
        partial.replace(path)

    def remove(self, session_id: str) -> None:
        """Forget a session."""
        self._path(session_id).unlink(missing_ok=True)

    def all(self) -> list[SavedSession]:
        """Every session that was not ended, oldest first. What cannot be read is logged and removed."""
        found: list[SavedSession] = []
        for path in sorted(self.directory.glob("sess_*.json")):
            try:
                found.append(msgspec.json.decode(path.read_bytes(), type=SavedSession))
            except (OSError, msgspec.MsgspecError) as error:
                log.error("saved_session_unreadable", path=str(path), error=str(error))
                path.unlink(missing_ok=True)
        return found

    def _path(self, session_id: str) -> Path:
        if not is_id("sess", session_id):
            raise ValueError(f"not a session id: {session_id[:60]!r}")
        return self.directory / f"{session_id}.json"


def settings_of(saved: SavedSession) -> pb.SessionSettings:
    """How its browser is set up."""
    return pb.SessionSettings.FromString(saved.settings)


def policy_of(saved: SavedSession) -> pb.NetworkPolicy:
    """Where it may go."""
    return pb.NetworkPolicy.FromString(saved.policy)
