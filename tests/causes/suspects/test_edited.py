import pytest
from called import called
from loops import edits, known, loop
from loops import step as a_step
from records import SRC, TEST, failure, frame, in_test, observed, raised, source, verdict

from loop_close.calls import Calls
from loop_close.causes.clues import edited_before
from loop_close.causes.rank import found_for, scored, suspects_among
from loop_close.judge import report_of
from loop_close.records import Edit

NODEID = f"{TEST}::TestCart::test_total"


def step(run, *functions, is_full=True, file=SRC, changed=(), **fields):
    found = edits(*(Edit(file=file, function=function, **fields) for function in functions))
    return a_step(run, scope="" if is_full else "-k a", changed=changed, edits=found)


def runs(*steps, since=4, nodeid=NODEID):
    so_far = loop(*steps, failing=[known(NODEID, since=since)])
    found = edited_before([failure(verdict(), nodeid)], so_far)
    return {name: run for (_, name), (run, *_) in found.items()}


def test_what_was_edited_right_before_it_began():
    assert runs(step(3, "before"), step(4, "total", "<module>"), step(5, "tried")) == {
        "total": 4,
        "<module>": 4,
    }


def test_a_test_that_the_loop_does_not_know():
    assert runs(step(4, "total"), nodeid="other.py::test_a") == {}


def test_since_all_tests_had_last_run():
    partly = [step(n, f"f{n}", is_full=False) for n in (2, 3)]
    assert runs(step(1, "f1"), *partly, step(4, "total")) == {"f2": 2, "f3": 3, "total": 4}
    assert runs(step(2, "total", is_full=False), step(4, "total")) == {"total": 4}


@pytest.mark.parametrize(
    "fields", [{"is_effective": False}, {"change": "removed"}, {"file": TEST, "change": "added"}]
)
def test_what_does_not_count(fields):
    assert runs(step(4, "total", **fields)) == {}


def test_a_whole_file_is_no_function():
    assert runs(step(4, "", file="data.json")) == {}


@pytest.mark.parametrize(
    ("file", "function", "counts"),
    [
        (TEST, "TestCart.test_total", True),
        (TEST, "TestCart.test_other", False),
        (TEST, "make_cart", True),
        ("tests/helpers.py", "rich", True),
        ("tests/conftest.py", "cart", True),
        ("conftest.py", "cart", True),
        ("tests/api/conftest.py", "cart", False),
    ],
)
def test_test_code_that_the_failing_test_may_use(file, function, counts):
    assert bool(runs(step(4, function, file=file))) is counts


CONFTEST = "tests/conftest.py"


def suspects(exc, *changed, phase="setup", known_calls=None):
    """The suspects of one failure, after a run in which a constant and test code changed."""
    test = failure(exc, NODEID, phase)
    so_far = loop(a_step(4, edits=edits(*changed)), failing=[known(NODEID, since=4)])
    (cause,) = report_of(observed(test)).causes
    found = suspects_among(scored(found_for(cause, known_calls, so_far)))
    return [(each.function, each.reasons) for each in found]


CONSTANT = Edit(file=SRC, function="<module>")
FIXTURE = Edit(file=CONFTEST, function="db", change="added")


def test_a_new_fixture_that_raised_the_exception_comes_first():
    found = suspects(raised("OSError", frames=[frame(CONFTEST, "db", 4)]), CONSTANT, FIXTURE)
    assert found == [
        ("db", ("added before run 4", "the exception was raised in it")),
        ("<module>", ("edited before run 4",)),
    ]


def test_a_new_helper_that_objects_to_what_it_is_given_comes_after_code_that_was_edited():
    refusing = source("def db():", "    raise ValueError(url)", start=3)
    exc = raised("ValueError", frames=[frame(CONFTEST, "db", 4, source=refusing)])
    assert suspects(exc, CONSTANT, FIXTURE) == [
        ("<module>", ("edited before run 4",)),
        ("db", ("added before run 4", "it raised the exception")),
    ]


@pytest.mark.parametrize(
    "exc",
    [
        raised("OSError", frames=[frame(CONFTEST, "db", 4), frame()]),  # raised by what it calls
        raised("AssertionError", frames=[frame(CONFTEST, "db", 4)]),
        raised("Failed", frames=[frame(CONFTEST, "db", 4)]),
    ],
)
def test_a_new_helper_that_says_what_is_still_to_be_done_is_no_suspect(exc):
    assert "db" not in dict(suspects(exc, CONSTANT, FIXTURE))


