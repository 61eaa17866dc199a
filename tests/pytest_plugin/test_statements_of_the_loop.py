"""What the prompt states of the loop as a whole is true of the runs that it is about."""

import subprocess
import sys
from contextlib import ExitStack

import pytest
from plugin_harness import Run, write
from test_memory import loop, progress, signals  # noqa: F401

PROJECT = {
    "pytest.ini": "",
    "shop.py": """
        def total(x):
            return x - 1
        """,
    "test_shop.py": """
        import shop


        def test_total():
            assert shop.total(1) == 2


        def test_other():
            assert shop.total(2) == 3
        """,
}
ONE = {**PROJECT, "test_shop.py": PROJECT["test_shop.py"].split("\n\n        def test_other")[0]}


def test_a_failure_with_other_values_is_not_called_the_same(run, loop):  # noqa: F811
    run(ONE, remembers=True)
    loop(shop=("x - 1", "x * 3"))
    done = loop(shop=("x * 3", "x * 4"))
    assert signals(done) == ["repeated-failure"]
    assert done.says("Got `0`, `3`, `4`", "still failing in runs 1, 2 and 3, with other values")
    assert "same failure" not in done.prompt


@pytest.mark.parametrize("edit", [("== 2", "== 2 or True"), ("== 2", "== 0")])
def test_a_test_that_passes_as_it_was_changed_is_not_fixed(run, loop, edit):  # noqa: F811
    run(PROJECT, remembers=True)
    done = loop(test_shop=edit)
    assert (done.report["verdict"], progress(done)) == ("no-progress", {"not_fixed": 1, "unresolved": 1})
    assert "run 2 of this loop: no progress" in done.summary[0]
    assert done.says("Run 2 of this loop: 1 unresolved, 1 stopped failing without a fix. No progress.")
    assert done.says("## Tests that were changed")
    done = loop(test_shop=edit[::-1])
    assert progress(done) == {"unresolved": 2}  # it had not passed, and is not broken
    assert "failing again" not in done.prompt


def test_a_test_whose_own_fault_is_repaired_is_fixed(run, loop):  # noqa: F811
    broken = PROJECT["test_shop.py"].replace("shop.total(1)", "shop.totl(1)")
    run(
        {
            **PROJECT,
            "shop.py": PROJECT["shop.py"].replace("x - 1", "x + 1 if x < 2 else 0"),
            "test_shop.py": broken,
        },
        remembers=True,
    )
    done = loop(test_shop=("totl", "total"))
    assert (done.report["verdict"], progress(done)) == ("progress", {"fixed": 1, "unresolved": 1})


def test_a_test_that_was_changed_beside_the_code_is_fixed(run, loop):  # noqa: F811
    run(PROJECT, remembers=True)
    done = loop(test_shop=("== 2", "== 2 or True"), shop=("x - 1", "x + 1 if x < 2 else 0"))
    assert progress(done) == {"fixed": 1, "unresolved": 1}
    assert done.says("## Tests that were changed")


def test_a_test_that_is_restored_with_the_fix_is_fixed(run, loop):  # noqa: F811
    run(PROJECT, remembers=True)
    weaker = ("== 2", "== 2 or True")
    loop(test_shop=weaker)
    done = loop(shop=("x - 1", "x + 1 if x == 2 else 5"))
    assert done.title == "# Tests were changed, and pass: 2 passed"
    assert done.says("1 test that had failed passes after 3 runs: `test_shop.py::test_other`.")
    done = loop(test_shop=weaker[::-1], shop=("else 5", "else 2"))
    assert (done.report["verdict"], progress(done)) == ("green", {"fixed": 1})
    assert done.says("2 tests that had failed pass after 4 runs")


