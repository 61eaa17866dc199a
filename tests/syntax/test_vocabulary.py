from hypothesis import given
from hypothesis import strategies as st

from loop_close.syntax.vocabulary import relevance, words_of


def test_stems_of_names_in_camel_and_snake_case():
    assert words_of("parseHTMLPage parsers_of parser") == {"pars": 3, "html": 1, "page": 1}


@given(
    st.lists(st.dictionaries(st.sampled_from("abc"), st.integers(1, 9))),
    st.dictionaries(st.sampled_from("abcd"), st.floats(0, 1)),
)
def test_relevance_is_never_negative_and_needs_a_word_in_common(documents, asked):
    scores = relevance(documents, asked)
    assert len(scores) == len(documents)
    for document, score in zip(documents, scores, strict=True):
        assert score >= 0
        assert score == 0 or any(asked.get(word) for word in document)
