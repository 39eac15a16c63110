"""What to beware of in a page's content (SPEC §4, "Pages are untrusted"). A flag is a warning, never a filter.

The patterns are published in docs/explanation/content-flags.md, which a test holds against this file.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from urllib.parse import urlsplit

INSTRUCTION_LIKE = (
    r"\b(ignore|disregard|forget)\b.{0,30}\b(previous|prior|above|earlier|all|your)\b.{0,30}\b(instructions?|prompts?|rules)\b",
    r"\b(system|developer) (prompt|message)\b",
    r"\byou are (now )?(an? )?(ai|assistant|agent|language model)\b",
    r"\b(ai|llm) (agents?|assistants?|models?)\b.{0,40}\b(must|should|need to|have to|click|enter|send|type)\b",
    r"\b(do not|don't|never) (tell|inform|alert|mention to) the (user|human|operator)\b",
    r"\bnew instructions?\s*:",
    r"<\s*/?\s*(system|instructions?|tool_call)\s*>",
)
"""Regular expressions, whatever the case."""

CHALLENGE_FRAMES = (
    "challenges.cloudflare.com",
    "hcaptcha.com",
    "google.com/recaptcha/",
    "recaptcha.net/recaptcha/",
    "arkoselabs.com",
    "captcha-delivery.com",
)
"""Host, and path where one is given, of frames that hold a challenge."""

CHALLENGE_TITLES = (
    r"^just a moment",
    r"^attention required",
    r"\bare you (a )?(human|robot)\b",
    r"\bverif(y|ying) (that )?you are (a )?human\b",
    r"\bcaptcha\b",
    r"\bsecurity check\b",
)
"""Regular expressions on the title, whatever the case."""

_instructions = re.compile("|".join(f"(?:{pattern})" for pattern in INSTRUCTION_LIKE), re.IGNORECASE)
_titles = re.compile("|".join(f"(?:{pattern})" for pattern in CHALLENGE_TITLES), re.IGNORECASE)
_MOST_LINE = 2000


def is_instruction_like(lines: Iterable[str]) -> bool:
    """Whether a name in a snapshot reads like an instruction to an agent."""
    return any(_instructions.search(line[:_MOST_LINE]) for line in lines)


def is_challenge(title: str, frame_urls: Sequence[str]) -> bool:
    """Whether the page asks its visitor to prove to be a person."""
    return _titles.search(title[:_MOST_LINE]) is not None or any(_is_challenge_frame(url) for url in frame_urls)


def _is_challenge_frame(url: str) -> bool:
    try:
        parts = urlsplit(url)
    except ValueError:
        return False
    for known in CHALLENGE_FRAMES:
        host, slash, path = known.partition("/")
        own = parts.hostname or ""
        if (own == host or own.endswith(f".{host}")) and parts.path.startswith(slash + path):
            return True
    return False
