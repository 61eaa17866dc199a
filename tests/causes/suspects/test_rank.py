import pytest
from called import CART, called, calls, nodeid
from loops import edits as changed
from loops import known as failing
from loops import loop, step
from records import SRC, failure, frame, in_test, raised, source, verdict

from loop_close.calls import NO_CALLS
from loop_close.causes.rank import (
    MOST,
    NONE,
    UNCOUNTED,
    WEIGHTS,
    candidates,
    odd_line,
    scored,
    suspects_among,
)
from loop_close.model import Evidence, Frame, RootCause, Site
from loop_close.records import Edit

TOTAL = called("total", 10, passed=3, lines={1: 3, 2: 0})
TAX = called("tax", 30, passed=40, lines={1: 40})
WRONG = failure(verdict(test="test_a"), nodeid("test_a"))
CONFTEST = "tests/conftest.py"


def cause(*failures):
    evidence = tuple(Evidence(kind="test-failure", snippet="", failure=each) for each in failures)
    return RootCause(id="00000000", kind="test-failure", evidence=evidence)


def suspects_of(cause, known=NO_CALLS, *more):
    return suspects_among(scored(candidates(cause, known, *more)))


def ranked(cause, known=NO_CALLS, *more):
    return [candidate.function for _, candidate in scored(candidates(cause, known, *more))]


def names(suspects):
    return [suspect.function for suspect in suspects]


def after(*edits):
    return loop(step(6, edits=changed(*edits)), failing=[failing(nodeid("test_a"), since=6)])


def test_no_evidence_no_suspect():
    assert suspects_of(cause(WRONG)) == ()
    assert suspects_of(cause(WRONG), calls(TOTAL, passed=40)) == ()
    assert scored([]) == []


def test_weak_evidence_no_suspect():
    many = [called(f"f{n}", 10 * n, passed=40, lines={1: 40}) for n in range(99)]
    known = calls(*many, passed=40, test_a=[(n, 1) for n in range(99)])
    assert suspects_of(cause(WRONG), known) == ()


def test_the_function_that_failing_tests_ran_and_passing_ones_did_not():
    known = calls(TAX, TOTAL, passed=40, test_a=[(0, 1), (1, 1), (1, 2)])
    first, *_ = suspects_of(cause(WRONG), known)
    assert (first.file, first.line, first.end_line, first.function) == (CART, 10, 19, "total")
    assert (first.failed, first.passed, first.odd) == ((1, 1), (3, 40), (12, 1, 0))
    assert 0.7 < first.score <= 1


def test_where_it_was_raised_without_any_calls():
    exc = raised(frames=[frame(function="outer"), frame(function="f", line=7)])
    found = suspects_of(cause(failure(exc)))
    assert [(s.function, s.line, s.failed) for s in found] == [("f", 7, (0, 0)), ("outer", 10, (0, 0))]


def test_a_module_goes_by_the_line():
    exc = raised("ImportError", frames=[frame(function="<module>", line=3)])
    (found,) = suspects_of(cause(failure(exc, phase="collect")))
    assert (found.file, found.line, found.function) == (SRC, 3, "<module>")


def test_a_fixture_of_a_conftest_that_raised_is_the_first_suspect():
    exc = raised("OSError", frames=[frame(CONFTEST, "backend", 4)])
    for known in (NO_CALLS, calls(TAX, TOTAL, passed=40, test_a=[])):
        first, *_ = suspects_of(cause(failure(exc, nodeid("test_a"), "setup")), known)
        assert (first.file, first.line, first.function) == (CONFTEST, 4, "backend")
        assert first.reasons == ("the last project function on the traceback",)


def test_python_says_itself_which_file_it_cannot_parse():
    exc = raised("SyntaxError", frames=[frame(function="<module>")], details={"path": SRC, "line": "1"})
    found = suspects_of(cause(failure(exc, phase="collect")), NO_CALLS, after(Edit(file=SRC, function="f")))
    assert found == ()


def test_at_most_five():
    many = [called(f"f{n}", 10 * n, passed=0) for n in range(9)]
    known = calls(*many, passed=40, test_a=[(n, 1) for n in range(9)])
    assert len(suspects_of(cause(WRONG), known)) == MOST


