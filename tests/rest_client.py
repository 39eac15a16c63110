"""A REST client of a page, on the standard library, so that tests see what the wire carries."""

from __future__ import annotations

import http.client
import json
import ssl
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

CALL_SECONDS = 60.0


@dataclass(frozen=True)
class Reply:
    """One answer. Header names are in lower case."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        """The body as JSON: a test asserts on its parts."""
        return json.loads(self.body)

    @property
    def result(self) -> Any:
        """`result` of an operation that must have succeeded; fails with the whole answer otherwise."""
        assert self.status == 200, f"{self.status}: {self.body.decode(errors='replace')}"
        assert self.json["status"] == "succeeded", self.json
        return self.json["result"]

    @property
    def error_code(self) -> str:
        """`error.code` of a call that must have been refused."""
        assert self.status >= 400, f"{self.status}: {self.body.decode(errors='replace')}"
        return str(self.json["error"]["code"])


class RestClient:
    """Calls with a bearer token; one connection a call."""

    def __init__(self, url: str, token: str | None, *, tls: ssl.SSLContext | None = None) -> None:
        """`tls` for an https URL."""
        self._netloc = urlsplit(url).netloc
        self._tls = tls
        self.token = token

    def get(self, path: str, headers: Mapping[str, str] | None = None) -> Reply:
        return self.call("GET", path, None, headers)

    def post(self, path: str, body: object = None, headers: Mapping[str, str] | None = None) -> Reply:
        return self.call("POST", path, json.dumps({} if body is None else body).encode(), headers)

    def delete(self, path: str, headers: Mapping[str, str] | None = None) -> Reply:
        return self.call("DELETE", path, None, headers)

    def call(self, method: str, path: str, body: bytes | None, headers: Mapping[str, str] | None = None) -> Reply:
        """Any method with the bytes given; what `headers` names wins over what the client would send."""
        sent = {"content-type": "application/json"} if body is not None else {}
        if self.token is not None:
            sent["authorization"] = f"Bearer {self.token}"
        if self._tls is None:
            connection = http.client.HTTPConnection(self._netloc, timeout=CALL_SECONDS)
        else:
            connection = http.client.HTTPSConnection(self._netloc, timeout=CALL_SECONDS, context=self._tls)
        try:
            connection.request(method, path, body, {**sent, **(headers or {})})
            answer = connection.getresponse()
            received = {name.lower(): value for name, value in answer.getheaders()}
            return Reply(answer.status, received, answer.read())
        finally:
            connection.close()
