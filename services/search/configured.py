"""The providers that the settings give. What a provider needs is loaded only where it is set."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from services.kit.config import SettingsError
from services.kit.dialer import CheckedDialer, EgressPolicy
from services.kit.host_rules import HostRules, InvalidRule
from services.kit.hosts import InvalidHost, host_and_port
from services.kit.settings import CommonSettings, GatewaySettings, SearchSettings, load
from services.search.providers.mock import MockProvider
from services.search.providers.provider import Provider


@dataclass
class Providers:
    """By name, with the name of the one for jobs that name none."""

    by_name: dict[str, Provider]
    default: str
    close: list[Callable[[], Awaitable[None]]] = field(default_factory=list[Callable[[], Awaitable[None]]])


def providers_of(settings: SearchSettings, common: CommonSettings) -> Providers:
    """Raises SettingsError."""
    found: list[Provider] = []
    made = Providers({}, settings.search_provider)
    if settings.search_corpus is not None:
        found.append(_corpus(settings))
    if settings.search_searxng:
        found.append(_searxng(settings, common, made))
    made.by_name = {each.name: each for each in [MockProvider(), *found]}
    if len(found) > 1:
        from services.search.providers.fan_out import FanOutProvider

        fan_out = FanOutProvider(found)
        made.by_name[fan_out.name] = fan_out
    if made.default not in made.by_name:
        known = ", ".join(sorted(made.by_name))
        raise SettingsError(f"HYPERKITTY_SEARCH_PROVIDER: {made.default} is not set up; there are: {known}")
    return made


def _corpus(settings: SearchSettings) -> Provider:
    from services.search.providers.corpus import CorpusProvider

    folder = settings.search_corpus
    if folder is None or not folder.is_dir():
        raise SettingsError(f"HYPERKITTY_SEARCH_CORPUS: {folder} is not a folder that can be read")
    return CorpusProvider(folder)


def _searxng(settings: SearchSettings, common: CommonSettings, made: Providers) -> Provider:
    from services.search.providers.searxng import SearxngProvider
    from services.search.web.client import HttpClient
    from services.search.web.fetcher import WebFetcher

    own_ports = _own_ports(common)
    try:
        host, port = host_and_port(settings.search_searxng)
        # The operator's setting is the rule that opens the instance, for asking it; documents have their own rules.
        instance = EgressPolicy(opened=HostRules.parse([f"{host}:{port}"]), own_ports=own_ports)
        texts = [each.strip() for each in settings.search_private_hosts.split(",") if each.strip()]
        documents = EgressPolicy(opened=HostRules.parse(texts), own_ports=own_ports)
    except (InvalidHost, InvalidRule) as error:
        raise SettingsError(f"HYPERKITTY_SEARCH_SEARXNG or HYPERKITTY_SEARCH_PRIVATE_HOSTS: {error}") from error
    client = HttpClient(CheckedDialer(instance))
    fetcher = WebFetcher(HttpClient(CheckedDialer(documents)))
    made.close += [client.close, fetcher.close]
    return SearxngProvider(settings.search_searxng, client, fetcher)


def _own_ports(common: CommonSettings) -> frozenset[int]:
    """HyperKitty's own ports on this machine: no document is fetched from them, whatever a rule says (SPEC §5)."""
    gateway = load(GatewaySettings)
    nats = urlsplit(common.nats_url).port
    return frozenset({gateway.rest_port, gateway.grpc_port, *([nats] if nats else [])})
