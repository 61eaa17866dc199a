import pytest
from called import CART, called, calls, nodeid
from loops import edits as changed
from loops import known as failing
from loops import loop, step
from records import SRC, failure, frame, in_test, raised, verdict

from loop_close.causes.rank import (
    MOST,
    NONE,
    UNCOUNTED,
    WEIGHTS,
    found_for,
    scored,
    suspects_among,
)
from loop_close.model import Evidence, Origin, RootCause, SourceLines
from loop_close.records import Edit

TOTAL = called("total", 10, passed=3, lines={1: 3, 2: 0})
TAX = called("tax", 30, passed=40, lines={1: 40})
WRONG = verdict(test="test_a")


def cause(*failures):
    evidence = tuple(Evidence(kind="test-failure", snippet="", failure=each) for each in failures)
    return RootCause(id="00000000", kind="test-failure", evidence=evidence)


def suspects_of(cause, known=None, *more):
    return suspects_among(scored(found_for(cause, known, *more)))


def ranked(cause, known=None, *more):
    found = found_for(cause, known, *more)
    return [candidate.function for _, candidate in scored(found)]


def names(suspects):
    return [suspect.function for suspect in suspects]


def test_no_evidence_no_suspect():
    assert suspects_of(cause(failure(WRONG, nodeid("test_a"))), None) == ()
    assert suspects_of(cause(failure(WRONG, nodeid("test_a"))), calls(TOTAL, passed=40)) == ()
    assert scored([]) == []


def test_weak_evidence_no_suspect():
    many = [called(f"f{n}", 10 * n, passed=40, lines={1: 40}) for n in range(99)]
    known = calls(*many, passed=40, test_a=[(n, 1) for n in range(99)])
    assert suspects_of(cause(failure(WRONG, nodeid("test_a"))), known) == ()


def test_the_function_that_failing_tests_ran_and_passing_ones_did_not():
    known = calls(TAX, TOTAL, passed=40, test_a=[(0, 1), (1, 1), (1, 2)])
    (first,) = suspects_of(cause(failure(WRONG, nodeid("test_a"))), known)
    assert (first.file, first.line, first.end_line, first.function) == (CART, 10, 19, "total")
    assert (first.failed, first.passed, first.odd) == ((1, 1), (3, 40), (12, 1, 0))
    assert 0.9 < first.score <= 1


def test_where_it_was_raised_without_any_calls():
    found = suspects_of(
        cause(failure(raised(frames=[frame(function="outer"), frame(function="f", line=7)]))), None
    )
    assert [(s.function, s.line, s.failed) for s in found] == [("f", 7, (0, 0)), ("outer", 10, (0, 0))]


def test_a_module_goes_by_the_line():
    exc = raised("ImportError", frames=[frame(function="<module>", line=3)])
    (found,) = suspects_of(cause(failure(exc, phase="collect")), None)
    assert (found.file, found.line, found.function) == (SRC, 3, "<module>")


def test_at_most_five():
    many = [called(f"f{n}", 10 * n, passed=0) for n in range(9)]
    known = calls(*many, passed=40, test_a=[(n, 1) for n in range(9)])
    assert len(suspects_of(cause(failure(WRONG, nodeid("test_a"))), known)) == MOST


def test_the_probabilities_leave_some_for_none_of_the_candidates():
    known = calls(TAX, TOTAL, passed=40, test_a=[(0, 1), (1, 1), (1, 2)])
    found = found_for(cause(failure(WRONG, nodeid("test_a"))), known)
    assert 0.9 < sum(probability for probability, _ in scored(found)) < 1
    assert sum(share for share, _ in scored(found, without=(NONE,))) == pytest.approx(1)


def test_no_more_than_cover_nearly_all_of_the_probability():
    counts = {"a": 0, "b": 0, "c": 90}
    alike = [called(name, 9, file=f"{name}.py", passed=n, lines={1: n}) for name, n in counts.items()]
    known = calls(*alike, passed=100, test_a=[(0, 1), (1, 1), (2, 1)])
    one = cause(failure(WRONG, nodeid("test_a")))
    assert ranked(one, known)[-1] == "c"
    assert sorted(names(suspects_of(one, known))) == ["a", "b"]


def defined(function, line, *lines):
    return Origin(file=SRC, line=line, function=function, source=SourceLines(start=line, lines=lines))


@pytest.mark.parametrize(
    ("origin", "expected"),
    [
        (defined("Cart", 3, "class Cart:", "    def total(self):"), []),
        (defined("Cart.limit", 3, "limit: int = 4"), []),
        (Origin(file="", line=0, function="fixture cart"), []),
        (defined("total", 3, "def total(cart):"), ["total"]),
        (defined("total", 3, "@cached", "async def total(cart):"), ["total"]),
    ],
)
def test_what_the_failing_statement_judges_without_any_calls(origin, expected):
    found = suspects_of(cause(failure(verdict(origin), nodeid("test_a"))), None)
    assert [each.function for each in found] == expected
    assert all(each.line == 3 and 0.1 < each.score < 0.7 for each in found)


