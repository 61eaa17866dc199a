"""One prompt over several sources, as runs in environments of tox, nox and others write it."""

import json
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest

FILES = {
    "shop.py": """
        import os

        def price(text):
            if os.environ.get("OLD"):
                return text[-1]
            return text[0]

        def total(prices):
            return sum(prices) + 1
        """,
    "test_shop.py": """
        import os, pytest, shop

        def test_price(): assert shop.price("ab") == "a"
        def test_total(): assert shop.total([1]) == 1
        def test_fine(): pass
        @pytest.mark.skipif(not os.environ.get("OLD"), reason="new")
        def test_of_old(): assert shop.price("ab") == "a"
        """,
}


@pytest.fixture
def in_environment(run, monkeypatch, pytester):
    """Run the tests in an environment of tox."""

    def start(name, *args, files=None, old="", **fields):
        monkeypatch.setenv("TOX_ENV_NAME", name)
        monkeypatch.setenv("OLD", old)
        sys.modules.pop("shop", None)
        return run(
            files or ({} if (pytester.path / "shop.py").exists() else FILES), *args, remembers=True, **fields
        )

    return start


def test_what_failed_and_did_not_run_on_these_files_has_its_command(in_environment, monkeypatch, pytester):
    in_environment("py311", old="1")
    shop = FILES["shop.py"].replace(" + 1", "").replace("text[-1]", "text[0]")
    done = in_environment("py312", files={"shop.py": shop})
    assert done.title.startswith("# The tests pass: ")
    words = "Rerun what is not green and did not run on these files:"
    command = "tox -e py311 -- --loop-close-failed"
    assert done.says(f"{words} `{command}`", "Not green, and not run on these files: `pytest:py311`")
    in_environment("py311", "--loop-close-failed", old="1")
    assert words not in (pytester.path / "nextprompt.md").read_text()


def test_a_cause_is_shown_once_with_where_it_fails_and_passes(in_environment):
    in_environment("py311", old="1")
    done = in_environment("py312")
    assert done.title.startswith("# 3 tests fail, 1 passes: ")
    assert done.says("- `pytest:py311`: 3 tests fail, 1 passes", "- `pytest:py312`: 1 test fails, 2 pass")
    assert done.says(
        "Fails on `pytest:py311`, `pytest:py312`.", "Fails on `pytest:py311`; passes on `pytest:py312`."
    )
    assert done.prompt.count("`total()` at `shop.py") == 1
    assert done.rerun == "tox -e py311,py312 -- --loop-close-failed"
    sources = {each["source"]: each for each in done.report["sources"]}
    assert [*sources] == ["pytest:py311", "pytest:py312"]
    assert sources["pytest:py311"]["run"]["environment"] == "py311"
    assert sources["pytest:py312"]["rerun"] == "tox -e py312 -- --loop-close test_shop.py::test_total"


@pytest.mark.slow
def test_each_environment_runs_its_own_failing_tests(in_environment):
    in_environment("py311", old="1")
    done = in_environment("py312")
    both = ["test_shop.py::test_of_old", "test_shop.py::test_price", "test_shop.py::test_total"]
    assert (done.folder / ".loop-close/failed.txt").read_text().splitlines() == both
    again = in_environment("py312", asked=("--loop-close-failed", "--loop-close-json=report.json"))
    assert again.stdout.count("1 failed") == 1
    assert " passed" not in again.stdout.splitlines()[-4]
    again = in_environment("py311", old="1", asked=("--loop-close-failed", "--loop-close-json=report.json"))
    assert "3 failed" in again.stdout


@pytest.mark.parametrize("words", [("-k", "fine"), ("--loop-close-failed", "--loop-close-json=report.json")])
def test_a_run_of_some_tests_keeps_what_is_known_of_the_others(in_environment, words):
    in_environment("py311", old="1")
    before = in_environment("py312")
    again = (
        in_environment("py311", old="1", asked=words if words[0] != "-k" else None)
        if words[0] != "-k"
        else (in_environment("py311", *words, old="1"))
    )
    assert again.title == before.title
    assert again.says("- `pytest:py311`: 3 tests fail, 1 passes", "- `pytest:py312`: 1 test fails, 2 pass")
    assert again.says("Fails on `pytest:py311`; passes on `pytest:py312`.")
    assert again.rerun == before.rerun


