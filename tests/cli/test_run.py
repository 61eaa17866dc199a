"""What ``loop-close run`` writes of the command that it ran."""

import json
import os
import signal
import sys

import pytest
from cli_harness import environment, loop_close, put, python, started

SIGNATURE = "\n<!-- loop-close -->\n"
RED = f"# 1 test fails: something old\n{SIGNATURE}"
GREEN_TEST = "def test_it():\n    assert True\n"
RED_TEST = "def test_it():\n    assert [1] == [2]\n"
PYTEST = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]


@pytest.fixture
def prompt(tmp_path):
    return tmp_path / "nextprompt.md"


def text(path):
    return path.read_text(encoding="utf-8")


def told(done):
    return [line for line in done.stderr.decode().splitlines() if line.startswith("loop-close: ")]


def recorded(folder):
    """The runs in the history."""
    return json.loads(loop_close("history", "--json", cwd=folder).stdout)["runs"]


def test_green_command_says_so_and_the_old_prompt_is_gone(tmp_path, prompt):
    put(tmp_path, "nextprompt.md", RED)
    done = loop_close("run", "--", *python("print('all good')"), cwd=tmp_path)
    assert done.returncode == 0
    assert text(prompt).startswith("# No failure (exit 0)\n")
    assert text(prompt).endswith(SIGNATURE)
    assert told(done) == ["loop-close: No failure (exit 0)"]


def test_pytest_in_the_command_reports_through_the_plugin(tmp_path, prompt):
    test = put(tmp_path, "test_it.py", RED_TEST)
    make = python(f"import subprocess, sys; sys.exit(subprocess.run({PYTEST!r}).returncode)")
    done = loop_close("run", "--", *make, cwd=tmp_path)
    assert done.returncode == 1
    assert b"1 failed in" in done.stdout
    assert text(prompt).startswith("# 1 test fails: AssertionError at test_it.py:2\n")
    run = recorded(tmp_path)[0]
    assert (run["command"], run["exit_code"]) == (make, 1)
    assert [*run["outcomes"].values()] == [{"test_it.py::test_it": "failed"}]
    assert text(tmp_path / ".loop-close" / "failed.txt") == "test_it.py::test_it\n"
    test.write_text(GREEN_TEST, encoding="utf-8")
    assert loop_close("run", "--", *PYTEST, cwd=tmp_path).returncode == 0
    assert text(prompt).startswith("# The tests pass: 1 passed\n")
    run = recorded(tmp_path)[1]
    assert (run["is_green"], run.get("check", ""), run.get("is_done", False)) == (True, "", False)


def test_a_command_that_fails_after_a_green_report_is_failing(tmp_path, prompt):
    put(tmp_path, "test_it.py", GREEN_TEST)
    code = f"import subprocess; subprocess.run({PYTEST!r}); raise SystemExit(4)"
    done = loop_close("run", "--", *python(code), cwd=tmp_path)
    assert done.returncode == 4
    assert "(exit 4)" in text(prompt)
    assert "The tests pass" not in text(prompt)
    run = recorded(tmp_path)[0]
    assert (run["exit_code"], run.get("is_green", False)) == (4, False)


def test_a_failing_report_is_failing_whatever_the_command_says(tmp_path, prompt):
    put(tmp_path, "test_it.py", RED_TEST)
    code = f"import subprocess; subprocess.run({PYTEST!r})"
    assert loop_close("run", "--", *python(code), cwd=tmp_path).returncode == 0
    assert text(prompt).startswith("# 1 test fails: ")
    assert recorded(tmp_path)[0].get("is_green", False) is False


@pytest.mark.skipif(sys.platform == "win32", reason="there is no SIGKILL")
def test_a_pytest_that_was_killed_is_not_green(tmp_path, prompt):
    put(tmp_path, "test_it.py", "import os\ndef test_it():\n    os.kill(os.getpid(), 9)\n")
    put(tmp_path, "nextprompt.md", RED)
    done = loop_close("run", "--", *PYTEST, cwd=tmp_path)
    assert done.returncode == 128 + signal.SIGKILL
    assert "something old" not in text(prompt)
    assert recorded(tmp_path)[0].get("is_green", False) is False


def test_a_run_inside_a_run_leaves_the_prompt_to_the_outer_one(tmp_path, prompt):
    put(tmp_path, "test_it.py", RED_TEST)
    main = "import sys; from loop_close.cli import main; sys.exit(main())"
    done = loop_close("run", "--", sys.executable, "-c", main, "run", "--", *PYTEST, cwd=tmp_path)
    assert (done.returncode, len(told(done))) == (1, 2)
    assert text(prompt).startswith("# 1 test fails: ")
    assert len(recorded(tmp_path)) == 1