def test_nothing_judged_is_suspected_where_calls_show_that_it_did_not_run():
    known = calls(TOTAL, passed=40, test_a=[(0, 1)])
    test = failure(verdict(defined("idle", 3, "def idle():"), test="test_a"), nodeid("test_a"))
    assert ranked(cause(test), known) == ["total"]


def test_ties_go_by_file_and_name():
    twins = [called("f", 10, file=file) for file in ("b.py", "a.py")]
    known = calls(*twins, passed=40, test_a=[(0, 1)], test_b=[(1, 1)])
    found = suspects_of(cause(*(failure(WRONG, nodeid(f"test_{n}")) for n in "ab")), known)
    assert [(s.file, s.function) for s in found] == [("a.py", "f"), ("b.py", "f")]


def test_what_most_of_the_failing_tests_do_not_call():
    known = calls(called("f", 10), passed=40, test_a=[(0, 1)], test_b=[], test_c=[])
    assert suspects_of(cause(*(failure(WRONG, nodeid(f"test_{n}")) for n in "abc")), known) == ()


def after(*edits):
    return loop(step(6, edits=changed(*edits)), failing=[failing(nodeid("test_a"), since=6)])


@pytest.mark.parametrize(
    ("edits", "order"),
    [
        ([Edit(file=CART, function="tax")], ["tax", "total"]),
        ([Edit(file=CART, function="<module>")], ["<module>", "total"]),
        ([Edit(file=CART, function="Cart")], ["Cart", "total"]),
        (
            [Edit(file=CART, function="tax"), Edit(file="tests/conftest.py", function="rates")],
            ["tax", "rates"],
        ),
        (
            [Edit(file="tests/conftest.py", function="rates"), Edit(file=CART, function="idle")],
            ["rates", "total"],
        ),
        ([Edit(file=CART, function="fresh", change="added")], ["total"]),
        ([Edit(file=CART, function="never_called")], ["total"]),
        ([Edit(file="setup.py", function="<module>")], ["total"]),
        ([Edit(file=CART, function="parse", change="moved", moved_to=(CART, "tax"))], ["tax", "total"]),
    ],
)
def test_an_edit_outweighs_the_counts(edits, order):
    ran = calls(TAX, TOTAL, called("idle", 70), passed=40, test_a=[(0, 1), (1, 1)])
    known = ran._replace(modules=frozenset({CART}))
    assert ranked(cause(failure(WRONG, nodeid("test_a"))), known, after(*edits))[: len(order)] == order


def test_why_what_was_edited_is_suspected():
    known = calls(TAX, TOTAL, passed=40, test_a=[(0, 1), (1, 1)])
    found = suspects_of(
        cause(failure(WRONG, nodeid("test_a"))), known, after(Edit(file=CART, function="tax"))
    )
    assert found[0].reasons == ("edited right before this began to fail",)


def test_every_feature_has_a_weight():
    one = cause(failure(WRONG, nodeid("test_a")))
    found = found_for(one, calls(TOTAL, passed=9, test_a=[(0, 1)]), after(Edit(file=CART, function="total")))
    (first,) = found
    assert set(first.features) == {*WEIGHTS, *UNCOUNTED} - {NONE}
    assert all(-1 <= value <= 1 for value in first.features.values())


@pytest.mark.parametrize("order", [1, -1])
def test_the_order_of_the_failures_does_not_matter(order):
    two = [failure(verdict(test=name), nodeid(name)) for name in ("test_a", "test_b")]
    known = calls(called("tax", 30, passed=4), TOTAL, passed=40, test_a=[(0, 1), (1, 1)], test_b=[(1, 2)])
    assert names(suspects_of(cause(*two[::order]), known)) == ["total", "tax"]


def test_what_all_passing_tests_run_as_well():
    known = calls(called("norm", 10, passed=50, lines={1: 50}), passed=50, test_a=[(0, 1)])
    assert suspects_of(cause(failure(WRONG, nodeid("test_a"))), known) == ()


def test_the_failing_test_is_no_suspect_of_its_own():
    file = "checks/check_cart.py"
    known = calls(called("test_a", 5, file=file), TOTAL, passed=40, test_a=[(1, 1), (0, 1)])
    test = failure(WRONG, nodeid("test_a"), file=file)
    assert names(suspects_of(cause(test), known)) == ["total"]


def test_the_exception_does_not_make_itself():
    made = called("CartError.__init__", 50, lines={1: 0})
    known = calls(TAX, TOTAL, made, passed=40, test_a=[(0, 1), (1, 1), (2, 1)])
    exc = raised("CartError", bases=("Exception",), frames=[in_test(), frame(function="total")])
    assert "CartError.__init__" not in names(suspects_of(cause(failure(exc, nodeid("test_a"))), known))
    judged = verdict(test="test_a", context=exc)
    assert "CartError.__init__" in names(suspects_of(cause(failure(judged, nodeid("test_a"))), known))
    inside = [in_test(), frame(function="CartError.__init__")]
    exc = raised("CartError", bases=("Exception",), frames=inside)
    assert "CartError.__init__" in names(suspects_of(cause(failure(exc, nodeid("test_a"))), known))