def test_where_python_says_what_it_cannot_parse_no_edit_is_suspected():
    exc = raised(
        "SyntaxError", frames=[in_test("<module>", 1)], details={"path": "src/other.py", "line": "1"}
    )
    assert suspects(exc, CONSTANT, phase="collect") == []
    unnamed = raised("SyntaxError", details={"path": "<string>", "line": "1"})
    assert "<module>" in dict(suspects(unnamed, CONSTANT))


def test_a_new_test_is_no_suspect():
    exc = raised("NameError", frames=[in_test("TestCart.test_total")])
    added = Edit(file=TEST, function="TestCart.test_total", change="added")
    assert "TestCart.test_total" not in dict(suspects(exc, CONSTANT, added, phase="call"))


def test_a_new_module_of_tests_is_no_suspect():
    exc = raised("ModuleNotFoundError", frames=[in_test("<module>", 1)])
    added = Edit(file=TEST, function="<module>", change="added")
    assert suspects(exc, added, phase="collect") == []


def test_an_edit_counts_by_the_share_of_the_failures_that_began_after_it():
    tests = [known(f"{TEST}::test_{n}", since=n) for n in (2, 3, 4, 5)]
    failures = [failure(verdict(), each.test) for each in tests]
    steps = step(2, "a"), step(3, "b"), step(4, "c", "b"), step(5, "d")
    found = edited_before(failures, loop(*steps, failing=tests))
    assert {name: (run, share) for (_, name), (run, _, share, _) in found.items()} == dict.fromkeys(
        "a", (2, 0.25)
    ) | {
        "b": (4, 0.25),
        "c": (4, 0.25),
        "d": (5, 0.25),
    }


def test_a_failure_that_became_another_one_began_twice():
    steps = step(2, "a"), step(3, "b"), step(4, "c", changed=(NODEID,)), step(5, "d")
    found = edited_before([failure(verdict(), NODEID)], loop(*steps, failing=[known(NODEID, since=2)]))
    assert {name for _, name in found} == {"a", "c"}


def test_what_the_failing_test_did_not_run_is_not_suspected_though_it_ran_nothing():
    """Its calls are known: there are none."""
    exc = raised("AssertionError", frames=[in_test()])
    assert suspects(exc, Edit(file=SRC, function="total")) != []
    known = Calls(passed=3, functions=(called("total", 10, 3),), failed={NODEID: ()})
    assert suspects(exc, Edit(file=SRC, function="total"), known_calls=known) == []


@pytest.mark.parametrize(
    ("exc", "edit", "expected"),
    [
        (
            raised("AttributeError", details={"name": "tax", "owner": "Cart"}),
            Edit(file=SRC, function="Cart.tax", change="removed"),
            ("Cart.tax", "removed before run 4"),
        ),
        (
            raised("NameError", details={"name": "tax"}),
            Edit(file=SRC, function="tax", change="moved", moved_to=(SRC, "vat")),
            ("tax", "moved to vat before run 4"),
        ),
        (
            raised("ImportError", details={"name": "tax", "owner": "shop.cart"}),
            Edit(file=SRC, function="tax", change="moved", moved_to=("src/shop/tax.py", "tax")),
            ("tax", "moved to tax in src/shop/tax.py before run 4"),
        ),
        (
            raised("ModuleNotFoundError", bases=("ImportError",), details={"name": "shop.tax"}),
            Edit(
                file="src/shop/tax.py",
                function="rate",
                change="moved",
                moved_to=("src/shop/basket.py", "rate"),
            ),
            ("<module>", "moved to src/shop/basket.py before run 4"),
        ),
        (
            raised("FixtureLookupError", details={"fixture": "cart"}),
            Edit(file=CONFTEST, function="cart", change="removed"),
            ("cart", "removed before run 4"),
        ),
    ],
)
def test_what_is_missed_and_was_removed_comes_first(exc, edit, expected):
    known = Calls(passed=3, functions=(called("total", 10, 3),), failed={NODEID: ((0, 1),)})
    for known_calls in (None, known):
        function, reasons = suspects(exc, edit, CONSTANT, phase="call", known_calls=known_calls)[0]
        assert (function, reasons[0]) == expected


def test_what_was_removed_and_is_not_missed_is_no_suspect():
    exc = raised("AttributeError", details={"name": "total", "owner": "Cart"})
    assert "Cart.tax" not in dict(suspects(exc, Edit(file=SRC, function="Cart.tax", change="removed")))


