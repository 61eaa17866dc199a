"""One failing test run alone is compared with the passing ones of the last fuller run."""

import contextlib
import os
import re
import sqlite3
import sys

import pytest

from loop_close.store.sqlite import open_history

pytestmark = pytest.mark.skipif(not hasattr(sys, "monitoring"), reason="calls are seen from Python 3.12 on")

PROJECT = {
    "pytest.ini": "",
    "shop.py": """
        def price(item):
            return item["price"] * item["count"]


        def discount(total):
            if total > 100:
                return total * 0.9
            return total


        def total(items):
            return discount(sum(price(item) for item in items))
        """,
    "test_shop.py": """
        import pytest
        import shop


        @pytest.mark.parametrize("count", [1, 2, 3, 4])
        def test_price(count):
            assert shop.price({"price": 5, "count": count}) == 5 * count


        @pytest.mark.parametrize("total", [1, 50])
        def test_discount(total):
            assert shop.discount(total) == total


        def test_little():
            assert shop.total([{"price": 5, "count": 1}]) == 5


        def test_much():
            assert shop.total([{"price": 50, "count": 4}]) == 180
        """,
}
ALONE = "test_shop.py::test_much"
WRONG = ("total > 100", "total > 1000")


@pytest.fixture
def loop(run, pytester):
    """Edit files (replace texts in them), then run pytest in a process of its own."""

    def turn(*args, plugins=(), **edits):
        for name, (old, new) in edits.items():
            path = pytester.path / f"{name}.py"
            text = path.read_text()
            assert old in text
            path.write_text(text.replace(old, new))
        files = {} if (pytester.path / "pytest.ini").exists() else PROJECT
        return run(files, *args, remembers=True, own_process=True, plugins=plugins)

    return turn


def counts(done):
    calls = done.report["calls"]
    return calls["failing"], calls["passing"]


def passed(done, function):
    """How many of how many passing tests called the suspect, in the words of the report."""
    reasons = (
        "\n".join(each["reasons"])
        for cause in done.causes
        for each in cause["suspects"]
        if each["function"] == function
    )
    found = re.search(r"\b(\d+) of (\d+) passing (?:tests|ones)\b", next(reasons, ""))
    return found and tuple(map(int, found.groups()))


def rows(pytester):
    path = pytester.path / ".loop-close" / "history.sqlite3"
    with contextlib.closing(sqlite3.connect(path)) as connection:
        return connection.execute("SELECT source, passed, length(data) FROM calls").fetchall()


def test_failing_test_alone_is_compared_with_the_green_run_before(loop):
    assert loop().ret == 0
    done = loop(ALONE, test_shop=("== 180", "== 181"))
    assert counts(done) == (1, 7)  # of the 8, it was one itself
    assert passed(done, "discount") == (3, 7)


def test_function_that_was_edited_is_not_compared_with_the_old_counts(loop):
    loop()
    done = loop(ALONE, shop=WRONG)
    assert counts(done) == (1, 7)
    assert passed(done, "discount") is None
    assert "robably discount() in shop.py:" in done.title
    assert "called by the failing test; edited right before this began to fail" in done.prompt


def test_functions_that_moved_are_the_same(loop):
    loop()
    more = (
        "def price",
        "# of one line of an order\n\n\ndef price",
    )  # an edit that changes nothing is not a suspect
    done = loop(ALONE, shop=more, test_shop=("== 180", "== 181"))
    assert passed(done, "discount") == (3, 7)


def test_green_run_on_the_way_that_loads_little_is_remembered(run, loop, pytester, monkeypatch):
    monkeypatch.delenv("TOX_ENV_NAME", raising=False)  # a run below tox has a source of its own
    run(PROJECT, asked=("--loop-close",), remembers=True, own_process=True)
    assert [row[:2] for row in rows(pytester)] == [("pytest", 8)]
    assert counts(loop(ALONE, shop=WRONG)) == (1, 7)


def test_red_run_of_all_tests_is_remembered_and_stands_for_itself(loop, pytester):
    loop()
    assert counts(loop(shop=WRONG)) == (1, 7)
    assert [row[1] for row in rows(pytester)] == [7]
    assert counts(loop(ALONE)) == (1, 7)  # it failed then, and is none of the seven


def test_run_of_few_tests_does_not_take_the_place_of_one_of_all(loop, pytester):
    loop()
    loop("-k", "price")
    loop(ALONE, shop=WRONG)
    assert [row[1] for row in rows(pytester)] == [8]


def test_run_that_was_stopped_is_not_remembered(loop, pytester):
    loop()
    loop("-x", shop=('item["price"] *', '1 + item["price"] *'))
    assert [row[1] for row in rows(pytester)] == [8]


def test_what_breaks_most_tests_does_not_cost_the_counts(loop, pytester):
    loop()
    done = loop(shop=('item["price"] *', '1 + item["price"] *'))
    assert counts(done) == (6, 2)
    assert [row[1] for row in rows(pytester)] == [8]
    assert counts(loop("-k", "test_price and 3")) == (1, 7)


def test_test_that_is_new_was_none_of_those_that_passed(loop):
    loop()
    more = "def test_new():\n    assert shop.price({'price': 1, 'count': 1}) == 2\n\n\ndef test_much"
    done = loop("-k", "test_new", test_shop=("def test_much", more))
    assert counts(done) == (1, 8)
    assert passed(done, "price") == (6, 8)


