import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from output_corpus import PIECES, best_of, check, check_total, samples
from records import any_text

from loop_close.readers.tox_output import READER

LINES = [
    "  a: FAIL code 1 (0.1 seconds)\n",
    "a: exit 1 (0.1 seconds) /x> y pid=1\n",
    "  evaluation failed :(\n",
    "ROOT: HandledError| x\n",
    "ERROR:   a: commands failed\n",
    "____________ summary ____________\n",
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
        "  py311: FAIL code 1 (0.1 seconds)\n",
        "py311: exit 1 (0.1 seconds) /srv> pytest pid=3\n",
        "  congratulations :) (0.2 seconds)\n",
        "note: FAIL means that it failed\n",
    ],
)
def test_nothing_is_told(text):
    assert READER.read(text, "").failures == ()
