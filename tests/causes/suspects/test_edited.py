import pytest
from loops import edits, known, loop
from loops import step as a_step
from msgspec.structs import replace
from records import SRC, TEST, failure, frame, in_test, raised, verdict

from loop_close.causes.clues import edited_before
from loop_close.records import Edit

NODEID = f"{TEST}::TestCart::test_total"
CONFTEST = "tests/conftest.py"


def step(run, *functions, is_full=True, file=SRC, **fields):
    found = edits(*(Edit(file=file, function=function, **fields) for function in functions))
    return a_step(run, scope="" if is_full else "-k a", edits=found)


def runs(*steps, exc=None, nodeid=NODEID):
    """By name the run after the edit, of a test that fails since run 4."""
    found = edited_before([failure(exc or verdict(), nodeid)], loop(*steps, failing=[known(NODEID, since=4)]))
    return {name: int(edit.rpartition(" ")[2]) for (_, name), (edit, _) in found.items()}


def test_edits_right_before_the_first_failure():
    assert runs(step(3, "before"), step(4, "total", "<module>"), step(5, "tried")) == {
        "total": 4,
        "<module>": 4,
    }


def test_a_test_that_the_loop_does_not_know():
    assert runs(step(4, "total"), nodeid="other.py::test_a") == {}


def test_edits_since_all_tests_had_last_run():
    partly = [step(n, f"f{n}", is_full=False) for n in (2, 3)]
    assert runs(step(1, "f1"), *partly, step(4, "total")) == {"f2": 2, "f3": 3, "total": 4}
    assert runs(step(2, "total", is_full=False), step(4, "total")) == {"total": 4}


@pytest.mark.parametrize("fields", [{"is_effective": False}, {"change": "removed"}])
def test_edits_that_cannot_matter(fields):
    assert runs(step(4, "total", **fields)) == {}


@pytest.mark.parametrize(
    ("file", "function", "counts"),
    [
        (TEST, "TestCart.test_total", True),
        (TEST, "TestCart.test_other", False),
        (TEST, "make_cart", True),
        ("tests/helpers.py", "rich", True),
        ("conftest.py", "cart", True),
        ("tests/test_other.py", "make_cart", False),
    ],
)
def test_test_code_that_the_failing_test_may_use(file, function, counts):
    exc = raised("TypeError", frames=[in_test("TestCart.test_total")])
    assert bool(runs(step(4, function, file=file), exc=exc)) is counts


@pytest.mark.parametrize(
    ("frames", "function", "file", "counts"),
    [
        ([in_test("TestCart.test_total")], "TestCart.test_total", TEST, False),
        ([in_test("TestCart.test_total")], "TestCart.test_other", TEST, False),
        ([frame(CONFTEST, "db")], "db", CONFTEST, True),
        ([in_test()], "db", CONFTEST, True),
        ([in_test()], "db", "tests/helpers.py", False),
    ],
)
def test_new_test_code_counts_on_the_traceback_and_in_conftests(frames, function, file, counts):
    exc = raised("OSError", frames=frames)
    assert bool(runs(step(4, function, file=file, change="added"), exc=exc)) is counts


@pytest.mark.parametrize(
    ("function", "message", "fields", "expected"),
    [
        ("Cart.tax", "'Cart' object has no attribute 'tax'", {"change": "removed"}, {"Cart.tax": 4}),
        ("Cart.tax", "'Cart' object has no attribute 'taxes'", {"change": "removed"}, {}),
    ],
)
def test_a_function_that_is_gone_counts_if_the_failure_names_it(function, message, fields, expected):
    assert runs(step(4, function, **fields), exc=raised(message=message)) == expected


def test_what_restored_files_that_the_loop_had_is_no_edit():
    first, second = replace(step(2, "a"), tree="t1"), replace(step(3, "b"), tree="t2")
    restoring = step(4, "c")
    assert runs(first, second, replace(restoring, tree="t1")) == {}
    assert runs(first, second, replace(restoring, tree="t3")) == {"c": 4}