SHARED = {
    "pytest.ini": "",
    "shop.py": """
        def remember(item, seen=[]):
            seen.append(item)
            return seen
        """,
    "test_shop.py": """
        import shop


        def test_one():
            assert shop.remember(1) == [1]


        def test_two():
            assert shop.remember(2) == [2]


        def test_three():
            pass
        """,
}


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (
            ("test_shop.py::test_two",),
            "passes alone, failed in a run with other tests: it may depend on what they leave behind",
        ),
        (
            ("-k", "two or three"),
            "passes with fewer tests, failed in a run with more tests: it may depend on what they leave behind",
        ),
    ],
)
def test_a_test_that_passes_among_fewer_tests_may_depend_on_others(run, loop, words, said):  # noqa: F811
    run(SHARED, remembers=True)
    done = loop(*words)
    assert done.says(
        "## Tests that pass without an edit of source", f"- `test_shop.py::test_two` (not edited): {said}"
    )
    assert "Tests that were changed" not in done.prompt
    done = loop()
    assert (signals(done), progress(done)) == ([], {"unresolved": 1})  # it is no chance, and fails again
    assert signals(loop(*words)) == []


def test_a_test_that_passes_in_the_same_run_may_fail_now_and_then(run, loop, pytester):  # noqa: F811
    outside = pytester.path.parent / f"{pytester.path.name}.outside"
    text = f"import os\n\n\ndef test_file():\n    assert os.path.exists({str(outside)!r})\n"
    run({"test_shop.py": text}, remembers=True)
    outside.touch()
    done = loop()
    assert done.says("## Tests that pass without an edit of source", "nothing was edited since 1 test failed")


LOGGED = {
    **ONE,
    "pytest.ini": "[pytest]\naddopts = --loop-close --loop-close-json=report.json -q",
}


@pytest.fixture
def logged(pytester, monkeypatch):
    """Run pytest with its output in files, as a shell does; return its report and prompt."""
    write(pytester.path, LOGGED)
    monkeypatch.setenv("PYTEST_ADDOPTS", "-p no:cacheprovider")

    def turn(out, err=None, mode="w"):
        with ExitStack() as opened:
            files = {"stdout": opened.enter_context(open(pytester.path / out, mode))}
            if err is not None:
                files["stderr"] = opened.enter_context(open(pytester.path / err, mode))
            subprocess.run([sys.executable, "-m", "pytest"], cwd=pytester.path, check=False, **files)
        return Run(1, "", "", pytester.path)

    return turn


@pytest.mark.parametrize("mode", ["w", "a"])
def test_files_that_pytest_prints_to_are_no_edits(logged, mode):
    logged("log.txt")
    logged("log.txt", "err.txt", mode=mode)
    done = logged("log.txt", "err.txt", mode=mode)
    assert done.report["progress"]["edit"] == "none"
    done = logged("other.log")
    assert done.report["progress"]["edit"] == "none"
    assert "log.txt" not in done.prompt
    assert "despite edits between them" not in done.prompt


def test_edited_code_is_named_before_other_files(run, loop, pytester):  # noqa: F811
    run(ONE, remembers=True)
    for name in ("a.txt", "b.txt"):
        (pytester.path / name).write_text("goods\n")
    done = loop(shop=("x - 1", "x - 2"))
    assert done.says("| 2 | `total`, `a.txt` and 1 more | ")


def test_a_test_that_did_not_run_after_its_fix_passes_by_that_fix(loop):  # noqa: F811
    """The run after the edit was of the other tests."""
    loop()
    done = loop("test_shop.py::test_mean", shop=("+ 1", "+ 0"))
    assert progress(done) == {"unresolved": 1, "not_run": 1}
    done = loop()
    assert progress(done)["fixed"] == 1
    assert "without an edit" not in done.prompt


TOKENS = {
    "pytest.ini": "",
    "shop.py": "def f(x): return x - 1\n",
    "test_shop.py": """
        import pytest
        import shop


        @pytest.mark.parametrize("token", ["ghp_16C7e42F292c6912E7710c838347Ae178B4a", "plain"])
        def test_token(token):
            assert shop.f(1) == 1


        def test_other():
            assert shop.f(1) == 1
        """,
}