def test_after_an_edit_a_run_of_some_tests_knows_nothing_of_the_others(in_environment, pytester):
    in_environment("py312")
    in_environment("py311", old="1")
    path = pytester.path / "shop.py"
    path.write_text(path.read_text().replace(" + 1", ""))
    in_environment("py312")
    done = in_environment("py311", "-k", "fine", old="1")
    assert "3 tests fail" not in done.prompt


def test_a_run_that_stops_is_not_completed(in_environment):
    """Which of the chosen tests ran is not known."""
    in_environment("py311", old="1")
    in_environment("py312")
    done = in_environment("py311", "-x", old="1")
    assert done.says("stopping after 1 failures")
    assert "3 tests fail" not in done.prompt


def test_what_passed_before_the_last_edit_is_still_known_to_have_passed(in_environment, pytester):
    in_environment("py311", old="1")
    in_environment("py312")
    path = pytester.path / "shop.py"
    path.write_text(path.read_text().replace(" + 1", ""))
    failed = ("--loop-close-failed", "--loop-close-json=report.json")
    in_environment("py312", asked=failed)
    done = in_environment("py311", old="1", asked=failed)
    assert done.says("Fails on `pytest:py311`; passed on `pytest:py312` before the last edit.")
    again = in_environment("py311", old="1", asked=failed)
    assert again.says("Fails on `pytest:py311`; passed on `pytest:py312` before the last edit.")
    whole = in_environment("py312")
    assert whole.says("Fails on `pytest:py311`; passes on `pytest:py312`.")


def test_another_interpreter_in_the_same_environment_runs_its_own_failing_tests(in_environment, monkeypatch):
    in_environment("py", "-k", "total")
    monkeypatch.setattr("loop_close.pytest_plugin.session.interpreter", lambda: "pypy-3.11")
    monkeypatch.setattr("loop_close.pytest_plugin.command.interpreter", lambda: "pypy-3.11")
    done = in_environment("py", "-k", "price", old="1")
    assert done.says("- `pytest:py`: 1 test fails", "- `pytest:py:pypy-3.11-")
    assert done.rerun == "tox -e py -- --loop-close-failed"
    again = in_environment("py", old="1", asked=("--loop-close-failed", "--loop-close-json=report.json"))
    assert "FAILED test_shop.py::test_price" in again.stdout
    assert "1 failed, 3 deselected" in again.stdout


def test_after_an_edit_the_others_have_not_run(in_environment, pytester):
    in_environment("py311")
    path = pytester.path / "shop.py"
    path.write_text(path.read_text().replace(" + 1", ""))
    done = in_environment("py312")
    assert done.title == "# The tests pass: 3 passed, 1 skipped"
    assert done.says("Not green, and not run on these files: `pytest:py311` (first-failure in its run 1).")
    assert done.report["decision"] == {"action": "continue", "reason": "elsewhere"}
    done = in_environment("py311")
    assert done.title == "# The tests pass: 3 passed, 1 skipped"
    assert done.says("- Green: `pytest:py311`, `pytest:py312`")
    assert done.report["decision"]["action"] == "stop"


def test_a_green_environment_says_so_and_what_is_not(in_environment):
    in_environment("py311", "-k", "total")
    done = in_environment("py312", "-k", "fine")
    assert done.ret == 0
    assert done.summary[0] == "loop-close: the tests pass: 1 passed"
    assert done.summary[1].startswith(
        "loop-close: not green either, on the same files: pytest:py311 (1 test fails"
    )
    assert done.report["verdict"] == "first-failure"


def test_an_environment_with_failures_that_did_not_run_again_is_not_green(in_environment):
    """Such as one that runs pytest twice."""
    in_environment("py311", "-k", "total")
    in_environment("py311", "-k", "fine")
    done = in_environment("py312", "-k", "fine")
    assert done.says("- `pytest:py311`: Not green, 1 passes; incomplete", "- Green: `pytest:py312`")
    assert done.says("This run is incomplete (`pytest:py311: 1 earlier failure not run again`)")
    assert done.rerun == "tox -e py311 -- --loop-close-failed"


