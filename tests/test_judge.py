"""Failures that are known, set apart from those that count."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from records import failure, in_test, raised, verdict

from loop_close.judge import report_of, without_known
from loop_close.model import Counts, Observation
from loop_close.settings import KnownEntry

TODAY = "2027-01-31"
FILE = "tests/test_cart.py"


def named(number):
    """The failure of a test of its own, with a root cause of its own."""
    exc = raised("ValueError", f"bad {chr(97 + number) * 9}", [in_test(f"test_{number}", 5 + number)])
    return failure(exc, f"{FILE}::test_{number}")


def observed(*failures, exit_code=1, **fields):
    fields.setdefault("counts", Counts(passed=1, failed=sum(f.phase == "call" for f in failures)))
    return Observation(exit_code=exit_code, failures=failures, **fields)


def judged(observation, *entries, **options):
    return without_known(report_of(observation), entries, TODAY, **options)


def told(report):
    return [(each.test.removeprefix(f"{FILE}::"), each.state) for each in report.observation.known]


def test_a_run_with_known_failures_alone_is_green():
    entry = KnownEntry(test=f"{FILE}::test_0", issue="#12", until=TODAY)
    report = judged(observed(named(0)), entry)
    assert (report.verdict, report.stall_reason) == ("green", "no-stall-detected")
    assert report.causes == report.evidence == report.observation.failures == ()
    assert report.observation.counts == Counts(passed=1)
    (known,) = report.observation.known
    assert (known.test, known.issue, known.until, known.state) == (entry.test, "#12", TODAY, "known")
    assert known.phases == ("call",)


def test_nothing_is_known_without_an_entry_that_matches():
    before = report_of(observed(named(0)))
    assert without_known(before, [KnownEntry(test=f"{FILE}::test_1")], TODAY) == before


def test_what_is_left_counts():
    report = judged(observed(named(0), named(1)), KnownEntry(test=f"{FILE}::test_0"))
    assert report.verdict == "first-failure"
    assert report.stall_reason == "1 test failure detected"
    assert [f.nodeid for f in report.observation.failures] == [f"{FILE}::test_1"]
    assert [cause.evidence[0].failure.nodeid for cause in report.causes] == [f"{FILE}::test_1"]


@pytest.mark.parametrize(
    "fields",
    [
        {"incomplete": "interrupted by Ctrl-C"},
        {"exit_code": 2},
        {"exit_code": None},
        {"exit_reason": "a plugin set it to 1"},
        {"expects_tests": False},
        {"counts": Counts(passed=1, failed=2)},
        {"counts": Counts(passed=1, failed=1, errors=1)},
    ],
    ids=lambda fields: next(iter(fields)),
)
def test_a_run_with_anything_else_wrong_is_not_green(fields):
    report = judged(observed(named(0), **fields), KnownEntry(test=f"{FILE}::test_0"))
    assert report.causes == ()
    assert report.verdict == "error"


def test_a_run_of_known_failures_that_says_that_all_is_well_is_green():
    """Some runner may be told to pass over failures."""
    report = judged(observed(named(0), exit_code=0), KnownEntry(test=f"{FILE}::test_0"))
    assert report.verdict == "green"


def test_a_test_that_cannot_be_collected_is_never_known():
    broken = failure(raised("SyntaxError", "bad"), FILE, phase="collect")
    report = judged(observed(broken), KnownEntry(test=FILE), KnownEntry(test="*"))
    assert told(report) == []
    assert report.verdict == "first-failure"


def test_a_cause_is_known_by_its_id_whatever_tests_have_it():
    exc = raised("ValueError", "bad", [in_test()])
    observation = observed(failure(exc), failure(exc, f"{FILE}::test_other"))
    (cause,) = report_of(observation).causes
    report = judged(observation, KnownEntry(cause=cause.id))
    assert told(report) == [("test_other", "known"), ("test_total", "known")]
    assert {each.cause for each in report.observation.known} == {cause.id}
    assert report.verdict == "green"


def test_a_cause_with_other_tests_stays_with_these_alone_and_by_its_id():
    exc = raised("ValueError", "bad", [in_test()])
    observation = observed(failure(exc), failure(exc, f"{FILE}::test_other"))
    (cause,) = report_of(observation).causes
    report = judged(observation, KnownEntry(test=f"{FILE}::test_total"))
    (left,) = report.causes
    assert left.id == cause.id
    assert [each.failure.nodeid for each in left.evidence] == [f"{FILE}::test_other"]


def test_an_entry_counts_to_the_end_of_its_last_day():
    entry = KnownEntry(test=f"{FILE}::test_0", until="2027-01-30")
    report = judged(observed(named(0)), entry)
    assert (told(report), report.verdict) == ([("test_0", "expired")], "first-failure")
    assert report.observation.failures == (named(0),)
    report = judged(observed(named(0)), entry, replace(entry, until="2028-01-01"))
    assert (told(report), report.verdict) == ([("test_0", "known")], "green")


def test_an_entry_that_waits_for_a_person_does_not_count():
    entry = KnownEntry(test=f"{FILE}::test_0")
    report = judged(observed(named(0)), waiting=[entry])
    assert (told(report), report.verdict) == ([("test_0", "not-accepted")], "first-failure")
    assert told(judged(observed(named(0)), entry, waiting=[entry])) == [("test_0", "known")]


def test_an_entry_whose_tests_passed_is_not_needed():
    entries = [
        KnownEntry(test=f"{FILE}::test_0"),
        KnownEntry(test=f"{FILE}::test_*"),
        KnownEntry(test="other"),
    ]
    report = judged(observed(named(1)), *entries, passed=[f"{FILE}::test_0"])
    assert told(report) == [("test_0", "not-needed"), ("test_1", "known")]


def test_phases_and_subtests_are_left_out_of_the_counts():
    test = f"{FILE}::test_0"
    failures = (
        failure(verdict(), test),
        failure(raised("OSError"), test, phase="teardown"),
        failure(raised("KeyError"), test, subtest="[a]"),
    )
    counts = Counts(passed=1, failed=1, failed_subtests=1, errors=1)
    report = judged(observed(*failures, counts=counts), KnownEntry(test=test))
    assert report.observation.counts == Counts(passed=1)
    assert report.verdict == "green"


@given(
    failing=st.sets(st.integers(0, 5)),
    known=st.sets(st.integers(0, 5)),
    expired=st.sets(st.integers(0, 5)),
)
def test_every_failure_is_either_known_or_counts(failing, known, expired):
    entries = [
        KnownEntry(test=f"{FILE}::test_{n}", until="2020-01-01" if n in expired else "") for n in known
    ]
    report = judged(observed(*map(named, sorted(failing))), *entries)
    apart = {each.test for each in report.observation.known_failing}
    left = {f.nodeid for f in report.observation.failures}
    assert apart == {f"{FILE}::test_{n}" for n in failing & known - expired}
    assert left == {f"{FILE}::test_{n}" for n in failing} - apart
    assert report.observation.counts.failed == len(left)
    assert {e.failure.nodeid for c in report.causes for e in c.evidence} == left
    if apart:
        assert (report.verdict == "green") == (not left)