def test_a_case_that_is_named_by_a_credential_is_fixed_and_run_again(run, loop, pytester):  # noqa: F811
    run(TOKENS, remembers=True)
    done = loop("-k", "plain or other", shop=("x - 1", "x"))
    assert progress(done) == {"fixed": 2, "not_run": 1}
    assert done.rerun.endswith(" test_shop.py::test_token")
    assert (pytester.path / ".loop-close/failed.txt").read_text() == "test_shop.py::test_token\n"
    done = loop("--loop-close-failed", is_prompt=False)
    assert done.summary == ["loop-close: the tests pass: 2 passed"]


def test_of_cases_that_credentials_name_each_has_to_pass(run, loop):  # noqa: F811
    two = TOKENS["test_shop.py"].replace('"plain"', '"ghp_0006e42F292c6912E7710c838347Ae178B4a"')
    run({**TOKENS, "test_shop.py": two.replace("shop.f(1)", "shop.f(len(token) // 40)", 1)}, remembers=True)
    skipped = 'if token[4] == "0": pytest.skip()\n'
    done = loop(
        shop=("x - 1", "x"), test_shop=("def test_token(token):\n", f"def test_token(token):\n    {skipped}")
    )
    assert (done.report["verdict"], progress(done)) == ("green", {"fixed": 1, "not_fixed": 1})


@pytest.mark.parametrize("addopts", ['-m "not slow"', "-k total", "test_shop.py"])
def test_what_the_project_chooses_is_all_that_is_meant(run, loop, addopts):  # noqa: F811
    ini = f"[pytest]\naddopts = {addopts}\nmarkers = slow\n"
    run({**PROJECT, "pytest.ini": ini, "test_more.py": "def test_more(): pass\n"}, remembers=True)
    done = loop(shop=("x - 1", "x + 1"))
    assert done.report["verdict"] == "green"
    assert "did not run" not in done.prompt
    # The command line chooses some of them.
    done = loop("-k", "total")
    assert done.says("The other tests did not run. All of them: `pytest --loop-close`")


def test_a_failure_that_moved_with_its_test_did_not_begin_anew(run, loop, pytester):  # noqa: F811
    run(PROJECT, remembers=True)
    test = "def test_total():\n    assert shop.total(1) == 2\n"
    (pytester.path / "test_moved.py").write_text(f"import shop\n\n\n{test}")
    done = loop(shop=("x - 1", "x - 2"), test_shop=(test, ""))
    assert progress(done) == {"unresolved": 2}
    assert done.says("Failing for 2 runs, since run 1.")
    assert "began to fail" not in done.prompt
    done = loop(shop=("x - 2", "x - 3"))
    assert progress(done) == {"unresolved": 2}
    assert "began to fail" not in done.prompt


def test_a_test_that_addopts_leaves_out_is_not_known_to_have_passed(run):
    tests = "import pytest\n@pytest.mark.slow\ndef test_slow(): assert 0\ndef test_fast(): pass\n"
    ini = '[pytest]\naddopts = -m "not slow"\nmarkers = slow\n'
    assert run({"test_a.py": tests, "pytest.ini": ini}, remembers=True).ret == 0
    done = run({}, "-m", "slow", remembers=True)
    assert progress(done) == {"new": 1}
    assert "had passed" not in done.prompt
    assert "flaky" not in done.prompt
    # By its id alone the test would be deselected.
    assert done.rerun.endswith("pytest --loop-close-failed")
    done = run({}, remembers=True)
    assert done.says("Run the tests that failed before and did not run now: ", "--loop-close-failed`")
    done = run({}, asked=("--loop-close-failed", "--loop-close-json=report.json"), remembers=True)
    assert done.title.startswith("# 1 test fails")
