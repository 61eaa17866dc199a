import pytest
from records import SRC, TEST, failure, verdict

from loop_close.causes.clues import edited_before
from loop_close.memory import Edit, Edits, Episode, FailureRecord, KnownTest, Step

NODEID = f"{TEST}::TestCart::test_total"


def step(run, *functions, is_full=True, file=SRC, **fields):
    edits = tuple(Edit(file=file, function=function, **fields) for function in functions)
    return Step(run=run, is_full=is_full, edits=Edits(kind="effective", edits=edits))


def runs(*steps, since=4, nodeid=NODEID):
    known = {NODEID: KnownTest(status="failing", mark=FailureRecord(test=NODEID), since=since)}
    found = edited_before([failure(verdict(), nodeid)], Episode(first=1, steps=steps, tests=known))
    return {name: run for (_, name), (run, _) in found.items()}


def test_what_was_edited_right_before_it_began():
    assert runs(step(3, "before"), step(4, "total", "<module>"), step(5, "tried")) == {
        "total": 4,
        "<module>": 4,
    }


def test_a_test_that_the_episode_does_not_know():
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
