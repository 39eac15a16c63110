from __future__ import annotations

import json

import pytest

from services.kit import logs


def test_lines_are_json_with_the_calls_ids_and_no_secret(capsys: pytest.CaptureFixture[str]) -> None:
    logs.configure("browser")
    logs.bind(request_id="r-1", session_id="")
    logs.get("services.kit.x").info("done", token="hk_1", token_id="tok_1", Authorization="Bearer x", text="y" * 9_000)
    line = json.loads(capsys.readouterr().err)
    assert line["service"] == "browser"
    assert line["request_id"] == "r-1"
    assert "session_id" not in line
    assert line["event"] == "done"
    assert line["module"] == "kit.x"
    assert line["token"] == line["Authorization"] == "[masked]"
    assert line["token_id"] == "tok_1"
    assert len(line["text"]) < 5_000


def test_below_the_level_nothing_is_logged(capsys: pytest.CaptureFixture[str]) -> None:
    logs.configure("browser", "error")
    logs.get("x").warning("quiet")
    assert capsys.readouterr().err == ""
