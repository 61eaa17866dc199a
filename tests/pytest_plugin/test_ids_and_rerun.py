"""Node ids with any characters, and the command that runs the failing tests again."""

import shutil
import subprocess
import sys

import pytest
from plugin_harness import prose

IDS = [
    "it's",
    'a "quoted" b',
    "$(touch pwned)",
    "`touch pwned`",
    "; touch pwned",
    "|| touch pwned &",
    "grün",
    "日本",
    "new\nline",
    "tab\there",
    "a::b[c]",
    "[x]",
    "back\\slash",
    "a b  c",
    "*?{a,b}~!#",
    "--loop-close-file=pwned",
    "\x1b[31mred",
    "\u202eright to left",
    "# Heading",
    "](http://evil)",
    "<!-- hidden -->",
]


def one_case(identifier):
    return f"import pytest\n@pytest.mark.parametrize('x', [{identifier!a}])\ndef test_x(x): assert x == 1\n"


def shell(command, folder):
    """Run a command of the prompt as it stands."""
    words = command.replace("pytest --loop-close", f"{sys.executable} -m pytest --loop-close", 1)
    return subprocess.run(["/bin/sh", "-c", words], cwd=folder, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("identifier", IDS)
def test_test_with_such_an_id_is_shown_as_code_and_nothing_else(run, identifier):
    done = run({"test_a.py": one_case(identifier)})
    assert done.says("# 1 test fails: AssertionError at test_a.py:3\n")
    outside = prose(done.prompt)
    assert not any(word in outside for word in ("pwned", "Heading\n", "evil", "hidden", "right to left"))


def test_command_of_the_prompt_runs_the_failing_tests_and_nothing_else(run):
    cases = ", ".join(ascii(identifier) for identifier in IDS if identifier.isprintable())
    source = f"import pytest\n@pytest.mark.parametrize('x', [{cases}])\ndef test_x(x): assert x == 1\n"
    done = run({"test_a.py": source + "def test_fine(): pass\n"})
    again = shell(done.rerun, done.folder)
    assert again.returncode == 1, again.stdout + again.stderr
    number = sum(identifier.isprintable() for identifier in IDS)
    assert f"{number} failed" in again.stdout
    assert "passed" not in again.stdout
    assert not (done.folder / "pwned").exists()


@pytest.mark.skipif(shutil.which("sh") is None, reason="the command is for a POSIX shell")
@pytest.mark.parametrize(
    "identifier", ["$(touch pwned)", "it's `touch pwned`", "a::b[c]", "; touch pwned", "grün"]
)
def test_one_such_id_can_be_selected_from_a_shell(run, identifier):
    source = one_case(identifier).replace("[", "[2, ", 1)
    done = run({"test_a.py": source.replace("[2, ", "['other', ", 1)}, "-k", "not other")
    again = shell(done.rerun, done.folder)
    assert again.returncode == 1, again.stdout + again.stderr
    assert "1 failed" in again.stdout
    assert not (done.folder / "pwned").exists()


def test_cases_of_one_function_are_counted_not_listed(run):
    cases = f"@pytest.mark.parametrize('x', ['a::b[c]', '[d]', '{'e' * 45}', '{'f' * 45}::g'])"
    source = f"import pytest\n{cases}\ndef test_x(x): assert x == 1\n"
    done = run({"test_a.py": source})
    assert done.says("4 tests: `test_a.py::test_x` (4 cases)")
    assert len(done.report["root_causes"][0]["tests"]) == 4


def test_file_name_with_any_characters_is_shown_as_code_and_quoted(run):
    done = run({"te`st #1 (a)/test_a b$(touch pwned).py": "def test_1(): assert 1 == 2\n"})
    assert done.says("``te`st #1 (a)/test_a b$(touch pwned).py:1``")
    again = shell(done.rerun, done.folder)
    assert "1 failed" in again.stdout, again.stdout + again.stderr
    assert not (done.folder / "pwned").exists()


TWO = "def test_a(): assert 1 == 2\ndef test_b(): pass\n"


@pytest.mark.parametrize(
    "dropped",
    ["-x", "--maxfail=1", "-q", "-vv", "--tb=short", "--lf", "--ff", "--durations=3", "--co", "-ra", "-kest"],
)
def test_command_leaves_out_what_selects_or_only_shows(run, dropped):
    done = run({"test_a.py": TWO}, dropped)
    assert dropped not in done.rerun.split()
    assert "--loop-close-json" not in done.rerun


@pytest.mark.parametrize(
    "kept",
    ["--import-mode=importlib", "-Wignore::ResourceWarning", "--strict-markers", "--loop-close-budget=3000"],
)
def test_command_keeps_what_changes_the_tests(run, kept):
    done = run({"test_a.py": TWO}, kept)
    assert kept in done.rerun.split()
    assert done.rerun.endswith(" test_a.py::test_a")


def test_command_replaces_what_was_selected(run):
    done = run(
        {"test_a.py": TWO, "test_b.py": TWO}, "test_a.py", "-k", "test_a or test_b", "-m", "not nothing"
    )
    assert done.rerun == "pytest --loop-close test_a.py::test_a"


def test_command_from_another_folder_counts_from_the_root(run, pytester, monkeypatch):
    run({"sub/test_a.py": TWO})
    monkeypatch.chdir(pytester.path / "sub")
    done = run({}, f"--rootdir={pytester.path}", "-c", str(pytester.path / "pytest.ini"))
    assert done.says("at sub/test_a.py:1\n", "Rerun just the failing tests, from the root:")
    assert str(pytester.path) not in done.prompt
    assert done.rerun.endswith(" sub/test_a.py::test_a")


def test_many_failing_tests_are_selected_by_the_last_failed_ones(run):
    tests = "\n".join(f"def test_{'x' * 60}_{n}(): assert {n} < 0" for n in range(30))
    assert run({"test_a.py": tests}).rerun == "pytest --loop-close --lf"


def test_command_fits_whatever_script_the_names_are_in(run):
    name = "日本語" * 60
    done = run({"test_a.py": f"def test_{name}(): assert 1 == 2\ndef test_日本(): assert 3 == 4\n"})
    assert done.rerun == "pytest --loop-close --lf"


def test_all_tests_are_run_where_the_failing_ones_cannot_be_named(run):
    files = {f"test_{'x' * 60}_{n}.py": f"def test_a(): assert {n} < 0\n" for n in range(9)}
    done = run(files, "-p", "no:cacheprovider")
    words = done.rerun.split()
    assert words[:4] == ["pytest", "--loop-close", "-p", "no:cacheprovider"]
    assert len(done.rerun) < 400
