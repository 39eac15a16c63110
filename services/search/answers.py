"""Extractive answers: sentences that stand in the sources, letter for letter; what cannot be cited is not said."""

from __future__ import annotations

from collections.abc import Sequence

from hyperkitty.search.v1.search_pb2 import AnswerSentence, Citation, SearchAnswer, SourceDocument

from services.search.text import Sentence, sentences, telling_terms, terms

_MOST_SENTENCES = 5
_MOST_A_DOCUMENT = 2
# So alike are two sentences whose words overlap by this share of the smaller one.
_SAME = 0.8


class NotCited(ValueError):
    """A citation whose quote does not stand where it says."""


def synthesize(query: str, documents: Sequence[SourceDocument]) -> SearchAnswer:
    """At most five sentences of the documents, which are given best first."""
    wanted = telling_terms(query)
    candidates: list[tuple[float, int, Sentence, SourceDocument]] = []
    for place, document in enumerate(documents):
        scored = [
            (len(wanted & set(terms(each.text))) / (len(wanted) or 1), each)
            for each in sentences(document.extracted_text)
        ]
        best = sorted(scored, key=lambda each: (-each[0], each[1].start))[:_MOST_A_DOCUMENT]
        candidates += [(score, place, sentence, document) for score, sentence in best if score > 0]
    candidates.sort(key=lambda each: (-each[0], each[1], each[2].start))
    answer = SearchAnswer()
    for _, _, sentence, document in candidates:
        if len(answer.sentences) == _MOST_SENTENCES:
            break
        citation = Citation(
            document_id=document.document_id, start=sentence.start, end=sentence.end, quote=sentence.text
        )
        same = next((each for each in answer.sentences if _is_same(each.text, sentence.text)), None)
        if same is None:
            answer.sentences.append(AnswerSentence(text=sentence.text, citations=[citation]))
        elif all(each.document_id != document.document_id for each in same.citations):
            same.citations.append(citation)
    check(answer, documents)
    return answer


def _is_same(one: str, other: str) -> bool:
    first, second = set(terms(one)), set(terms(other))
    smaller = min(len(first), len(second))
    return smaller > 0 and len(first & second) >= _SAME * smaller


def check(answer: SearchAnswer, documents: Sequence[SourceDocument]) -> None:
    """Every sentence is cited, and every quote stands where it says. Raises NotCited."""
    texts = {document.document_id: document.extracted_text for document in documents}
    for sentence in answer.sentences:
        if not sentence.citations:
            raise NotCited(sentence.text)
        for citation in sentence.citations:
            if texts.get(citation.document_id, "")[citation.start : citation.end] != citation.quote:
                raise NotCited(f"{citation.document_id} {citation.start}-{citation.end}")
