import sys
from types import SimpleNamespace

import pytest

from loop_close.trace.session import Monitor

needs_monitoring = pytest.mark.skipif(not hasattr(sys, "monitoring"), reason="needs Python 3.12")


def report(outcome="passed", when="call"):
    return SimpleNamespace(outcome=outcome, when=when)


@pytest.fixture
def session(made, monkeypatch):
    """A monitor that tracks the tests a, c and e, what runs one, and functions of the code under test."""
    monitor = Monitor("/project")
    monkeypatch.setattr(monitor._budget, "allows", lambda nodeid: nodeid in "ace")

    def run(nodeid, *functions, outcome="passed"):
        monitor.begin_test(nodeid)
        for function in functions:
            function()
        monitor.saw(report(outcome))
        monitor.end_test(())

    yield monitor, run, [made(f"def {name}():\n    return 1\n", name, name) for name in "fgh"]
    monitor.stop()


def counted(monitor):
    """Passing tests by function, failing ones with their functions, functions that ran elsewhere."""
    calls = monitor.calls()
    assert monitor.why_off == ""
    names = [each.function for each in calls.functions]
    failed = {test: sorted({names[index] for index, _ in ran}) for test, ran in calls.failed.items()}
    elsewhere = {each.function for each in calls.functions if each.in_import}
    return {each.function: each.passed for each in calls.functions if each.passed}, failed, elsewhere


@needs_monitoring
def test_what_a_test_that_is_passed_over_runs_is_not_of_the_next(session):
    monitor, run, (f, g, h) = session
    run("a", f)
    run("b", f, g)
    run("c", f, g, h)
    run("d", h, outcome="failed")
    run("e", g, outcome="failed")
    assert counted(monitor) == ({"f": 2, "g": 1, "h": 1}, {"e": ["g"]}, {"f", "g", "h"})
    assert monitor.calls().passed == 2
    assert monitor.tracked == {"a", "c", "e"}


@needs_monitoring
def test_setup_that_others_share_is_tracked_in_a_test_that_is_passed_over(session):
    monitor, run, (f, g, _) = session
    fixture = object()
    run("a", f)
    monitor.begin_test("b")
    monitor.begin_setup()
    f()
    monitor.end_setup(fixture, is_broken=False)
    g()
    monitor.end_test(())
    monitor.begin_test("c")
    monitor.saw(report())
    monitor.end_test([(fixture, True)])
    assert counted(monitor)[0] == {"f": 2}


@needs_monitoring
def test_setup_for_tests_of_which_none_is_tracked_did_run(session):
    monitor, run, (f, g, _) = session
    fixture = object()
    run("a", f)
    monitor.begin_test("b")
    monitor.begin_setup()
    g()
    monitor.end_setup(fixture, is_broken=False)
    monitor.torn_down(fixture, is_shared=True)
    monitor.end_test(())
    assert counted(monitor) == ({"f": 1}, {}, {"g"})


@needs_monitoring
@pytest.mark.parametrize(("when", "expected"), [("call", ["f"]), ("teardown", ["f", "g"])])
def test_teardown_of_a_shared_fixture_counts_where_the_test_fails_in_it(session, when, expected):
    monitor, _, (f, g, h) = session
    monitor.begin_test("a")
    f()
    monitor.saw(report("failed" if when == "call" else "passed"))
    g()
    monitor.torn_down(object(), is_shared=True)
    if when == "teardown":
        monitor.saw(report("failed", when))
    h()
    monitor.end_test(())
    assert counted(monitor)[1] == {"a": expected}


@needs_monitoring
def test_exception_of_the_program_passes_through_and_a_fault_of_ours_ends_tracking(session, monkeypatch):
    monitor, run, (f, _, _) = session

    def time_limit(number, frame):
        raise TimeoutError

    def limited(*_, **__):
        time_limit(14, sys._getframe())

    with monkeypatch.context() as patch:
        patch.setattr(monitor._counts, "add", limited)
        with pytest.raises(TimeoutError):
            run("a", f)
    monkeypatch.setattr(monitor._counts, "add", lambda *_, **__: 1 / 0)
    run("a", f)
    assert monitor.why_off.startswith("call tracking failed: ")
    assert monitor.calls() is None


def test_python_that_cannot(monkeypatch):
    monkeypatch.delattr(sys, "monitoring", raising=False)
    monitor = Monitor("/project")
    monitor.begin_test("t")
    monitor.saw(report("failed"))
    monitor.end_test(())
    assert monitor.calls() is None
    assert monitor.why_off == "Python 3.12 or newer records all"
    monitor.stop()
