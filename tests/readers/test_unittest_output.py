import pytest

from loop_close.readers.runners import read_unittest
from loop_close.readers.streams import observe

RULER, LINE = "=" * 70, "-" * 70


@pytest.mark.parametrize(
    ("what", "nodeid", "subtest", "phase"),
    [
        ("test_a (m.A.test_a)", "m.A.test_a", "", "call"),
        ("test_a (m.A.test_a) (i=1)", "m.A.test_a", "(i=1)", "call"),
        ("test_a (m.A.test_a) [words (x)] (i=1)", "m.A.test_a", "[words (x)] (i=1)", "call"),
        ("setUpModule (m)", "m", "", "setup"),
        ("m (unittest.loader._FailedTest)", "m", "", "collect"),
    ],
)
def test_names(what, nodeid, subtest, phase):
    text = f"{RULER}\nERROR: {what}\n{LINE}\nValueError: bad\n\n{LINE}\nRan 1 test in 0.1s\n\nFAILED (errors=1)\n"
    (found,) = read_unittest(text, "").failures
    assert (found.nodeid, found.subtest, found.phase) == (nodeid, subtest, phase)


def test_a_failure_without_the_summary_is_of_an_output_that_was_cut():
    reading = read_unittest(f"{RULER}\nFAIL: test_a (m.A.test_a)\n{LINE}\nAssertionError: bad\n", "")
    assert (len(reading.failures), reading.is_certain, reading.counts) == (1, True, None)


def summary(ran, verdict):
    return f"{LINE}\nRan {ran} tests in 0.001s\n\n{verdict}\n"


def failing(name="test_a", captured=""):
    output = f"\nStdout:\n{captured}" if captured else ""
    return f"{RULER}\nFAIL: {name} (m.A.{name})\n{LINE}\nAssertionError: 1 != 2\n{output}\n"


@pytest.mark.parametrize(
    ("text", "passed", "failed", "errors", "xpassed"),
    [
        # without the blocks above it
        (summary(4, "FAILED (failures=1)"), 3, 1, 0, 0),
        (summary(4, "FAILED (failures=1, errors=2)"), 1, 1, 2, 0),
        (summary(4, "FAILED (unexpected successes=1)"), 3, 1, 0, 0),
        ("u.\n" + summary(2, "FAILED (unexpected successes=1)"), 1, 1, 0, 0),
        # each with its own end
        (f"..\n{summary(2, 'OK')}.F\n{failing()}{summary(2, 'FAILED (failures=1)')}", 3, 1, 0, 0),
        (
            f"a ... ok\n{summary(1, 'OK')}b ... ok\nc ... FAIL\n{failing()}{summary(2, 'FAILED (failures=1)')}",
            2,
            1,
            0,
            0,
        ),
        # what fails is not hidden
        (summary(4, "FAILED (failures=1)") + summary(4, "OK"), 7, 1, 0, 0),
    ],
)
def test_counts_are_of_all_summaries(text, passed, failed, errors, xpassed):
    counts = read_unittest(text, "").counts
    assert (counts.passed, counts.failed, counts.errors, counts.xpassed) == (passed, failed, errors, xpassed)


def test_a_test_whose_traceback_django_cannot_pass_on_is_named():
    text = (
        "test_sub (orders.tests.OrderTests.test_sub) failed:\n\n    AssertionError('True != False')\n\n"
        "Unfortunately, tracebacks cannot be pickled, making it impossible for the\n"
        "parallel test runner to handle this exception cleanly.\n\n"
        "In order to see the traceback, you should install tblib:\n\n    python -m pip install tblib\n"
    )
    (failure,) = observe(text, exit_code=1).failures
    assert failure.nodeid == "orders.tests.OrderTests.test_sub"
    assert "AssertionError('True != False')" in failure.message
    assert "install tblib" in failure.message
