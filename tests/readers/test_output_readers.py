"""What holds of every reader of programs' output: its corpus, what looks like it, any text, a megabyte of the same."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from output_corpus import PIECES, READERS, check, check_total, sample, samples
from records import any_text

ALONE = ("asyncio", "coverage", "faulthandler", "pre_commit", "shell", "tox", "traceback", "unittest")
TRACE = 'Traceback (most recent call last):\n  File "a.py", line 1, in f\n'
#: What only looks like a failure.
NOTHING = {
    "asyncio": [
        "Task exception was never retrieved\n",
        "no Task exception was never retrieved here\nValueError: bad\n",
        "Exception in thread pool\nnothing more\n",
        "Exception ignored in: <x>\nand nothing else\n",
        "a warning says that coroutine 'f' was never awaited\n",
        "Task was destroyed but it is pending!\n",
    ],
    "coverage": [
        "Required test coverage of 90% reached. Total coverage: 95.00%\n",
        "say Coverage failure: total of 81 is less than fail-under=90\n",
        "TOTAL   7   3   57%\n",
    ],
    "faulthandler": [
        "Fatal Python error: Aborted\n",
        "it said Fatal Python error: Aborted\n\nCurrent thread 0x1 (most recent call first):\n",
        'Current thread 0x1 (most recent call first):\n  File "a.py", line 3 in f\n',
        "Timeout (0:00:01)!\nnothing more\n",
    ],
    "shell": [
        "cart: item not found\n",
        "a.sh: item not found\n",
        "a.c:3: shop.h: No such file or directory\n",
        "shop.yaml: 3: price: not found\n",
        "it said bash: line 1: foo: command not found\n",
        "Killed\n1\n2\n3\n4\n",
        "the worker was Killed\n",
        "make: *** [Makefile:3: test] Error 2\n",
        "error: Permission denied\n",
    ],
    "tox": [
        "  congratulations :) (0.2 seconds)\n",
        "note: FAIL means that it failed\n",
        "upload: failed with status 500\n",
        "py38: skipped because could not find python interpreter with spec(s): py38\n",
    ],
    "traceback": [
        "ValueError: bad\n",
        "Traceback (most recent call last):\n  ...\nValueError: bad\n",
        TRACE,
        f"{TRACE}    x\nand so on it goes\n",
        "".join(f"# {line}\n" for line in f"{TRACE}ValueError: bad".split("\n")),
        "".join(f"> {line}\n" for line in f"{TRACE}ValueError: bad".split("\n")),
        'x = "Traceback (most recent call last):"\n  File "a.py", line 1, in f\nValueError: bad\n',
        "the python: No module named shop\n",
        "say python can't open file 'a.py'\n",
    ],
    "unittest": [f"{'=' * 70}\nFAIL\n{'-' * 70}\n"],
}


def lines_of(reader):
    """Lines of its samples, for texts that are nearly of its format."""
    texts = [sample(reader, name)[0] for name in samples(reader)]
    return sorted({line for text in texts for line in text.splitlines(keepends=True)})


LINES = {reader: lines_of(reader) for reader in (*ALONE, "pytest")}


@pytest.mark.parametrize(
    ("reader", "text"), [(reader, text) for reader in NOTHING for text in ["", *NOTHING[reader]]]
)
def test_nothing_is_found(reader, text):
    reading = READERS[reader](text, "")
    assert (reading.failures, reading.warnings, reading.counts) == ((), (), None)


@pytest.mark.parametrize(
    ("reader", "name"),
    # hooks are read after the tools that they run
    [pytest.param(r, n, id=f"{r}-{n}") for r in ALONE if r != "pre_commit" for n in samples(r)],
)
def test_corpus(reader, name):
    check(reader, name)


@pytest.mark.parametrize("reader", LINES)
@settings(max_examples=80, deadline=None)
@given(data=st.data())
def test_total(reader, data):
    pieces = st.sampled_from(LINES[reader]) | any_text
    check_total(reader, data.draw(st.lists(pieces, max_size=14).map("".join)))


@pytest.mark.slow
@pytest.mark.timeout(60)
@pytest.mark.parametrize(
    ("reader", "piece"),
    [
        pytest.param(r, p, id=f"{r}-{p[:12]!r}")
        for r in ALONE
        for p in [*PIECES, *LINES[r][:: len(LINES[r]) // 14 + 1]]
    ],
)
def test_a_megabyte_of_the_same(reader, piece):
    check_total(reader, piece * (1_000_000 // len(piece)))


def test_a_warning_from_elsewhere_has_no_file():
    text = "sys:1: RuntimeWarning: coroutine 'save' was never awaited\n"
    (warned,) = READERS["asyncio"](text, "").warnings
    assert (warned.file, warned.line, warned.message) == ("", 0, "coroutine 'save' was never awaited")
