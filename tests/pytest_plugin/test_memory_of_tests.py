"""What runs say of tests that are not what they were when the loop began."""

import subprocess
import sys

import pytest
from test_memory import PROJECT, loop, signals  # noqa: F401

FIX = ("+ 1", "+ 0")
SKIP = ("def test_total", "@pytest.mark.skip\ndef test_total")
GUT = ("assert shop.total([1, 2, 3]) == 6", "assert True")
HALF = {**PROJECT, "shop.py": PROJECT["shop.py"].replace("None", "0")}
RIGHT = {**PROJECT, "shop.py": HALF["shop.py"].replace("+ 1", "+ 0")}


def changes(done):
    return [(each["test"], each["kind"], each["state"]) for each in done.report["test_changes"]]


@pytest.mark.slow
@pytest.mark.parametrize(("edit", "kind"), [(SKIP, "not-run"), (GUT, "weakened")])
def test_no_number_of_green_runs_makes_it_good(run, loop, edit, kind):  # noqa: F811
    run(HALF, remembers=True)
    for done in (loop(test_shop=edit), loop(), loop()):
        assert done.ret == 0
        assert changes(done) == [("test_total", kind, "open")]
        assert signals(done) == ["test-tampering"]
        assert done.report["decision"] == {"action": "continue", "reason": "test-tampering"}
        assert done.title.startswith("# Tests were changed, and pass: ")
        assert done.says("## Tests that were changed", "`loop-close accept`", "```diff")
    done = loop(test_shop=edit[::-1], shop=FIX)
    assert done.report["decision"] == {"action": "stop", "reason": "done"}
    assert changes(done) == []
    assert loop().title == "# The tests pass: 2 passed"


def test_red_run_tells_of_it_as_well(loop):  # noqa: F811
    loop()
    done = loop(test_shop=GUT)
    assert done.ret == 1
    assert changes(done) == [("test_total", "weakened", "open")]


def test_honest_changes_with_the_fix_are_done(run, loop):  # noqa: F811
    run(HALF, remembers=True)
    done = loop(test_shop=("def test_total", "def test_sum_of_all"), shop=FIX)
    assert done.report["decision"] == {"action": "stop", "reason": "done"}
    assert [each for each in changes(done) if each[2] == "open"] == []


def test_tests_that_are_new_in_the_loop_may_be_edited(loop):  # noqa: F811
    loop()
    loop(test_shop=("def test_mean", "def test_none():\n    assert shop.total([]) == 3\n\n\ndef test_mean"))
    done = loop(test_shop=("== 3", "== 1"))
    assert signals(done) == []


def test_change_that_cannot_be_decided_is_told_twice_and_then_part_of_the_tests(run, loop):  # noqa: F811
    run(HALF, remembers=True)
    done = loop(test_shop=("total([1, 2, 3])", "total([2, 4])"), shop=FIX)
    assert changes(done) == [("test_total", "unclear", "open")]
    assert done.report["decision"]["reason"] == "test-tampering"
    done = loop()
    assert changes(done) == [("test_total", "unclear", "asked")]
    assert done.report["decision"]["reason"] == "done"
    assert changes(loop()) == []


def test_changes_between_loops_are_asked_about_once(run, loop):  # noqa: F811
    """After a green run nobody knows of a failure that they were made for."""
    run(RIGHT, remembers=True)
    done = loop(test_shop=("== 6", "== 7"), shop=("sum(items) + 0", "sum(items) + 1"))
    assert changes(done) == [("test_total", "weakened", "asked")]
    assert done.says("It cannot be decided whether these tests still demand what they did.")
    assert done.report["decision"] == {"action": "stop", "reason": "done"}
    assert changes(loop()) == [("test_total", "weakened", "asked")]
    assert changes(loop()) == []


def test_change_between_loops_goes_on_as_one_within(run, loop):  # noqa: F811
    run(RIGHT, remembers=True)
    done = loop(test_shop=("== 6", "== 7"))
    assert (done.ret, changes(done)) == (1, [("test_total", "weakened", "asked")])
    done = loop(test_shop=("assert shop.total([1, 2, 3]) == 7", "shop.total([1, 2, 3])"))
    assert changes(done) == [("test_total", "weakened", "open")]
    done = loop()
    assert done.report["decision"]["reason"] == "test-tampering"


def test_code_that_is_made_for_the_tests_is_a_hint(run, loop):  # noqa: F811
    run(HALF, remembers=True)
    cheat = "import sys\n\n\ndef total(items):\n    if 'pytest' in sys.modules:\n        return 6\n    return"
    done = loop(shop=("def total(items):\n    return", cheat))
    assert changes(done)[0] == ("", "hint", "hint")
    assert done.says("Of the code under test, to be looked at by a person:", "- `shop.py` (look): ")
    assert done.report["decision"] == {"action": "stop", "reason": "done"}


def test_signal_that_is_off_compares_nothing(loop, pytester):  # noqa: F811
    loop()
    pytester.makepyprojecttoml('[tool.loop-close]\nsignals_off = ["test-tampering"]\n')
    done = loop(test_shop=SKIP)
    assert (changes(done), signals(done)) == ([], [])


CODE = """
import sys
import pytest

code = pytest.main(["-q", "--loop-close", "-p", "no:cacheprovider"])
ours = ("loop_close.testcode", "loop_close.baseline")
print("loaded:", sorted(name for name in sys.modules if name.startswith(ours)))
"""


@pytest.mark.slow
def test_green_run_with_the_same_tests_loads_nothing_for_it(pytester):
    pytester.makepyfile(shop="X = 1\n", test_shop="import shop\n\n\ndef test_x():\n    assert shop.X\n")
    for number in range(3):
        pytester.makepyfile(shop=f"X = 1\nY = {number}\n")
        done = subprocess.run(
            [sys.executable, "-c", CODE], cwd=pytester.path, capture_output=True, text=True, check=True
        )
        loaded = done.stdout.rpartition("loaded: ")[2].strip()
        assert loaded == ("[]" if number else "['loop_close.baseline']")


def test_what_was_edited_when_tests_passed_stays_true_after_later_edits(run, loop):  # noqa: F811
    fixture = "import pytest\n\n\n@pytest.fixture\ndef items():\n    return [1, 2]\n"
    tests = (
        "import shop\n\n\ndef test_items(items): assert len(items) == 3\n\n\n"
        "def test_total(): assert shop.total([1]) == 1\n"
    )
    run({"shop.py": HALF["shop.py"], "conftest.py": fixture, "test_shop.py": tests}, remembers=True)
    done = loop(conftest=("[1, 2]", "[1, 2, 3]"))
    [change] = [each for each in done.report["test_changes"] if each["kind"] == "not-fixed"]
    assert change["what"] == "only tests were edited since 2 tests failed: conftest.py"
    done = loop(shop=FIX)
    [change] = [each for each in done.report["test_changes"] if each["kind"] == "not-fixed"]
    assert (
        change["what"] == "only tests were edited between run 1, when 2 tests failed, and run 2: conftest.py"
    )
