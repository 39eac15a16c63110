"""emulate: what pages are told of the machine they are shown on."""

from __future__ import annotations

from zoneinfo import available_timezones

from hyperkitty.browser.v1 import sessions_pb2
from hyperkitty.browser.v1.operations_pb2 import EmulateOperation, EmulateResult
from hyperkitty.operations.v1.errors_pb2 import ErrorCode

from services.browser.cdp.domains import emulation, network
from services.browser.cdp.message import Command, Empty
from services.browser.operations.reads import reading
from services.browser.operations.registry import handles
from services.browser.tab import Tab
from services.kit.errors import Refusal

DEFAULT_ACCURACY = 10.0
_SCHEMES = ("", "light", "dark")


@handles(EmulateOperation)
async def emulate(tab: Tab, operation: EmulateOperation) -> EmulateResult:
    """Change what the call names in this tab, and leave the rest."""
    _check(operation)
    settings = sessions_pb2.SessionSettings()
    settings.CopyFrom(tab.emulated)
    for name in ("user_agent", "locale", "timezone"):
        setattr(settings, name, getattr(operation, name) or getattr(settings, name))
    if operation.HasField("geolocation"):
        settings.geolocation.CopyFrom(operation.geolocation)
    with reading(tab):
        await tab.page.tell(_commands(tab, operation, settings))
    tab.emulated.CopyFrom(settings)
    told = sessions_pb2.SessionSettings()
    told.CopyFrom(settings)
    for credentials in told.http_credentials:
        credentials.password = ""
    return EmulateResult(settings=told)


def _commands(tab: Tab, operation: EmulateOperation, settings: sessions_pb2.SessionSettings) -> list[Command[Empty]]:
    commands: list[Command[Empty]] = [
        emulation.SetEmulatedMedia(
            features=[
                emulation.MediaFeature(name="prefers-color-scheme", value=operation.color_scheme),
                emulation.MediaFeature(
                    name="prefers-reduced-motion", value="reduce" if operation.reduced_motion else ""
                ),
            ]
        ),
        network.EmulateNetworkConditions(
            offline=operation.offline, latency=0, download_throughput=-1, upload_throughput=-1
        ),
    ]
    if operation.user_agent or operation.locale:
        commands.append(
            emulation.SetUserAgentOverride(
                user_agent=settings.user_agent or tab.session.default_user_agent,
                accept_language=settings.locale or None,
            )
        )
    if operation.locale:
        commands += [emulation.SetLocaleOverride(), emulation.SetLocaleOverride(locale=settings.locale)]
    if operation.timezone:
        commands.append(emulation.SetTimezoneOverride(timezone_id=settings.timezone))
    if operation.HasField("geolocation"):
        place = operation.geolocation
        commands.append(
            emulation.SetGeolocationOverride(
                latitude=place.latitude, longitude=place.longitude, accuracy=place.accuracy or DEFAULT_ACCURACY
            )
        )
    return commands


def _check(operation: EmulateOperation) -> None:
    """Refuse what Chromium would not know. Raises Refusal invalid_arguments."""
    if operation.color_scheme not in _SCHEMES:
        raise _invalid("color_scheme", f"{operation.color_scheme!r} is neither light nor dark")
    if operation.timezone and operation.timezone not in available_timezones():
        raise _invalid("timezone", f"{operation.timezone!r} is no IANA time zone")
    if "\n" in operation.user_agent or "\r" in operation.user_agent:
        raise _invalid("user_agent", "holds a line break")


def _invalid(field: str, message: str) -> Refusal:
    return Refusal(
        ErrorCode.ERROR_CODE_INVALID_ARGUMENTS,
        f"{field}: {message}",
        details={"violations": [{"field": field, "message": message}]},
    )