@pytest.mark.slow
def test_of_many_sources_no_red_one_is_left_out(run, monkeypatch):
    monkeypatch.setattr("loop_close.store.runs._MOST_TOLD", 3)
    for number in range(5):
        chosen = "total" if number == 0 else "fine"
        done = run(FILES, "-k", chosen, "--loop-close-source", f"s{number}", remembers=True)
    assert done.report["verdict"] == "first-failure"
    assert done.says("- `s0`: 1 test fails", "- Green: `s2`, `s3`, `s4`")


@pytest.mark.slow
def test_a_test_that_did_not_run_passes_nowhere(in_environment, pytester):
    """As it is behind the first that fails."""
    text = "import shop\n\ndef test_a(): assert shop.price('ab') == 'x'\ndef test_b(): assert shop.total([1]) == 1\n"
    in_environment("py311", files={**FILES, "test_shop.py": text})
    done = in_environment("py312", "-x")
    assert done.says("- `pytest:py312`: 1 test fails; incomplete", "Fails on `pytest:py311`.")
    assert "passes on" not in done.prompt
    (pytester.path / "test_other.py").write_text("import nothing")
    in_environment("py311")
    done = in_environment("py312")
    assert done.title == "# 1 file cannot be collected: ModuleNotFoundError at test_other.py:1"


def test_folders_that_the_command_of_an_environment_names_are_all_that_is_meant(in_environment, pytester):
    text = "import shop\n\ndef test_a(): assert shop.total([1]) == 1\n"
    files = {
        **FILES,
        "unit/test_shop.py": text,
        "test_shop.py": "",
        "pytest.ini": "[pytest]\npythonpath = .\n",
    }
    in_environment("unit", "unit", files=files)
    done = in_environment("unit", "unit", files={"shop.py": FILES["shop.py"].replace(" + 1", "")})
    assert done.title == "# The tests pass: 1 passed"
    assert "did not run" not in done.prompt
    done = in_environment("unit", "unit/test_shop.py")
    assert done.says("The other tests did not run. All of them: `tox -e unit -- --loop-close`")


def test_what_a_checker_says_of_the_place_stands_with_the_failure(run, pytester):
    run(FILES, remembers=True)
    finding = (
        "shop.py:10: error: Unsupported operand types  [operator]\nFound 1 error in 1 file (checked 1 file)"
    )
    words = [sys.executable, "-c", f"print({finding!r}); raise SystemExit(1)"]
    told = pytester.run(sys.executable, "-m", "loop_close", "run", "--source", "mypy", "--", *words)
    assert told.ret == 1
    prompt = (pytester.path / "nextprompt.md").read_text()
    assert "- `mypy`: 1 mypy error" in prompt
    assert "`mypy` at `shop.py:10`: `Unsupported operand types` (`operator`)" in prompt
    assert "Fails on `mypy`, `pytest`." in prompt
    assert "root causes" not in prompt.split("\n", 1)[0]


@pytest.mark.slow
def test_environments_that_end_at_once_lose_nothing(pytester, monkeypatch, run):
    run(FILES, remembers=True, is_prompt=False)
    pytester.path.joinpath(".loop-close/history.sqlite3").unlink()
    names = [f"py{number}" for number in range(4)]

    def one(name):
        import os
        import subprocess

        env = {**os.environ, "TOX_ENV_NAME": name}
        words = [sys.executable, "-m", "pytest", "--loop-close", "-q"]
        return subprocess.run(words, cwd=pytester.path, env=env, capture_output=True, check=False)

    monkeypatch.delenv("PYTEST_ADDOPTS")
    with ThreadPoolExecutor(4) as pool:
        assert {done.returncode for done in pool.map(one, names)} == {1}
    prompt = (pytester.path / "nextprompt.md").read_text()
    assert all(f"- `pytest:{name}`: 1 test fails, 2 pass" in prompt for name in names)


