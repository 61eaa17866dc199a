import pytest

from loop_close.readers.unittest_output import READER

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
