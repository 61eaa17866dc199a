"""What the prompt says about a failing test."""

import pytest

PHASES = """
import pytest

@pytest.fixture
def broken():
    raise RuntimeError("no database")

@pytest.fixture
def dirty():
    yield 1
    raise OSError("still open")

def test_needs_it(broken): pass
def test_leaves_it(dirty): pass
def test_both(dirty): assert dirty == 2
def test_fine(): pass
"""


def test_failing_setup_call_and_teardown_are_told_apart(run):
    done = run({"test_a.py": PHASES})
    assert done.ret == 1
    assert (
        done.title
        == "# 1 test fails, 3 errors, 2 pass: 3 root causes, first dirty() in test_a.py:11 (42 % probable)"
    )
    assert done.says(
        "`broken()` in `test_a.py:6`",
        "Shown by `test_a.py::test_needs_it` (setup",
        "`dirty()` in `test_a.py:11`",
        "1 more failing: `test_leaves_it`",
        "`AssertionError` at `test_a.py:15`",
    )
    phases = {evidence["phase"] for evidence in done.report["evidence"] if evidence["phase"]}
    assert phases == {"setup", "call", "teardown"}


def test_values_of_an_assertion_are_shown_with_what_made_them(run):
    source = """
    def price(): return 19.95

    def test_price():
        expected = 20
        assert price() == expected, "the price is off"
    """
    done = run({"test_a.py": source})
    assert done.says(
        'assert price() == expected, "the price is off"\nE  the price is off\nE  left: 19.95 != 20\n'
    )
    assert done.says("With `expected = 20`.")


@pytest.mark.slow
def test_way_of_showing_does_not_change_the_cause(run):
    source = "def test_a(): assert list(range(50)) == [*range(49), 7]"
    ids = set()
    for option in ("-v", "-vv", "-q", "--tb=no", "--tb=native", "--full-trace", "-l"):
        done = run({"test_a.py": source}, option)
        assert done.says("E  left[49]: 49 != 7", "# 1 test fails: AssertionError at test_a.py:1")
        ids.add(tuple(cause["id"] for cause in done.causes))
    assert len(ids) == 1


def test_xfail_and_xpass_are_counted_and_green(run):
    source = """
    import pytest
    @pytest.mark.xfail(reason="one")
    def test_a(): assert 0
    @pytest.mark.xfail(reason="two")
    def test_b(): pass
    def test_c(): pass
    """
    done = run({"test_a.py": source})
    assert done.title == "# The tests pass: 1 passed, 1 xfailed, 1 xpassed"
    assert done.report["verdict"] == "green"


@pytest.mark.slow
def test_two_thousand_distinct_failures_keep_the_budget_and_lose_no_message(run):
    tests = "\n".join(f"def test_{n}(): raise ValueError('distinct failure {n:04} xx')" for n in range(2000))
    done = run(
        {"test_a.py": tests}, "-q", "--tb=no", "--no-header", "-p", "no:hypothesispytest", "--no-summary"
    )
    assert len(done.prompt.encode()) / 4 <= 2000
    kept = (done.folder / ".loop-close" / "report.json").read_text(encoding="utf-8")
    assert [n for n in range(2000) if f"distinct failure {n:04} xx" not in kept] == []
    assert done.says("more root causes")


@pytest.mark.parametrize(
    ("files", "place"),
    [
        (
            {
                "lib.py": "def outer():\n    return inner()\n\ndef inner():\n    raise\n",
                "test_a.py": "import lib\ndef test_a(): lib.outer()\n",
            },
            "inner() in lib.py:5",
        ),
        (
            {
                "lib.py": "def setting(name): return {'url': 1}[name]\nsetting('url')\n",
                "conftest.py": "import lib, pytest\n@pytest.fixture\ndef backend(): return {}['url']\n",
                "test_a.py": "def test_a(backend): pass\n",
            },
            "backend() in conftest.py:3",
        ),
        (
            {
                "werk/__init__.py": "",
                "werk/test.py": "from werk.utils import slash\n\ndef open(path): return slash(path) + 1\n",
                "werk/utils.py": "def slash(path): return path + '/'\n",
                "test_a.py": "from werk.test import open\ndef test_a(): open('a')\n",
            },
            "open() in werk/test.py:3",
        ),
    ],
    ids=["bare raise", "fixture", "test.py of the product"],
)
def test_the_function_that_raised_comes_first(run, files, place):
    assert f"{place} (" in run(files).title