@pytest.mark.slow
def test_status_and_the_hook_show_the_prompt_for_every_source_that_it_tells_of(in_environment, pytester):
    in_environment("py311")
    done = in_environment("py312", "-k", "fine")
    assert done.says("- `pytest:py311`: 1 test fails")
    told = pytester.run(sys.executable, "-m", "loop_close", "status")
    assert told.ret == 1
    lines = told.stdout.lines
    assert lines[0].startswith("pytest:py311: first-failure in run 1")
    assert "  prompt: nextprompt.md" in lines[: lines.index("pytest:py312: green in run 1")]
    words = [sys.executable, "-m", "loop_close", "hook", "--host", "claude"]
    payload = '{"session_id": "a", "hook_event_name": "Stop", "stop_hook_active": false}'
    answered = subprocess.run(
        words, cwd=pytester.path, input=payload, capture_output=True, text=True, check=True
    )
    assert json.loads(answered.stdout)["decision"] == "block"
    assert "total()" in answered.stdout, "the prompt that tells of py311"


def test_all_tests_are_named_of_each_environment_that_ran_some(in_environment, pytester):
    """Both are green by the tests that had failed; what else the edit broke is known of neither."""
    in_environment("py311")
    in_environment("py312")
    path = pytester.path / "shop.py"
    path.write_text(path.read_text().replace(" + 1", ""))
    failed = ("--loop-close-failed", "--loop-close-json=report.json")
    in_environment("py311", asked=failed)
    done = in_environment("py312", asked=failed)
    assert done.says("The other tests did not run. All of them: `tox -e py311,py312 -- --loop-close`")
    done = in_environment("py312")
    assert done.title == "# The tests pass: 3 passed, 1 skipped"
    assert done.says(
        "The other tests of `pytest:py311` did not run. All of them: `tox -e py311 -- --loop-close`"
    )
    assert called("status", "--json", cwd=done.folder)["edited"] == ["shop.py"]
    done = in_environment("py311")
    assert "did not run" not in done.prompt
    assert called("status", "--json", cwd=done.folder)["edited"] == []


def called(*words, cwd):
    """The command's JSON."""
    done = subprocess.run(
        [sys.executable, "-m", "loop_close", *words], cwd=cwd, capture_output=True, text=True, check=False
    )
    return json.loads(done.stdout)


def edited(pytester, old, new):
    path = pytester.path / "shop.py"
    path.write_text(path.read_text().replace(old, new))


def test_what_was_green_before_the_last_edit_has_to_pass_again(in_environment, pytester):
    (pytester.path / "tox.ini").touch()
    in_environment("py310", "-k", "fine")
    in_environment("py312")
    done = in_environment("py311", "-k", "fine", old="1")
    assert done.says("Fails on `pytest:py312`.")
    edited(pytester, " + 1", "")
    done = in_environment("py312")
    words = "Green before the last edit, and not run since: `pytest:py310`, `pytest:py311`."
    command = "tox -e py310,py311 -- --loop-close"
    assert done.says(words, f"Run what was green before the last edit: `{command}`")
    assert done.summary[-1] == "loop-close: not run since the last edit: pytest:py310, pytest:py311"
    assert done.report["decision"] == {"action": "continue", "reason": "elsewhere"}
    again = in_environment("py312")
    assert again.says(words)
    # A comment is no edit that could break them.
    edited(pytester, "import os", "import os  # as of now")
    in_environment("py310")
    done = in_environment("py311")
    assert "Green before the last edit" not in done.prompt
    assert done.report["decision"]["action"] == "stop"


def test_a_failing_test_that_is_renamed_leaves_no_environment_incomplete(in_environment, pytester):
    failed = ("--loop-close-failed", "--loop-close-json=report.json")
    for name in ("py311", "py312"):
        in_environment(name)
    edited(pytester, " + 1", "")
    tests = pytester.path / "test_shop.py"
    tests.write_text(tests.read_text().replace("def test_total", "def test_sum"))
    for name in ("py311", "py312") * 2:
        done = in_environment(name, asked=failed)
    assert done.title.startswith("# The tests pass: ")
    assert done.says("- Green: `pytest:py311`, `pytest:py312`")
    assert done.says("The other tests did not run. All of them: `tox -e py311,py312 -- --loop-close`")