def test_the_probabilities_leave_some_for_none_of_the_candidates():
    known = calls(TAX, TOTAL, passed=40, test_a=[(0, 1), (1, 1), (1, 2)])
    assert 0.7 < sum(share for share, _ in scored(candidates(cause(WRONG), known))) < 1


def test_a_value_that_the_failing_statement_uses_without_any_calls():
    at = source("def total(cart):", start=3)
    given = Frame(file=SRC, line=3, function="total", source=at)
    (found,) = suspects_of(cause(failure(verdict(given), nodeid("test_a"))))
    assert (found.function, found.line) == ("total", 3)
    assert found.reasons == ("the failing statement calls it or uses its value",)


def test_a_function_that_the_failing_tests_did_not_run_is_not_suspected_for_its_value():
    known = calls(TOTAL, passed=40, test_a=[(0, 1)])
    given = Frame(file=SRC, line=3, function="idle")
    test = failure(verdict(given, test="test_a"), nodeid("test_a"))
    assert ranked(cause(test), known) == ["total"]


def test_ties_go_by_file_and_name():
    twins = [called("f", 10, file=file) for file in ("b.py", "a.py")]
    known = calls(*twins, passed=40, test_a=[(0, 1)], test_b=[(1, 1)])
    found = suspects_of(cause(WRONG, failure(verdict(test="test_b"), nodeid("test_b"))), known)
    assert [(s.file, s.function) for s in found] == [("a.py", "f"), ("b.py", "f")]


@pytest.mark.parametrize("order", [1, -1])
def test_the_order_of_the_failures_does_not_matter(order):
    two = [failure(verdict(test=name), nodeid(name)) for name in ("test_a", "test_b")]
    known = calls(called("tax", 30, passed=4), TOTAL, passed=40, test_a=[(0, 1), (1, 1)], test_b=[(1, 2)])
    assert names(suspects_of(cause(*two[::order]), known)) == ["total", "tax"]


@pytest.mark.parametrize(
    ("edits", "order"),
    [
        ([Edit(file=CART, function="tax")], ["tax", "total"]),
        ([Edit(file=CART, function="<module>")], ["<module>", "total"]),
        ([Edit(file=CART, function="Cart")], ["Cart", "total"]),
        ([Edit(file=CONFTEST, function="rates"), Edit(file=CART, function="idle")], ["rates", "total"]),
        ([Edit(file=CART, function="idle")], ["total"]),
        ([Edit(file=CART, function="total", change="removed")], ["total"]),
    ],
)
def test_an_edit_outweighs_the_counts_but_not_of_a_function_that_did_not_run(edits, order):
    known = calls(TAX, TOTAL, called("idle", 70), passed=40, test_a=[(0, 1), (1, 1)])
    assert ranked(cause(WRONG), known, after(*edits))[: len(order)] == order


def test_every_feature_has_a_weight():
    known = calls(TOTAL, passed=9, test_a=[(0, 1)])
    (first,) = candidates(cause(WRONG), known, after(Edit(file=CART, function="total")))
    assert {*first.features, "constant"} == {*WEIGHTS, *UNCOUNTED} - {NONE}
    assert all(-1 <= value <= 1 for value in first.features.values())


def test_the_failing_test_is_no_suspect_of_its_own():
    file = "checks/check_cart.py"
    known = calls(called("test_a", 5, file=file), TOTAL, passed=40, test_a=[(1, 1), (0, 1)])
    test = failure(verdict(test="test_a"), nodeid("test_a"), file=file)
    assert names(suspects_of(cause(test), known)) == ["total"]


def test_functions_that_ran_because_of_the_exception_are_no_suspects():
    """Methods of its class, and a helper that raises what it is given: only failing tests run them."""
    functions = TOTAL, called("CartError.__init__", 50), called("fail", 70)
    known = calls(*functions, passed=40, test_a=[(0, 1), (1, 1), (2, 1)])
    helper = frame(CART, "fail", is_handing_on=True)
    exc = raised("CartError", bases=("Exception",), frames=[in_test(), frame(CART, "total"), helper])
    assert ranked(cause(failure(exc, nodeid("test_a"))), known) == ["total"]
    assert set(ranked(cause(WRONG), known)) == {"total", "CartError.__init__", "fail"}
    inside = raised("CartError", bases=("Exception",), frames=[in_test(), frame(CART, "CartError.__init__")])
    assert "CartError.__init__" in ranked(cause(failure(inside, nodeid("test_a"))), known)


