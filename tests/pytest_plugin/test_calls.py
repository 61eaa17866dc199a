"""Which functions each test calls, in runs of projects that have a bit of everything."""

import pytest
from calls_harness import count, needs_monitoring
from calls_project import FILES, RUN

pytestmark = needs_monitoring


@pytest.fixture(scope="module")
def serial(tmp_path_factory):
    return count(tmp_path_factory.mktemp("serial"), FILES, *RUN, environ={"PYTHONHASHSEED": "1"})


@pytest.fixture(scope="module")
def parallel(tmp_path_factory):
    folder = tmp_path_factory.mktemp("parallel")
    # the last test of TestEnd in a process fails in the teardown of the class
    words = ("-n2", "--dist=loadscope")
    return count(folder, FILES, *RUN, *words, plugins=("xdist",), environ={"PYTHONHASHSEED": "2"})


def test_same_in_workers_and_with_other_hashes(serial, parallel):
    assert (serial.why, parallel.why) == ("", "")
    assert serial.functions == parallel.functions
    assert serial.failed == parallel.failed
    assert serial.passed == parallel.passed


def test_passing_tests_are_counted(serial):
    # neither those that are skipped or expected to fail, nor those that were not expected to pass
    # nor those that pytest calls passed though a subtest or the teardown failed
    assert serial.passed == _said(serial, "passed") - 1 - (pytest.version_tuple >= (9, 0))


def _said(counted, word):
    last = next(line for line in reversed(counted.output.splitlines()) if " passed" in line)
    words = last.replace(",", "").split()
    return int(words[words.index(word) - 1])


@pytest.mark.parametrize(
    ("name", "passed", "lines", "in_import"),
    [
        ("before_start", 1, [1], False),
        ("at_conftest", 1, [1], True),
        ("never", 0, [], True),  # in tests that are skipped or expected to fail
        ("made_at_import", 0, [], True),
        ("lazily", 2, [2], False),
        ("documented", 1, [1], False),
        ("worked", 1, [1], False),
        ("set_up_once", 1, [1], False),
        ("tear_down_once", 0, [], True),
        ("of_parameter", 2, [2], False),
        ("of_override", 1, [1], False),
        ("of_session", 1, [1], False),
        ("broken_setup", 0, [], False),
    ],
)
def test_function(serial, name, passed, lines, in_import):
    called = serial.functions[name]
    assert (called.passed, called.in_import) == (passed, in_import)
    assert list(called.lines.values()) == lines


KINDS = "tests/test_kinds.py::"


@pytest.mark.parametrize(
    ("nodeid", "expected"),
    [
        ("test_add_fails", ["add:1", "add:2", "add:3", "add:4"]),
        (
            "test_wide_fails",
            ["of_session:1", "set_up_once:1", "helper:1", "add:1", "add:2", "add:3", "add:4"],
        ),
        ("test_wide_by_name", ["set_up_once:1", "helper:1"]),
        ("test_broken_one", ["broken_setup:1"]),
        ("test_broken_two", ["broken_setup:1"]),
        ("TestEnd::test_two", ["add:1", "add:2", "add:4", "broken_teardown:1"]),
        ("TestUnit::test_sub_fails", ["classes:1", "helper:1", "add:1", "add:2", "add:4", "add:3"]),
    ],
)
def test_failing(serial, nodeid, expected):
    assert sorted(serial.failed[KINDS + nodeid]) == sorted(expected)


def test_other_failing_tests_are_none(serial):
    assert len(serial.failed) == 7 + (pytest.version_tuple >= (9, 0))
