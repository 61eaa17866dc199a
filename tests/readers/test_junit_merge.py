"""Tests that are reported more than once: run again, in shards, in several elements."""

import pytest
from msgspec.structs import replace

from loop_close.judge import report_of
from loop_close.model import Counts
from loop_close.readers.junit_xml import JunitReading, merge_junit, read_junit
from loop_close.readers.streams import observe_texts, with_junit


def case(name="test_x", inside="", classname="tests.test_a"):
    return f'<testcase classname="{classname}" name="{name}">{inside}</testcase>'


def failure(words="assert 1 == 2", tag="failure"):
    kind = "AssertionError" if words.startswith("assert") else words.split(":")[0]
    return f'<{tag} message="{words}">E   {words}\n\ntests/test_a.py:3: {kind}</{tag}>'


def suite(*cases, name="pytest"):
    return f'<testsuite name="{name}">{"".join(cases)}</testsuite>'


def read(*suites, name="r.xml"):
    return read_junit(name, [f"<testsuites>{''.join(suites)}</testsuites>".encode()])


def messages(reading):
    return [failure.message for failure in reading.failures]


FAILING = case(inside=failure())
AGAIN = case(inside=failure("ValueError: at 0x7f00deadbeef"))
SETUP, TEARDOWN = (
    f'<error message="failed on {phase} with &quot;OSError: x&quot;">E   OSError: x</error>'
    for phase in ("setup", "teardown")
)


@pytest.mark.parametrize(
    ("cases", "told", "counts"),
    [
        # run again, the last one counts
        ([FAILING, case()], [], {"passed": 1}),
        ([case(), case(), FAILING], ["assert 1 == 2"], {"failed": 1}),
        ([AGAIN] * 3, ["at 0x7f00deadbeef"], {"failed": 1}),
        # two phases of one test
        ([FAILING, case(inside=TEARDOWN)], ["assert 1 == 2", "x"], {"failed": 1, "errors": 1}),
        ([case(inside=failure() + SETUP)], ["assert 1 == 2", "x"], {"failed": 1, "errors": 1}),
    ],
)
def test_one_test_that_is_reported_more_than_once(cases, told, counts):
    reading = read(suite(*cases))
    assert messages(reading) == told
    assert reading.counts == Counts(**counts, collected=1)


@pytest.mark.parametrize("order", [1, -1])
@pytest.mark.parametrize(("inside", "counts"), [(failure(), {"failed": 1}), ("<skipped/>", {"passed": 1})])
def test_failed_wins_over_passed_and_that_over_skipped_in_another_shard(inside, counts, order):
    one, two = read(suite(case(inside=inside))), read(suite(case()))
    assert merge_junit([one, two][::order]).counts == Counts(**counts, collected=1)


@pytest.mark.parametrize("order", [1, -1])
def test_one_name_in_two_suites_is_two_tests(order):
    suites = [suite(case(inside=failure()), name="Cart"), suite(case(), name="Cart")][::order]
    reading = read(*suites)
    assert messages(reading) == ["assert 1 == 2"]
    assert reading.counts == Counts(passed=1, failed=1, collected=2)


@pytest.mark.parametrize("tag", ["flakyFailure", "flakyError"])
def test_a_flaky_test_has_passed(tag):
    reading = read(suite(case(inside=f'<{tag} message="m" type="T"><stackTrace>T: m</stackTrace></{tag}>')))
    assert reading.counts == Counts(passed=1, collected=1)
    assert reading.failures == ()


@pytest.mark.parametrize("tag", ["rerunFailure", "rerunError"])
def test_reruns_of_a_failed_test_add_nothing(tag):
    again = (
        f'<{tag} message="m2" type="T"><stackTrace>T: m2</stackTrace><system-out>again</system-out></{tag}>'
    )
    reading = read(suite(case(inside=f'<failure message="m" type="T">T: m</failure>{again}')))
    assert messages(reading) == ["m"]


def test_shards_are_added_up():
    one = read(suite(case("test_a"), case("test_b", failure())))
    two = read(suite(case("test_c", failure("assert 3 == 4")), case("test_d", "<skipped/>")))
    merged = merge_junit([one, two])
    assert messages(merged) == ["assert 1 == 2", "assert 3 == 4"]
    assert merged.counts == Counts(passed=1, failed=2, skipped=1, collected=4)
    assert merged.is_pytest


