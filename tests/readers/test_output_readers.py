"""What holds of every reader of programs' output: its corpus, any text at all, a megabyte of the same."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from output_corpus import PIECES, check, check_total, samples
from records import any_text

#: Each reader with lines of its format, for texts that are nearly of it.
LINES = {
    "asyncio": [
        "Task exception was never retrieved\n",
        "future: <x>\n",
        "Traceback (most recent call last):\n",
        '  File "a.py", line 3, in f\n',
        "ValueError: x\n",
        "Task was destroyed but it is pending!\n",
        "task: <Task pending x>\n",
        "a.py:1: RuntimeWarning: coroutine 'f' was never awaited\n",
        "Exception ignored in: x\n",
    ],
    "coverage": [
        "Coverage failure: total of 1 is less than fail-under=2\n",
        "TOTAL  3  3  57%\n",
        "Name  Stmts  Miss  Cover\n",
        "-----\n",
        "FAIL Required test coverage of 90% not reached. Total coverage: 5%\n",
    ],
    "faulthandler": [
        "Fatal Python error: Aborted\n",
        "\n",
        "Current thread 0x1 (most recent call first):\n",
        '  File "a.py", line 3 in f\n',
        "Timeout (0:00:01)!\n",
        "Segmentation fault\n",
    ],
    "shell": [
        "sh: 1: foo: not found\n",
        "Killed",
        "\n",
        "make: *** [a] Aborted\n",
        "zsh: command not found: x\n",
        "not found",
        " ",
    ],
    "tox": [
        "  a: FAIL code 1 (0.1 seconds)\n",
        "a: exit 1 (0.1 seconds) /x> y pid=1\n",
        "  evaluation failed :(\n",
        "ROOT: HandledError| x\n",
        "ERROR:   a: commands failed\n",
        "____________ summary ____________\n",
    ],
    "traceback": [
        "Traceback (most recent call last):\n",
        '  File "a.py", line 3, in f\n',
        "    x\n",
        "ValueError: x\n",
        "\n",
        "  | ",
        "  + Exception Group ",
        "  +-+---------------- 1 ----------------\n",
        "SyntaxError: x",
        "The above exception was the direct cause of the following exception:\n",
    ],
    "unittest": [
        "======================================================================\n",
        "----------------------------------------------------------------------\n",
        "FAIL: test_a (m.A.test_a)\n",
        "ERROR: setUpClass (m.A)\n",
        "UNEXPECTED SUCCESS: a (m.A.a)\n",
        "Traceback (most recent call last):\n",
        '  File "a.py", line 3, in f\n',
        "ValueError: x\n",
        "Ran 1 test in 0.1s\n",
        "\nOK\n",
        "FAILED (errors=1)\n",
        "Stdout:\n",
    ],
}
every_reader = pytest.mark.parametrize("reader", LINES)


@pytest.mark.parametrize(
    ("reader", "name"), [pytest.param(r, n, id=f"{r}-{n}") for r in LINES for n in samples(r)]
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