def test_with_workers_it_is_the_same(loop, pytester):
    pytest.importorskip("xdist")
    loop("-n2", plugins=("xdist",))
    assert [row[1] for row in rows(pytester)] == [8]
    assert counts(loop(ALONE, "-n2", plugins=("xdist",), shop=WRONG)) == (1, 7)


def test_worker_that_dies_does_not_cost_the_counts(loop, pytester):
    pytest.importorskip("xdist")
    loop()
    death = "def test_much():\n    import os; os._exit(1)"
    loop("-n1", plugins=("xdist",), test_shop=("def test_much():", death))
    assert [row[1] for row in rows(pytester)] == [8]


def test_without_a_history_there_is_nothing_to_compare_with(loop):
    loop("--loop-close-history=off")
    assert counts(loop(ALONE, "--loop-close-history=off", shop=WRONG)) == (1, 0)
    assert counts(loop(ALONE)) == (1, 0)


def test_not_wanted_it_is_not_kept(loop, pytester):
    loop("--loop-close-suspects=off")
    assert rows(pytester) == []


def spoil(path, statement):
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute(statement)


@pytest.mark.parametrize(
    ("statement", "note"),
    [
        ("UPDATE calls SET data = '{'", "tests was damaged and has been deleted"),
        ("DROP TABLE calls", "renamed to"),
    ],
)
def test_broken_history_costs_a_note(loop, pytester, statement, note):
    loop()
    spoil(pytester.path / ".loop-close" / "history.sqlite3", statement)
    done = loop(ALONE, shop=WRONG)
    assert counts(done) == (1, 0)
    assert note in done.stdout
    assert "Traceback" not in done.stdout + done.stderr


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may write everywhere")
def test_history_that_may_not_be_written_costs_a_note(loop, pytester):
    loop()
    (pytester.path / ".loop-close" / "history.sqlite3").chmod(0o400)
    done = loop(ALONE, shop=WRONG)
    assert counts(done) == (1, 0)
    assert "this run is not recorded" in done.stdout


def test_history_of_the_first_format_is_used_on(loop, pytester):
    loop()
    path = pytester.path / ".loop-close" / "history.sqlite3"
    for table in ("calls", "baselines", "accepted", "outbox"):
        spoil(path, f"DROP TABLE {table}")
    spoil(path, "PRAGMA user_version = 1")
    done = loop(shop=WRONG)
    assert done.report["progress"]["run"] == 2
    assert [row[1] for row in rows(pytester)] == [7]


FAULT = """
import loop_close.monitor.count

def calls_of(*args):
    raise ValueError("no counts")

loop_close.monitor.count.calls_of = calls_of
"""


def test_fault_of_ours_costs_the_calls_alone(loop, pytester):
    pytester.makeconftest(FAULT)
    assert loop().ret == 0
    done = loop(ALONE, shop=WRONG)
    assert counts(done) == (0, 0)
    assert done.report["calls"]["why_off"].startswith("call tracking failed: ValueError: no counts; ")
    assert done.report["progress"]["run"] == 2


def test_what_gave_none_is_remembered(run, pytester, monkeypatch):
    """One failing test alone then tells a function that gives None in it from one that does so in tests that pass."""
    monkeypatch.delenv("TOX_ENV_NAME", raising=False)
    project = {
        "shop.py": """
            def find(items, name):
                for item in items:
                    if item == name:
                        return item


            def has(items, name):
                return find(items, name) is not None
            """,
        "test_shop.py": """
            import shop


            def test_there():
                assert shop.has(["tea"], "tea")


            def test_not_there():
                assert not shop.has(["tea"], "milk")


            def test_empty():
                assert not shop.has([], "milk")
            """,
    }
    assert run(project, remembers=True, own_process=True).ret == 0
    with open_history(pytester.path / ".loop-close" / "history.sqlite3") as history:
        functions = history.calls("pytest").calls.functions
    assert {each.function: (each.passed, each.returned_none) for each in functions} == {
        "find": (3, 2),
        "has": (3, 0),
    }


def test_nothing_is_tracked_while_no_file_changed_since_the_tests_passed(run, monkeypatch):
    files = {
        "shop.py": "def total():\n    return 1\n",
        "test_a.py": "import os, shop\ndef test_a(): assert shop.total() == int(os.environ.get('WANT', '1'))\n",
    }
    assert run(files, remembers=True).ret == 0
    monkeypatch.setenv("WANT", "2")
    said = "no file changed since these tests passed"
    assert run({}, remembers=True).says(said)
    assert said not in run({}, remembers=True).prompt


def test_an_edit_that_the_failing_test_did_not_run_is_no_evidence(loop):
    """Of two edits in one turn, one is in a branch that the failing tests do not take."""
    loop()
    old = '* item["count"]\n\n\ndef discount(total):\n    if total > 100:\n        return total * 0.9'
    done = loop("-k", "little", shop=(old, old.replace("* item", "+ item").replace("0.9", "0.8")))
    reasons = {each["function"]: each["reasons"] for each in done.causes[0]["suspects"]}
    assert "edited right before this began to fail" in reasons["price"]
    assert "edited right before this began to fail" not in reasons.get("discount", ())
    assert next(iter(reasons)) == "price"