def test_program_that_fails_is_read(tmp_path, prompt):
    put(tmp_path, "shop.py", "def price():\n    return {}['tea']\n\nprice()\n")
    assert loop_close("run", "--", sys.executable, "shop.py", cwd=tmp_path).returncode == 1
    assert "KeyError" in text(prompt)
    assert "`shop.py" in text(prompt)


def test_while_the_command_runs_the_prompt_says_so(tmp_path, prompt):
    put(tmp_path, "nextprompt.md", RED)
    put(tmp_path, ".loop-close/report.json", "{}")
    code = "import os, time\nprint('on', flush=True)\nwhile not os.path.exists('go'): time.sleep(0.01)"
    with started("run", "--", *python(code), cwd=tmp_path) as process:
        assert process.stdout.readline() == b"on\n"
        assert text(prompt).startswith("# Tests are running\n")
        # of the last complete run, until this one is
        assert (tmp_path / ".loop-close" / "report.json").exists()
        put(tmp_path, "go", "")
        process.communicate()
    assert not (tmp_path / ".loop-close" / "report.json").exists()
    assert text(prompt).startswith("# No failure")


@pytest.mark.skipif(sys.platform == "win32", reason="there is no SIGKILL")
def test_when_we_are_killed_no_stale_prompt_is_left(tmp_path, prompt):
    put(tmp_path, "nextprompt.md", RED)
    with started("run", "--", *python("print('on', flush=True); input()"), cwd=tmp_path, stdin=-1) as process:
        assert process.stdout.readline() == b"on\n"
        process.kill()
        process.stdin.close()
        process.wait()
    assert text(prompt).startswith("# Tests are running\n")
    assert recorded(tmp_path)[0].get("is_finished", False) is False


@pytest.mark.parametrize(
    ("word", "status", "said"),
    [("no-such-command", 127, "No such file or directory"), ("./plain", 126, "Permission denied")],
)
@pytest.mark.skipif(os.name == "nt", reason="the words are those of POSIX")
def test_command_that_cannot_be_run(tmp_path, prompt, word, status, said):
    put(tmp_path, "plain", "echo hello\n")
    done = loop_close("run", "--", word, cwd=tmp_path)
    assert done.returncode == status
    assert told(done)[0] == f"loop-close: cannot run {word}: {said}"
    assert word in text(prompt)


def test_wrong_settings_are_refused_before_anything_runs(tmp_path):
    put(tmp_path, "pyproject.toml", "[tool.loop-close]\nfile = '../x.md'\n")
    done = loop_close("run", "--", *python("open('ran', 'w')"), cwd=tmp_path)
    assert done.returncode == 64
    assert "file must be a path below the root, not '../x.md'" in done.stderr.decode()
    assert not (tmp_path / "ran").exists()


def test_from_a_sub_folder_the_command_runs_here_and_the_prompt_is_the_projects(tmp_path, prompt):
    put(tmp_path, "pyproject.toml", "[tool.loop-close]\nbudget = 900\n")
    (tmp_path / "docs").mkdir()
    done = loop_close("run", "--", *python("import os; print(os.getcwd())"), cwd=tmp_path / "docs")
    assert done.stdout.decode().strip() == os.path.realpath(tmp_path / "docs")
    assert text(prompt).startswith("# No failure")


def test_secrets_of_the_command_line_are_not_written(tmp_path):
    secret = "ghp_" + "a1B2" * 9
    loop_close("run", "--", *python("raise SystemExit(1)"), f"--token={secret}", cwd=tmp_path)
    held = [path for path in tmp_path.rglob("*") if path.is_file() and secret.encode() in path.read_bytes()]
    assert held == []
    assert recorded(tmp_path)[0]["command"][0] == sys.executable


def test_fault_of_ours_costs_a_line_and_not_the_exit_code(tmp_path, prompt):
    put(tmp_path, "patch/sitecustomize.py", "import loop_close.app as a\na.conclude = None\n")
    env = environment(PYTHONPATH=str(tmp_path / "patch"))
    done = loop_close("run", "--", *python("raise SystemExit(7)"), cwd=tmp_path, env=env)
    assert done.returncode == 7
    assert "internal error of loop-close: TypeError" in told(done)[-1]
    assert "the result of the command is not affected" in told(done)[-1]
    assert text(prompt).startswith("# loop-close could not read this run (exit 7)\n")


def test_what_a_checker_printed_is_read_beside_failing_tests(tmp_path, prompt):
    put(tmp_path, "test_it.py", RED_TEST)
    found = "a.py:2: error: Bad operand  [operator]\nFound 1 error in 1 file (checked 1 source file)"
    code = f"import subprocess; print({found!r}, flush=True); raise SystemExit(subprocess.run({PYTEST!r}).returncode)"
    loop_close("run", "--", *python(code), cwd=tmp_path)
    assert text(prompt).startswith("# 1 test fails, 1 mypy error: ")
