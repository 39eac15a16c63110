"""Words and sentences of a text; places count Unicode code points, end exclusive (SPEC §7)."""

from __future__ import annotations

import re
from dataclasses import dataclass

# Scripts without spaces between words: each character is a term.
_UNSPACED = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
)
_WORD = re.compile(rf"[{_UNSPACED}]|(?:(?![{_UNSPACED}])[^\W_])+(?:['’](?:(?![{_UNSPACED}])[^\W_])+)?")
# A sentence ends at its mark, with closing quotes and brackets, at an empty line, or where a line begins another block
# (Markdown's headings, lists, quotes, tables, code). Each run of marks is tried once:
# pages are not trusted, and a match holds up the whole process.
_SENTENCE = re.compile(
    r"[^\s].*?(?:(?<![.!?…])[.!?…]++[\"'”’)\]]*+(?=\s|$)|[。！？]+[”’」』）\"']*|(?=\n\s*\n)"
    r"|(?=\n[ \t]*(?:[#>|]|```|[-*+][ \t]|\d{1,3}[.)][ \t]))|$)",
    re.DOTALL,
)
# What stands before the text of a list's entry or a quote.
_LEAD = re.compile(r"(?:(?:[-*+]|\d{1,3}[.)]|>+)[ \t]+)+")
# Headings, rows of tables and code say nothing by themselves.
_NO_SENTENCE = ("#", "|", "```")
_SHORTEST, _LONGEST = 16, 500
# Words that say nothing about what a text is about.
_EMPTY = frozenset(
    [*"a an and are as at be by for from has have how in is it its of on or that the this to was what".split()]
    + [*"when where which who why will with do does can".split()]
)


@dataclass(frozen=True)
class Sentence:
    """A stretch of a text: `text` is what stands from `start` to `end`."""

    text: str
    start: int
    end: int


def words(text: str) -> list[str]:
    """Words in lower case, in order."""
    return [match.group().casefold() for match in _WORD.finditer(text)]


def telling_words(text: str) -> list[str]:
    """Words without the empty ones; all of them where nothing else is left."""
    every = words(text)
    return [word for word in every if word not in _EMPTY] or every


def singular(word: str) -> str:
    """A word without the `s` of a plural (Harman 1991): `cats` and `cat` are one term. Short words stay."""
    if len(word) < 4 or not word.endswith("s") or word.endswith(("us", "ss")):
        return word
    if word.endswith("ies") and word[-4] not in "ae":
        return word[:-3] + "y"
    return word if word.endswith(("aes", "ees", "oes")) else word[:-1]


def terms(text: str) -> list[str]:
    """What is compared: words in lower case, plurals as singulars."""
    return [singular(word.removesuffix("'s").removesuffix("’s")) for word in words(text)]


def telling_terms(text: str) -> set[str]:
    """The terms of a query that say what it is about."""
    return {singular(word.removesuffix("'s").removesuffix("’s")) for word in telling_words(text)}


def sentences(text: str) -> list[Sentence]:
    """Sentences worth quoting, in order: not fragments, not walls."""
    found: list[Sentence] = []
    for match in _SENTENCE.finditer(text):
        start, end = match.span()
        lead = _LEAD.match(text, start, end)
        start = start if lead is None else lead.end()
        while end > start and text[end - 1].isspace():
            end -= 1
        if text.startswith(_NO_SENTENCE, start):
            continue
        if _SHORTEST <= end - start <= _LONGEST and "\n\n" not in text[start:end]:
            found.append(Sentence(text[start:end], start, end))
    return found