@pytest.mark.parametrize(
    ("caller", "places"),
    [("test_a", ["Cart.add", "total"]), ("stocked", ["Cart.add", "stocked"])],
)
def test_what_did_not_take_the_arguments_of_test_code_is_first_and_a_helper_that_gave_them_next(
    caller, places
):
    """No line of it ran in the failing test; passing tests ran it."""
    known = calls(TOTAL, called("Cart.add", 50, passed=3), passed=3, test_a=[(0, 1)])
    asked = in_test(caller)
    refusing = frame(CART, "Cart.add", line=50, source=source("def add(self, item):", start=50))
    site = Site(frame=asked, statement="cart.add(to=1)", origins=(refusing,))
    exc = raised("TypeError", frames=[in_test("test_a"), asked, refusing], site=site)
    found = cause(failure(exc, nodeid("test_a")))
    assert ranked(found, known)[:2] == places
    assert suspects_of(found, known)[0].reasons == ("a call whose arguments do not fit",)


# --- reasons, which are facts

OBJECTS = frame(line=10, source=source("def total(x):", "    raise ValueError(x)", start=9))


@pytest.mark.parametrize(
    ("frames", "reasons"),
    [
        ([in_test(), frame()], ("the last project function on the traceback",)),
        ([in_test(), OBJECTS], ("it raised the exception",)),
        ([in_test(), frame(), frame(function="inner")], ("on the traceback",)),
    ],
)
def test_the_traceback_as_a_reason(frames, reasons):
    found = {each.function: each.reasons for each in suspects_of(cause(failure(raised(frames=frames))))}
    assert found["total"] == reasons


def test_counts_alone_need_no_reason():
    known = calls(TOTAL, passed=40, test_a=[(0, 1)])
    assert [each.reasons for each in suspects_of(cause(WRONG), known)] == [()]


@pytest.mark.parametrize(
    ("change", "tests", "reason"),
    [
        ("edited", "a", "edited before run 6"),
        ("edited", "abcd", "edited before run 6"),
        ("added", "a", "added before run 6"),
    ],
)
def test_an_edit_as_a_reason(change, tests, reason):
    failures = [failure(verdict(test=f"test_{n}"), nodeid(f"test_{n}")) for n in tests]
    known = calls(TAX, TOTAL, passed=40, **{f"test_{n}": [(1, 1)] for n in tests})
    so_far = after(Edit(file=CART, function="total", change=change))
    first, *_ = suspects_of(cause(*failures), known, so_far)
    assert (first.function, first.reasons) == ("total", (reason,))


def test_a_function_that_changed_since_the_passing_tests_were_counted():
    known = calls(TOTAL._replace(is_changed=True), passed=40, test_a=[(0, 1), (0, 2)])
    (found,) = suspects_of(cause(WRONG), known)
    assert found.reasons == ("changed since the passing tests were counted",)
    assert (found.failed, found.passed, found.odd) == ((1, 1), (0, 0), (0, 0, 0))


@pytest.mark.parametrize(
    ("passed", "lines", "odd"),
    [
        (0, {}, (0, 0, 0)),
        (4, {1: 4}, (0, 0, 0)),
        (4, {1: 3}, (0, 0, 0)),
        (4, {1: 2}, (11, 1, 2)),
        (4, {1: 0}, (11, 1, 0)),
    ],
)
def test_a_line_that_few_of_the_passing_tests_ran(passed, lines, odd):
    known = calls(called("f", 10, passed=passed, lines=lines), passed=9, test_a=[(0, 1)])
    (found,) = candidates(cause(WRONG), known)
    assert odd_line(found) == odd


def test_a_line_that_not_all_of_the_failing_tests_ran():
    function = called("f", 10, passed=9, lines={1: 9, 2: 0})
    known = calls(function, passed=9, test_a=[(0, 1)], test_b=[(0, 1), (0, 2)])
    (found,) = candidates(cause(WRONG, failure(verdict(), nodeid("test_b"))), known)
    assert odd_line(found) == (0, 0, 0)
