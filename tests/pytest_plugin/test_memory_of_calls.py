"""One failing test run alone is compared with the passing ones of the last fuller run."""

import re
import sys

import pytest

from loop_close.store import Store

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


def kept(done):
    """How many passing tests the kept counts are of; None for none."""
    with Store.open(done.folder / ".loop-close" / "history.sqlite3", readonly=True) as store:
        found = store.calls(done.report["source"])
    return found and found.calls.passed


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
    assert ": discount() in shop.py:" in done.title
    assert "run by 1 of 1 failing test; edited before run 2" in done.prompt


def test_run_of_few_tests_does_not_take_the_place_of_one_of_all(loop):
    loop()
    loop("-k", "price")
    assert kept(loop(ALONE, shop=WRONG)) == 8
