"""After a green run: which edited functions no test ran. After a red one: what differs since the last green one."""

import json
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


def since_green(done):
    found = done.report["since_green"]
    edits = [each for each in found["edits"] if each["file"] == "shop.py"] if found else []
    return found and (found["run"], [(each["function"], each["diff"]) for each in edits])


TOTAL = " def total(items):\n-    return sum(items)\n+    return {}"


@pytest.mark.slow
def test_edit_red_edit_red_green(loop):
    loop()
    done = loop(edits=[("return sum(items)\n", "return sum(items) + 1\n")])
    assert since_green(done) == (1, [("total", TOTAL.format("sum(items) + 1"))])
    assert done.report["attempts"] == []
    done = loop(edits=[("return sum(items) + 1\n", "return sum(items) + 2\n"), MORE])
    rest = " def rest():\n-    return 1\n+    return 2"
    assert since_green(done) == (1, [("total", TOTAL.format("sum(items) + 2")), ("rest", rest)])
    attempts = done.report["attempts"]
    assert [(each["run"], each["failing"]) for each in attempts] == [(2, 1), (3, 1)]
    assert attempts[0]["effect"] == "1 new; 1 fails"
    assert {"rest in shop.py", "total in shop.py"} <= set(attempts[1]["edited"])
    done = loop(edits=[("return sum(items) + 2\n", "return sum(items)\n")])
    assert since_green(done) is None
    if hasattr(sys, "monitoring"):
        assert not_run(done) == (1, ["rest"])
    done = loop(edits=[("return sum(items)\n", "return sum(items) + 3\n")])
    assert since_green(done) == (4, [("total", TOTAL.format("sum(items) + 3"))])


@needs_calls
def test_edited_functions_that_no_test_ran(loop, pytester):
    assert not_run(loop()) == (None, [])
    done = loop(edits=[MORE, ("return sum(items)\n", "return sum(items) + 0\n")])
    assert not_run(done) == (2, ["rest"])
    assert done.says("1 of 2 edited functions was not run by any test: `rest` (`shop.py`).")
    assert not_run(loop()) == (2, ["rest"])  # nothing was edited since
    assert not_run(loop(edits=[("sum(items) + 0", "sum(items)")])) == (1, [])
    assert not_run(loop()) == (0, [])


@needs_calls
def test_without_a_report_it_is_said_too(loop):
    asked = ("--loop-close",)
    loop(asked=asked)
    done = loop(edits=[MORE], asked=asked)
    assert done.says("The edited function was not run by any test: `rest` (`shop.py`).")
    assert "not run by any test" in loop(asked=asked).prompt
    assert "not run by any test" not in loop(edits=[("sum(items)\n", "sum([*items])\n")], asked=asked).prompt


@needs_calls
def test_a_test_that_is_expected_to_fail_ran_it(loop):
    loop()
    assert not_run(loop(edits=[("/ len(items)", "/ len([*items])")])) == (1, [])


@needs_calls
@pytest.mark.parametrize(
    "words", [("-k", "total"), ("test_shop.py",), ("--loop-close-suspects=off",)], ids=["some", "file", "off"]
)
def test_where_it_is_not_known(loop, words):
    loop()
    done = loop(*words, edits=[MORE])
    assert not_run(done) == (None, [])
    assert "not run by any test" not in done.prompt


@needs_calls
def test_edits_before_a_green_run_of_some_tests_are_not_forgotten(loop):
    loop()
    loop("-k", "total", edits=[MORE])
    assert not_run(loop()) == (1, ["rest"])


@needs_calls
def test_with_workers(loop):
    pytest.importorskip("xdist")
    loop()
    done = loop(
        "-n", "2", edits=[MORE, ("return sum(items)\n", "return sum(items) + 0\n")], plugins=("xdist",)
    )
    assert not_run(done) == (2, ["rest"])


LOADED = """
    import atexit, json, sys

    def pytest_unconfigure(config):
        names = sorted(name for name in sys.modules if name.startswith("loop_close"))
        with open("loaded.json", "w") as file:
            json.dump(names, file)
    """


def loaded(pytester):
    return set(json.loads((pytester.path / "loaded.json").read_text()))


@needs_calls
def test_where_nothing_was_edited_nothing_more_is_loaded(loop, pytester):
    asked = ("--loop-close",)
    pytester.makeconftest("")
    (pytester.path / "tell.py").write_text("import json, sys\n")
    pytester.makefile(".py", tell=LOADED)
    loop("-p", "tell", asked=asked)
    first = loaded(pytester)
    assert "loop_close.app" not in first
    loop("-p", "tell", asked=asked)
    assert loaded(pytester) <= first
    loop("-p", "tell", edits=[("sum(items)\n", "sum([*items])\n")], asked=asked)
    assert "loop_close.app" in loaded(pytester)
    loop("-p", "tell", asked=asked)
    assert loaded(pytester) <= first
