"""What holds of every reader of programs' output: its corpus, any text at all, a megabyte of the same."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from output_corpus import PIECES, check, check_total, sample, samples
from records import any_text

READERS = ("asyncio", "coverage", "faulthandler", "pre_commit", "shell", "tox", "traceback", "unittest")


def lines_of(reader):
    """Lines of its samples, for texts that are nearly of its format."""
    texts = [sample(reader, name)[0] for name in samples(reader)]
    lines = sorted({line for text in texts for line in text.splitlines(keepends=True)})
    return lines[:: len(lines) // 14 + 1]


LINES = {reader: lines_of(reader) for reader in READERS}
every_reader = pytest.mark.parametrize("reader", LINES)


@pytest.mark.parametrize(
    ("reader", "name"),
    # hooks are read after the tools that they run
    [pytest.param(r, n, id=f"{r}-{n}") for r in READERS if r != "pre_commit" for n in samples(r)],
)
def test_corpus(reader, name):
    check(reader, name)


@every_reader
@settings(max_examples=80, deadline=None)
@given(data=st.data())
def test_total(reader, data):
    pieces = st.sampled_from(LINES[reader]) | any_text
    check_total(reader, data.draw(st.lists(pieces, max_size=14).map("".join)))


@pytest.mark.large
@pytest.mark.timeout(60)
@pytest.mark.parametrize(
    ("reader", "piece"),
    [pytest.param(r, p, id=f"{r}-{p[:12]!r}") for r in LINES for p in [*PIECES, *LINES[r]]],
)
def test_a_megabyte_of_the_same(reader, piece):
    check_total(reader, piece * (1_000_000 // len(piece)))
