import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from output_corpus import PIECES, best_of, check, check_total, samples
from records import any_text

from loop_close.readers.coverage_output import READER

LINES = [
    "Coverage failure: total of 1 is less than fail-under=2\n",
    "TOTAL  3  3  57%\n",
    "Name  Stmts  Miss  Cover\n",
    "-----\n",
    "FAIL Required test coverage of 90% not reached. Total coverage: 5%\n",
]


@pytest.mark.parametrize("name", samples(READER))
def test_corpus(name):
    check(READER, name)


@settings(max_examples=80, deadline=None)
@given(st.lists(st.sampled_from(LINES) | any_text, max_size=14).map("".join))
def test_total(text):
    check_total(READER, text)


@pytest.mark.timeout(60)
@pytest.mark.parametrize("piece", [*PIECES, *LINES])
def test_a_megabyte_of_the_same(piece):
    assert best_of(READER, piece * (1_000_000 // len(piece)), times=1) < 5


@pytest.mark.parametrize(
    "text",
    [
        "",
        "Required test coverage of 90% reached. Total coverage: 95.00%\n",
        "say Coverage failure: total of 81 is less than fail-under=90\n",
        "TOTAL   7   3   57%\n",
    ],
)
def test_nothing_is_told(text):
    assert READER.read(text, "").failures == ()
