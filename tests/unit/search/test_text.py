"""Words, sentences, ranking and extractive answers."""

from __future__ import annotations

import itertools
import time

import pytest
from hyperkitty.search.v1.search_pb2 import AnswerSentence, Citation, SearchAnswer, SourceDocument
from hypothesis import given
from hypothesis import strategies as st

from services.search.answers import NotCited, check, synthesize
from services.search.extraction import extract, html_title
from services.search.providers.provider import Fetched
from services.search.queries import normalize_query, plan_queries
from services.search.ranking import Source, rank
from services.search.text import sentences, telling_terms, telling_words, terms


def document(name: str, text: str) -> SourceDocument:
    return SourceDocument(document_id=f"doc_{name}", extracted_text=text)


@given(st.text(max_size=400))
def test_a_sentence_stands_where_it_says(text: str) -> None:
    found = sentences(text)
    assert all(text[each.start : each.end] == each.text for each in found)
    assert all(first.end <= second.start for first, second in itertools.pairwise(found))


def test_sentences_are_told_apart() -> None:
    text = "Cats sleep for most of the day. Do they dream, one asks?\n\nA heading, no mark\n\n  They do (says a vet)."
    assert [each.text for each in sentences(text)] == [
        "Cats sleep for most of the day.",
        "Do they dream, one asks?",
        "A heading, no mark",
        "They do (says a vet).",
    ]


def test_markdowns_marks_are_no_part_of_a_sentence() -> None:
    text = (
        "# All about cats, the heading\n\nCats are small\nand sleep a lot. They purr\n- The first entry of a list.\n"
        "2. The second entry is numbered.\n> What somebody has said.\n\n| Column | Another column |\n|---|---|\n"
        "```\nprint('this is code')\n```\n"
    )
    assert [each.text for each in sentences(text)] == [
        "Cats are small\nand sleep a lot.",
        "The first entry of a list.",
        "The second entry is numbered.",
        "What somebody has said.",
    ]


def test_scripts_without_spaces_have_terms_and_sentences() -> None:
    text = "猫は一日の大半を眠って過ごします。子猫はもっと長く眠ります、と獣医は言います。"
    assert len(sentences(text)) == 2
    assert telling_terms("猫") <= set(terms(text))
    assert terms("LLM模型 cats") == ["llm", "模", "型", "cat"]


@pytest.mark.parametrize("text", ["." * 200_000 + "a", "a" * 200_000, "\n" * 200_000, '."' * 100_000, "a. " * 70_000])
def test_no_text_takes_long(text: str) -> None:
    begun = time.process_time()
    sentences(text)
    terms(text)
    extract(Fetched("https://a.org/", "text/plain", text.encode()))
    html_title("<title" * 15_000)
    assert time.process_time() - begun < 2


def test_code_points_are_counted() -> None:
    text = "😀😀 Cats purr when they are content."
    [only] = sentences(text)
    assert only.start == 0
    assert only.end == len(text)


def test_empty_words_are_left_out_unless_nothing_else_is_left() -> None:
    assert telling_words("What is the history of cats?") == ["history", "cats"]
    assert telling_words("who is who") == ["who", "is", "who"]


@given(st.text(max_size=100))
def test_a_normalised_query_is_one_line_and_stays_so(query: str) -> None:
    once = normalize_query(query)
    assert once == once.strip()
    assert "\n" not in once
    assert "  " not in once
    assert normalize_query(once) == once


@pytest.mark.parametrize(
    ("word", "term"),
    [("cats", "cat"), ("kitties", "kitty"), ("bus", "bus"), ("glass", "glass"), ("is", "is"), ("Houses", "house")]
    + [("Paris's", "pari"), ("potatoes", "potatoes"), ("年", "年")],
)
def test_plurals_and_singulars_are_one_term(word: str, term: str) -> None:
    assert terms(word) == [term]


def test_no_iteration_asks_what_was_asked_before() -> None:
    asked: list[str] = []
    for _ in range(10):
        planned = plan_queries("Cats", asked)
        assert len(planned) == 1
        assert planned[0].casefold() not in {each.casefold() for each in asked}
        asked += planned


def test_what_tells_of_the_query_comes_first_and_what_does_not_is_no_source() -> None:
    sources = [
        Source("a", "Dogs", "Dogs bark at night.", 1),
        Source("b", "Notes", "A cat sleeps here. There is much more about dogs and other animals on this page.", 2),
        Source("c", "Cat care", "A cat needs water. The cat needs food.", 3),
    ]
    assert [source.name for source, _ in rank("cat care", sources)] == ["c", "b"]
    assert rank("cat", []) == []


def test_equals_keep_the_providers_order() -> None:
    sources = [Source(name, "Cat", "cat", place) for place, name in enumerate("abc", 1)]
    assert [source.name for source, _ in rank("cat", sources)] == ["a", "b", "c"]


def test_an_answer_quotes_its_sources_letter_for_letter() -> None:
    documents = [
        document("a", "Cats sleep for most of the day. They are fed twice, as people say."),
        document("b", "Nothing here tells of them.\n\nMost cats sleep sixteen hours a day."),
    ]
    answer = synthesize("how long do cats sleep a day", documents)
    assert answer.sentences
    texts = {each.document_id: each.extracted_text for each in documents}
    for sentence in answer.sentences:
        for citation in sentence.citations:
            assert texts[citation.document_id][citation.start : citation.end] == citation.quote
    assert answer.sentences[0].text == "Cats sleep for most of the day."


def test_the_same_sentence_of_two_documents_is_said_once_and_cited_twice() -> None:
    text = "Cats sleep for most of the day."
    answer = synthesize("cats sleep", [document("a", text), document("b", text)])
    [sentence] = answer.sentences
    assert [citation.document_id for citation in sentence.citations] == ["doc_a", "doc_b"]


def test_what_is_not_in_the_sources_is_not_said() -> None:
    assert not synthesize("quantum chess", [document("a", "Cats sleep for most of the day.")]).sentences


@pytest.mark.parametrize(
    "citations", [[], [Citation(document_id="doc_a", start=0, end=4, quote="Dogs")], [Citation(document_id="doc_z")]]
)
def test_an_answer_without_true_citations_is_refused(citations: list[Citation]) -> None:
    answer = SearchAnswer(sentences=[AnswerSentence(text="Dogs", citations=citations)])
    if citations and not citations[0].quote:
        citations[0].quote = "x"
        answer = SearchAnswer(sentences=[AnswerSentence(text="Dogs", citations=citations)])
    with pytest.raises(NotCited):
        check(answer, [document("a", "Cats sleep.")])
