"""HTTP authentication and certificate errors: a clear end, never a wait (cases 30 and 31)."""

from __future__ import annotations

import ssl
import threading
import time
from collections.abc import Iterator
from http.server import ThreadingHTTPServer
from pathlib import Path

import pytest
from hyperkitty.browser.v1 import operations_pb2 as pb
from hyperkitty.browser.v1.sessions_pb2 import HttpCredentials, SessionSettings
from hyperkitty.operations.v1.errors_pb2 import ErrorCode

from deploy.k8s.certificates import Authority
from services.kit.errors import Refusal
from tests.integration.page.conftest import running
from tests.integration.page.driving import CASES, Driver
from tests.site import Page, Site, SiteHandler


def credentials(site: Site, password: str, host: str = "127.0.0.1") -> SessionSettings:
    origin = f"http://{host}:{site.port}/"
    return SessionSettings(http_credentials=[HttpCredentials(origin=origin, username="user", password=password)])


async def test_without_credentials_it_is_said_at_once(driver: Driver) -> None:
    began = time.monotonic()
    with pytest.raises(Refusal) as caught:
        await driver.go(driver.site.url("/auth"))
    assert time.monotonic() - began < 3
    assert caught.value.code == ErrorCode.ERROR_CODE_HTTP_AUTH_REQUIRED
    assert (caught.value.details["scheme"], caught.value.details["realm"]) == ("basic", "site")
    html = (CASES / "30-http-auth" / "page.html").read_text(encoding="utf-8").replace("/srv/basic-auth", "/auth")
    await driver.go(driver.site.put("/30", html))
    await driver.run(pb.WaitForOperation(text="image failed"))


async def test_credentials_go_to_their_origin_only(local_site: Site) -> None:
    local_site.pages.clear()
    async with running(local_site, credentials(local_site, "pass")) as session:
        driver = await Driver.open(session, local_site)
        await driver.go(local_site.url("/auth"))
        assert "let in" in (await driver.run(pb.ReadPageOperation())).content
        assert "pass" not in session.to_proto().settings.http_credentials[0].password
        with pytest.raises(Refusal) as caught:
            await driver.go(f"http://localhost:{local_site.port}/auth")
        assert caught.value.code == ErrorCode.ERROR_CODE_HTTP_AUTH_REQUIRED
        assert not [
            hit for hit in local_site.hits("/auth") if "localhost" in hit.host and "authorization" in hit.headers
        ]


async def test_wrong_credentials_are_tried_once(local_site: Site) -> None:
    local_site.pages.clear()
    async with running(local_site, credentials(local_site, "wrong")) as session:
        driver = await Driver.open(session, local_site)
        before = len(local_site.hits("/auth"))
        with pytest.raises(Refusal) as caught:
            await driver.go(local_site.url("/auth"))
        assert caught.value.code == ErrorCode.ERROR_CODE_HTTP_AUTH_REQUIRED
        assert len(local_site.hits("/auth")) - before == 2
        assert "wrong" not in str(caught.value.details)


@pytest.fixture
def secure(local_site: Site, tmp_path: Path) -> Iterator[int]:
    """The port of a site whose certificate nobody signed."""
    key, certificate = tmp_path / "key", tmp_path / "certificate"
    pair = Authority("Nobody knows it").issue(["127.0.0.1"])
    key.write_text(pair.key)
    certificate.write_text(pair.certificate)
    local_site.pages["/ok"] = Page(b"<title>ok</title><p>secret content")
    server = ThreadingHTTPServer(("127.0.0.1", 0), type("Handler", (SiteHandler,), {"site": local_site}))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    server.socket = context.wrap_socket(server.socket, server_side=True)
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    yield server.server_port
    server.shutdown()
    server.server_close()


async def test_certificate_errors_are_each_sessions_own(local_site: Site, secure: int) -> None:
    url = f"https://127.0.0.1:{secure}/ok"
    ignoring = SessionSettings(ignore_certificate_errors=True)
    async with running(local_site, SessionSettings(), secure) as strict, running(local_site, ignoring, secure) as lax:
        easy, hard = await Driver.open(lax, local_site), await Driver.open(strict, local_site)
        result = await easy.go(url)
        assert (result.title, result.navigation.http_status) == ("ok", 200)
        began = time.monotonic()
        with pytest.raises(Refusal) as caught:
            await hard.go(url)
        assert time.monotonic() - began < 5
        assert caught.value.code == ErrorCode.ERROR_CODE_NAVIGATION_FAILED
        assert caught.value.details["net_error"] == "net::ERR_CERT_AUTHORITY_INVALID"
        assert "secret content" not in (await hard.run(pb.ReadPageOperation())).content
