"""What one run shows by itself."""

import pytest
from records import failure, observed, raised

from loop_close.judge import report_of
from loop_close.model import Counts

PASSED = Counts(passed=1)


@pytest.mark.parametrize(
    ("sample", "verdict"),
    [
        (observed(exit_code=0, counts=PASSED), "green"),
        (observed(exit_code=0, counts=Counts(xfailed=1)), "green"),
        (observed(exit_code=0, expects_tests=False), "green"),
        (observed(exit_code=None, counts=PASSED, is_good_news=True), "green"),
        (observed(failure(raised())), "red"),
        (observed(failure(raised()), exit_code=0, counts=PASSED), "red"),
        (observed(failure(None, "", "session"), exit_code=3), "error"),
        (observed(exit_code=0), "error"),
        (observed(exit_code=None), "error"),
        (observed(exit_code=5), "error"),
        (observed(exit_code=0, counts=PASSED, incomplete="Ctrl-C"), "error"),
        (observed(exit_code=0, counts=Counts(passed=1, failed=1)), "error"),
        (observed(exit_code=0, counts=Counts(passed=1, errors=1)), "error"),
    ],
)
def test_a_run_is_green_only_if_tests_ran_to_the_end_and_none_failed(sample, verdict):
    assert report_of(sample).verdict == verdict
