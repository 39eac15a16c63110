"""Users for sessions."""

from __future__ import annotations

import os

import pytest

from services.browser.chromium import owners


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives sessions users of their own")
def test_under_root_no_two_sessions_share_a_user_until_it_is_given_back(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(owners, "FIRST", 61000)
    monkeypatch.setattr(owners, "LAST", 61002)
    claimed = [owners.claim() for _ in range(3)]
    assert {owner.uid for owner in claimed} == {61000, 61001, 61002}
    with pytest.raises(owners.NoOwnerLeft):
        owners.claim()
    claimed[1].release()
    again = owners.claim()
    assert again.uid == claimed[1].uid
    for owner in (*claimed, again):
        owner.release()


@pytest.mark.skipif(os.geteuid() == 0, reason="root gives sessions users of their own")
def test_an_ordinary_user_runs_its_sessions_itself() -> None:
    assert owners.claim().uid == os.geteuid()