@pytest.mark.parametrize(
    ("exc", "edit"),
    [
        (
            raised("FixtureLookupError", details={"fixture": "cart"}),
            Edit(file="tests/sub/conftest.py", function="cart", change="removed"),
        ),
        (
            raised("ModuleNotFoundError", bases=("ImportError",), details={"name": "utils"}),
            Edit(file="other/utils.py", function="w", change="removed"),
        ),
        (raised("NameError", details={"name": "tax"}), Edit(file=SRC, function="Old.tax", change="removed")),
        (
            raised("NameError", details={"name": "tax"}),
            Edit(file="src/shop/other.py", function="tax", change="removed"),
        ),
        (
            raised("ImportError", details={"name": "tax", "owner": "zzz"}),
            Edit(file="src/aaa.py", function="tax", change="removed"),
        ),
        (
            raised("AttributeError", details={"name": "load", "owner": "Conf"}),
            Edit(file="src/shop/other.py", function="load", change="removed"),
        ),
        (
            raised("AttributeError", details={"name": "load", "owner": "Conf"}),
            Edit(file=SRC, function="Other.load", change="removed"),
        ),
    ],
)
def test_what_was_removed_where_python_does_not_look_is_no_suspect(exc, edit):
    assert edit.function not in dict(suspects(exc, edit, CONSTANT, phase="call"))
    assert not any(
        "removed" in reason for _, reasons in suspects(exc, edit, phase="call") for reason in reasons
    )


@pytest.mark.parametrize(
    ("exc", "diff", "expected"),
    [
        (
            raised("AttributeError", details={"name": "now", "owner": "shop.cart"}),
            "-from clock import now\n+import clock",
            True,
        ),
        (
            raised("ImportError", details={"name": "now", "owner": "shop.cart"}),
            "-from clock import now",
            True,
        ),
        (raised("NameError", details={"name": "now"}), "-from clock import now\n+import clock", True),
        (
            raised("NameError", details={"name": "now"}),
            "-from clock import now\n+from clocks import now",
            False,
        ),
        (raised("NameError", details={"name": "nowhere"}), "-from clock import now", False),
        (
            raised("AttributeError", details={"name": "now", "owner": "shop.tax"}),
            "-from clock import now",
            False,
        ),
    ],
)
def test_a_name_that_an_edit_of_the_module_took_away(exc, diff, expected):
    """It comes before another module that was edited in the same turn."""
    other = Edit(file="src/shop/aaa.py", function="<module>")
    test = failure(exc, NODEID, "call")
    changed = edits(other, Edit(file=SRC, function="<module>", diff=diff))
    so_far = loop(a_step(4, edits=changed), failing=[known(NODEID, since=4)])
    (cause,) = report_of(observed(test)).causes
    found = scored(found_for(cause, None, so_far))
    scores = {candidate.file: share for share, candidate in found if candidate.function == "<module>"}
    assert (scores[SRC] > 2 * scores[other.file]) is expected


NEEDS_RATE = "total() missing 1 required positional argument: 'rate'"
NO_TAX = "Cart.__init__() got an unexpected keyword argument 'tax'"


@pytest.mark.parametrize(
    ("message", "function", "diff", "expected"),
    [
        (NEEDS_RATE, "total", "-def total(items):\n+def total(items, rate):\n     return", True),
        (NEEDS_RATE, "total", " def total(\n     items,\n+    rate,\n ):", True),
        (NEEDS_RATE, "total", " def total(items, rate):\n-    return 1\n+    return 2", False),
        (NEEDS_RATE, "total", "     x = 1\n-    return 1\n+    return 2", False),
        (NEEDS_RATE, "total", "", False),
        (NEEDS_RATE, "Cart.total", "-def total(items):\n+def total(items, rate):", False),
        (NO_TAX, "Cart.__init__", "-    def __init__(self, tax):\n+    def __init__(self, rate):", True),
        (NO_TAX, "Cart", "     items: list\n-    tax: int\n+    rate: int", True),
        (NO_TAX, "Other", "     items: list\n-    tax: int\n+    rate: int", False),
        (
            "tax() missing 1 required positional argument: 'x'",
            "total",
            "-def total(a):\n+def total():",
            False,
        ),
    ],
)
def test_a_function_whose_parameters_were_edited_comes_before_its_callers(message, function, diff, expected):
    exc = raised("TypeError", message, [in_test(), frame(SRC, "checkout")])
    found = suspects(exc, Edit(file=SRC, function=function, diff=diff), phase="call")
    reason = "its parameters were edited before run 4"
    assert (found[0][0] == function and found[0][1][0] == reason) is expected
