"""Chromium's command line: every switch with its reason."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from services.browser.chromium.binary import Binary

NO_SANDBOX = "--no-sandbox"
DEFAULT_WINDOW = (1280, 720)

# Nothing is asked of the vendor's servers, and nothing is told them.
_SILENT = (
    "--disable-background-networking",  # variations, safe browsing lists, extension updates, prediction
    "--disable-component-update",
    "--component-updater=url-source=about:blank",  # the switch above leaves what is asked "on demand" at start
    "--disable-client-side-phishing-detection",
    "--disable-sync",
    "--disable-domain-reliability",  # reports of failed requests
    "--disable-breakpad",  # crash reports
    "--disable-crash-reporter",
    "--metrics-recording-only",
    "--no-pings",  # <a ping>: the page's, but it serves nobody here
    "--no-first-run",
    "--no-default-browser-check",
    "--disable-default-apps",
    "--disable-extensions",
    "--disable-component-extensions-with-background-pages",
    "--disable-search-engine-choice-screen",
    "--password-store=basic",  # no D-Bus, no keyring
    "--use-mock-keychain",
)

# A page does not run slower, or not at all, because nobody looks at it: all tabs of a session can be driven at once.
_AWAKE = (
    "--disable-backgrounding-occluded-windows",
    "--disable-background-timer-throttling",
    "--disable-renderer-backgrounding",
    "--disable-ipc-flooding-protection",  # history and navigation calls of a fast caller are not dropped
    "--disable-hang-monitor",  # a silent page is reported by the product, not by a dialog
)

_BEHAVIOUR = (
    "--disable-back-forward-cache",  # going back loads a document that has a loader id of its own
    "--disable-popup-blocking",  # popups become tabs; the session's limit of tabs holds
    "--disable-prompt-on-repost",
    "--disable-external-intent-requests",
    "--deny-permission-prompts",  # what settings do not grant is denied, without a prompt that nobody answers
    "--disable-notifications",
    "--disable-print-preview",
    "--mute-audio",
    "--hide-scrollbars",  # a screenshot's size is the viewport's
    "--force-color-profile=srgb",
    "--enable-automation",  # no infobar, no password bubble
)

# Below the page: everything goes through the session's proxy, on whatever host.
_NETWORK = (
    "--proxy-server=http://127.0.0.1:{proxy_port}",
    "--proxy-bypass-list=<-loopback>",  # also localhost and 169.254/16, which are otherwise asked directly
    "--disable-quic",
    "--webrtc-ip-handling-policy=disable_non_proxied_udp",
    "--dns-prefetch-disable",
)

_FEATURES_OFF = (
    "AutofillServerCommunication",
    "CertificateTransparencyComponentUpdater",
    "DialMediaRouteProvider",  # SSDP on the local network
    "GlobalMediaControls",
    "HttpsUpgrades",  # http:// stays what the caller wrote
    "HttpsFirstBalancedModeAutoEnable",
    "InterestFeedContentSuggestions",
    "LensOverlay",
    "MediaRouter",  # Cast and mDNS
    "NetworkTimeServiceQuerying",
    "OptimizationHints",
    "PaintHolding",  # a new document's first frame is not held back
    "Prerender2",  # a document never exists before its navigation
    "ThirdPartyStoragePartitioningUserBypass",
    "Translate",
)


@dataclass(frozen=True)
class CommandLine:
    """What differs from session to session."""

    binary: Binary
    user_data_dir: Path
    headed: bool = False
    window: tuple[int, int] = DEFAULT_WINDOW
    small_shm: bool = False
    extra: tuple[str, ...] = ()


def argv(line: CommandLine) -> list[str]:
    """The whole command line; `{proxy_port}` is left for the launcher, which opens that port."""
    return [str(line.binary.path), *_switches(line)]


def _switches(line: CommandLine) -> Iterator[str]:
    yield "--remote-debugging-pipe"
    yield f"--user-data-dir={line.user_data_dir}"
    yield f"--window-size={line.window[0]},{line.window[1]}"
    if not line.headed:
        yield "--headless"
    yield from _SILENT
    yield from _AWAKE
    yield from _BEHAVIOUR
    yield from _NETWORK
    yield f"--disable-features={','.join(_FEATURES_OFF)}"
    if line.small_shm:
        yield "--disable-dev-shm-usage"  # a container's 64 MiB are not enough for shared bitmaps
    yield from line.extra
    yield "--no-startup-window"
