import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from output_corpus import PIECES, best_of, check, check_total, samples
from records import any_text

from loop_close.readers.unittest_output import READER

LINES = [
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


RULER, LINE = "=" * 70, "-" * 70


@pytest.mark.parametrize(
    "text",
    [
        "",
        "Ran 3 tests in 0.1s\n\nFAILED (failures=1)\n",
        f"{RULER}\nFAIL\n{LINE}\n",
        f"{RULER}\nFAIL: test_a (m.A.test_a)\nand then nothing\n",
        "FAIL: test_a (m.A.test_a)\nAssertionError: 1 != 2\n",
    ],
)
def test_nothing_is_told(text):
    reading = READER.read(text, "")
    assert (reading.failures, reading.is_certain, reading.counts) == ((), False, None)


@pytest.mark.parametrize(
    ("what", "nodeid", "subtest", "phase"),
    [
        ("test_a (m.A.test_a)", "m.A.test_a", "", "call"),
        ("test_a (m.A)", "m.A.test_a", "", "call"),
        ("test_a (m.A.test_a) (i=1)", "m.A.test_a", "(i=1)", "call"),
        ("test_a (m.A.test_a) [words (x)] (i=1)", "m.A.test_a", "[words (x)] (i=1)", "call"),
        ("setUpModule (m)", "m", "", "setup"),
        ("tearDownClass (m.A)", "m.A", "", "teardown"),
        ("m (unittest.loader._FailedTest)", "m", "", "collect"),
    ],
)
def test_names(what, nodeid, subtest, phase):
    text = f"{RULER}\nERROR: {what}\n{LINE}\nValueError: bad\n\n{LINE}\nRan 1 test in 0.1s\n\nFAILED (errors=1)\n"
    (found,) = READER.read(text, "").failures
    assert (found.nodeid, found.subtest, found.phase) == (nodeid, subtest, phase)


def test_without_its_summary_nothing_is_certain():
    reading = READER.read(f"{RULER}\nFAIL: test_a (m.A.test_a)\n{LINE}\nAssertionError: bad\n", "")
    assert (len(reading.failures), reading.is_certain, reading.counts) == (1, False, None)
