"""After a green run: which edited functions no test ran. After a red one: what differs since the last green one."""

import sys

import pytest

needs_calls = pytest.mark.skipif(not hasattr(sys, "monitoring"), reason="calls are seen from Python 3.12 on")

PROJECT = {
    "pytest.ini": "",
    "shop.py": """
        def total(items):
            return sum(items)


        class Cart:
            def mean(self, items):
                return sum(items) / len(items)


        def rest():
            return 1
        """,
    "test_shop.py": """
        import pytest
        import shop


        def test_total():
            assert shop.total([1, 2]) == 3


        @pytest.mark.xfail(strict=True)
        def test_mean():
            assert shop.Cart().mean([]) == 0
        """,
}
MORE = ("return 1", "return 2")


@pytest.fixture
def loop(run, pytester):
    """Edit shop.py (replace texts in it), then run pytest in a process of its own."""

    def turn(*args, edits=(), plugins=(), **kinds):
        path = pytester.path / "shop.py"
        for old, new in edits:
            text = path.read_text()
            assert old in text
            path.write_text(text.replace(old, new))
        files = {} if path.exists() else PROJECT
        return run(files, *args, remembers=True, own_process=True, plugins=plugins, **kinds)

    return turn


def not_run(done):
    return done.report["edited_functions"], [each["function"] for each in done.report["edits_not_run"]]


@needs_calls
def test_edited_functions_that_no_test_ran(loop, pytester):
    assert not_run(loop()) == (None, [])
    done = loop(edits=[MORE, ("return sum(items)\n", "return sum(items) + 0\n")])
    assert not_run(done) == (2, ["rest"])
    assert done.says("1 of 2 edited functions was not run by any test: `rest` (`shop.py`).")
    assert not_run(loop()) == (0, [])  # nothing was edited since
    assert not_run(loop(edits=[("sum(items) + 0", "sum(items)")])) == (1, [])
    assert not_run(loop()) == (0, [])


@needs_calls
@pytest.mark.parametrize(
    "words", [("-k", "total"), ("test_shop.py",), ("--loop-close-suspects=off",)], ids=["some", "file", "off"]
)
def test_where_it_is_not_known(loop, words):
    loop()
    done = loop(*words, edits=[MORE])
    assert not_run(done) == (None, [])
    assert "not run by any test" not in done.prompt