def test_the_same_failure_of_two_shards_is_one():
    one = read(suite(case(inside=failure("ValueError: at 0x7f00deadbeef"))))
    two = read(suite(case(inside=failure("ValueError: at 0x7f00deadbe00"))))
    merged = merge_junit([one, two])
    assert messages(merged) == ["at 0x7f00deadbeef"]
    assert merged.counts == Counts(failed=1, collected=1)


def test_names_of_suites_do_not_tell_shards_apart():
    readings = [read(suite(case(), name=f"a.B-2026112{n}")) for n in range(3)]
    assert merge_junit(readings).counts == Counts(passed=1, collected=1)


def test_all_problems_are_reported():
    merged = merge_junit([read_junit("a.xml", [b""]), read_junit("b.xml", [b"<html/>"]), read(suite(case()))])
    assert [problem.split(":")[0] for problem in merged.problems] == ["a.xml", "b.xml"]
    assert merged.incomplete == "; ".join(merged.problems)
    assert merged.is_pytest


def test_one_reading_merged_is_itself():
    reading = read(suite(case(inside=failure()), case("test_b")))
    assert merge_junit([reading]) == reading
    assert merge_junit([]) == JunitReading()


def test_files_of_other_runners_are_not_of_pytest():
    other = read(suite(case("adds", '<failure message="m"/>', "Cart"), name="jest"))
    assert not other.is_pytest
    assert not merge_junit([other, read(suite(case()))]).is_pytest


@pytest.mark.parametrize(
    ("attributes", "expected"),
    [
        ('failures="0" errors="0"', ()),
        ('failures="0.0" tests="1"', ()),
        ('tests="5"', ("r.xml: suite 'lost' says that it has 5 tests, and lists 1",)),
    ],
)
def test_a_suite_that_lists_less_than_it_says_is_a_problem(attributes, expected):
    inner = f'<testsuite name="lost" {attributes}>{case()}</testsuite>'
    reading = read_junit("r.xml", [f"<testsuites>{inner}</testsuites>".encode()])
    assert reading.problems == expected
    assert reading.incomplete == "".join(expected)


@pytest.mark.parametrize("attributes", ['failures="2"', 'failures="1" errors="1"'])
def test_a_suite_that_counts_failures_and_lists_none_has_failed(attributes):
    reading = read(f'<testsuite name="lost" {attributes}>{case()}</testsuite>')
    assert messages(reading) == ["suite 'lost' says that it has 2 failures, and lists none"]
    assert (reading.counts.failed, reading.counts.passed, reading.problems) == (2, 1, ())


@pytest.mark.parametrize(
    "inside",
    [
        '<error message="no server"/>',
        f"<system-out>{'=' * 20} 1 failed, 2 passed in 0.12s {'=' * 20}</system-out>",
        '<testcase name="a" result="failure"/>',
    ],
)
def test_what_a_suite_or_a_case_says_by_itself_is_red(inside):
    reading = read(f'<testsuite name="other" tests="1">{case()}{inside}</testsuite>')
    assert len(reading.failures) == 1
    assert report_of(with_junit(observe_texts([], 0), reading)).verdict == "red"


def test_suites_around_a_suite_count_its_cases():
    inner = suite(case(), case("test_b"))
    assert read(f'<testsuite name="outer" tests="2">{inner}</testsuite>').problems == ()
    (problem,) = read(f'<testsuite name="outer" tests="3">{inner}</testsuite>').problems
    assert problem == "r.xml: suite 'outer' says that it has 3 tests, and lists 2"


def test_pytest_counts_subtests_that_it_does_not_list():
    reading = read(f'<testsuite name="pytest" tests="4">{case()}</testsuite>')
    assert reading.problems == ()
    observation = replace(observe_texts([]), is_good_news=True)
    assert report_of(with_junit(observation, reading)).verdict == "green"


def test_an_outer_suite_may_count_the_failures_of_an_inner_one():
    inner = suite(case(inside=failure()))
    assert read(f'<testsuite name="outer" failures="1">{inner}</testsuite>').problems == ()
