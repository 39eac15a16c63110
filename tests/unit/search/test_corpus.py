"""The provider `corpus` on folders of files."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from services.kit.errors import Refusal
from services.search.providers import corpus
from services.search.providers.corpus import CorpusProvider


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "corpus"
    (made / "deep" / "er").mkdir(parents=True)
    (made / "cats.md").write_text("# All about *cats*\n\nCats sleep for most of the day. Kittens sleep more.")
    (made / "dogs.txt").write_text("Dogs bark at night. A dog is no cat.")
    (made / "deep" / "er" / "a page?#%.html").write_text("<title>Lions &amp; co</title><p>Lions are big cats.</p>")
    (made / "image.png").write_bytes(b"cats cats cats")
    (made / ".hidden.md").write_text("cats are hidden")
    (made / ".git").mkdir()
    (made / ".git" / "cats.txt").write_text("cats in git")
    (tmp_path / "outside.txt").write_text("cats outside")
    (made / "link.txt").symlink_to(tmp_path / "outside.txt")
    return made


async def urls(provider: CorpusProvider, query: str) -> list[str]:
    return [hit.url for hit in (await provider.search(query)).hits]


async def test_files_are_found_by_their_words_best_first(folder: Path) -> None:
    provider = CorpusProvider(folder)
    found = list((await provider.search("where do cats sleep?")).hits)
    assert found[0].url == "corpus:///cats.md"
    assert found[0].title == "All about *cats*"
    assert "Cats sleep" in found[0].snippet
    titles = {hit.url: hit.title for hit in found}
    assert titles == {
        "corpus:///cats.md": "All about *cats*",
        "corpus:///deep/er/a%20page%3F%23%25.html": "Lions & co",
        "corpus:///dogs.txt": "dogs",
    }
    assert found[1].found_by == ("corpus",)


@pytest.mark.parametrize("query", ['title:"', "AND OR NOT", "[a TO", "path:cats.md ((", "\\", "!!!", "*"])
async def test_no_query_is_syntax(folder: Path, query: str) -> None:
    assert isinstance(await urls(CorpusProvider(folder), query), list)


async def test_a_document_is_fetched_and_read(folder: Path) -> None:
    provider = CorpusProvider(folder)
    [url] = await urls(provider, "lions")
    fetched = await provider.fetch(url)
    assert (fetched.url, fetched.content_type) == (url, "text/html")
    assert "Lions are big cats." in provider.extract(fetched)
    assert provider.owns(url)
    assert not provider.owns("https://example.com/")


@pytest.mark.parametrize(
    "path",
    ["../outside.txt", "%2e%2e/outside.txt", "/etc/passwd", "link.txt", ".hidden.md", ".git/cats.txt", "image.png"]
    + ["deep", "", "nowhere.md", "deep/../../outside.txt", "a%00.txt"],
)
async def test_nothing_but_the_corpus_is_read(folder: Path, path: str) -> None:
    with pytest.raises(Refusal) as caught:
        await CorpusProvider(folder).fetch(f"corpus:///{path}")
    assert caught.value.details["reason"] == "not_found"


async def test_what_changes_in_the_folder_is_seen(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(corpus, "_LISTING_SECONDS", 0.0)
    provider = CorpusProvider(folder)
    assert await urls(provider, "tigers") == []
    (folder / "tigers.md").write_text("Tigers have stripes.")
    assert await urls(provider, "tigers") == ["corpus:///tigers.md"]
    (folder / "tigers.md").unlink()
    assert await asyncio.gather(urls(provider, "tigers"), urls(provider, "dogs")) == [[], ["corpus:///dogs.txt"]]


async def test_a_folder_that_is_gone_is_a_failure(tmp_path: Path) -> None:
    with pytest.raises(Refusal) as caught:
        await CorpusProvider(tmp_path / "nowhere").search("cats")
    assert caught.value.details["reason"] == "unreachable"
