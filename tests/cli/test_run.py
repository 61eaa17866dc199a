"""What ``loop-close run`` writes of the command that it ran."""

import json
import os
import re
import shlex
import signal
import stat
import subprocess
import sys
from pathlib import Path

import jsonschema
import pytest
from cli_harness import environment, loop_close, python, started, wait_for

import loop_close as package

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


def put(folder, name, content):
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content, encoding="utf-8")
    return path


def told(done):
    return [line for line in done.stderr.decode().splitlines() if line.startswith("loop-close: ")]


def test_green_command_says_so_and_the_old_prompt_is_gone(tmp_path, prompt):
    put(tmp_path, "nextprompt.md", RED)
    done = loop_close("run", "--", *python("print('all good')"), cwd=tmp_path)
    assert done.returncode == 0
    assert text(prompt) == f"# No failure (exit 0)\n{SIGNATURE}"
    assert told(done) == ["loop-close: No failure (exit 0)"]


@pytest.mark.slow
def test_green_tests_are_counted(tmp_path, prompt):
    put(tmp_path, "test_it.py", GREEN_TEST)
    assert loop_close("run", "--", *PYTEST, cwd=tmp_path).returncode == 0
    assert text(prompt) == f"# The tests pass: 1 passed\n{SIGNATURE}"


@pytest.mark.slow
def test_red_tests_are_reported_with_their_rerun_command(tmp_path, prompt):
    put(tmp_path, "tests/test_it.py", RED_TEST)
    done = loop_close("run", "--budget", "900", "--", *PYTEST, "tests", cwd=tmp_path)
    assert done.returncode == 1
    assert text(prompt).startswith("# 1 test fails: ")
    assert "AssertionError" in text(prompt)
    again = f"loop-close run -- {' '.join(PYTEST)} tests/test_it.py::test_it"
    assert [line.rpartition(": ")[2].strip("`") for line in text(prompt).splitlines() if again in line] == [
        again
    ]


@pytest.mark.slow
def test_red_run_keeps_its_report_and_a_green_one_forgets_it(tmp_path):
    path = put(tmp_path, "test_it.py", RED_TEST)
    loop_close("run", "--", *PYTEST, cwd=tmp_path)
    report = json.loads(text(tmp_path / ".loop-close" / "report.json"))
    assert (report["source"], report["exit_code"], report["verdict"]) == ("pytest", 1, "first-failure")
    assert text(tmp_path / ".loop-close" / "failed.txt") == "test_it.py::test_it\n"
    path.write_text(GREEN_TEST, encoding="utf-8")
    loop_close("run", "--", *PYTEST, cwd=tmp_path)
    kept = {p.name for p in (tmp_path / ".loop-close").iterdir()}
    assert kept == {".gitignore", "history.sqlite3"}


def test_program_that_fails_is_read(tmp_path, prompt):
    put(tmp_path, "shop.py", "def price():\n    return {}['tea']\n\nprice()\n")
    assert loop_close("run", "--", sys.executable, "shop.py", cwd=tmp_path).returncode == 1
    assert "KeyError" in text(prompt)
    assert "`shop.py" in text(prompt)


def test_no_output_is_not_green(tmp_path, prompt):
    loop_close("run", "--", *python("raise SystemExit(3)"), cwd=tmp_path)
    assert text(prompt).startswith("# No known failure in the output (exit 3)\n")


def test_while_the_command_runs_the_prompt_says_so(tmp_path, prompt):
    put(tmp_path, "nextprompt.md", RED)
    put(tmp_path, ".loop-close/report.json", "{}")
    code = "import os, time\nprint('on', flush=True)\nwhile not os.path.exists('go'): time.sleep(0.01)"
    with started("run", "--", *python(code), cwd=tmp_path) as process:
        assert process.stdout.readline() == b"on\n"
        assert text(prompt).startswith("# Tests are running\n")
        assert (
            tmp_path / ".loop-close" / "report.json"
        ).exists()  # of the last complete run, until this one is
        put(tmp_path, "go", "")
        process.communicate()
    assert not (tmp_path / ".loop-close" / "report.json").exists()
    assert text(prompt).startswith("# No failure")


@pytest.mark.slow
def test_prompt_of_the_command_itself_is_reported(tmp_path):
    words = [*PYTEST, "-c", "pytest.ini"]
    put(tmp_path, "test_it.py", RED_TEST)
    put(tmp_path, "pytest.ini", "[pytest]\naddopts = --loop-close\n")
    done = loop_close("run", "--", *words, cwd=tmp_path)
    assert told(done)[-1].endswith("the command itself wrote nextprompt.md; it is left unchanged")


@pytest.mark.skipif(sys.platform == "win32", reason="there is no SIGKILL")
def test_when_we_are_killed_no_stale_prompt_is_left(tmp_path, prompt):
    put(tmp_path, "nextprompt.md", RED)
    code = "import os; open('pid', 'w').write(str(os.getpid())); os.replace('pid', 'there'); input()"
    with started("run", "--", *python(code), cwd=tmp_path, stdin=-1) as process:
        wait_for(tmp_path / "there")
        process.kill()
        process.stdin.close()
        process.wait()
    assert text(prompt).startswith("# Tests are running\n")


@pytest.mark.slow
@pytest.mark.parametrize("test", [GREEN_TEST, RED_TEST], ids=["green", "red"])
def test_prompt_of_the_plugin_is_left_as_it_is(tmp_path, test):
    alone, under = tmp_path / "alone", tmp_path / "under"
    for folder in (alone, under):
        put(folder, "test_it.py", test)
        put(folder, "pytest.ini", "[pytest]\n")
        put(folder, "nextprompt.md", RED)
    words = [*PYTEST, "--loop-close"]
    subprocess.run(words, cwd=alone, env=environment(), capture_output=True, check=False)
    done = loop_close("run", "--", *words, cwd=under)
    assert told(done) == []
    assert text(under / "nextprompt.md") == text(alone / "nextprompt.md") != RED
    assert sorted(under.rglob("*")) == sorted(under / p.relative_to(alone) for p in alone.rglob("*"))


@pytest.mark.slow
def test_good_news_of_the_plugin_is_none_when_the_command_fails_after_all(tmp_path, prompt):
    put(tmp_path, "test_it.py", GREEN_TEST)
    code = f"import subprocess; subprocess.run({[*PYTEST, '--loop-close']!r}); raise SystemExit(4)"
    loop_close("run", "--", *python(code), cwd=tmp_path)
    assert text(prompt).endswith(SIGNATURE)
    assert "something old" not in text(prompt)
    assert "(exit 4)" in text(prompt)


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="there is no SIGKILL")
def test_prompt_of_a_plugin_that_was_killed_tells_nothing(tmp_path, prompt):
    put(tmp_path, "test_it.py", "import os\ndef test_it():\n    os.kill(os.getpid(), 9)\n")
    done = loop_close("run", "--", *PYTEST, "--loop-close", cwd=tmp_path)
    assert done.returncode == 128 + signal.SIGKILL
    assert text(prompt).endswith(SIGNATURE)
    assert "something old" not in text(prompt)


def test_prompt_that_the_command_removes_is_written(tmp_path, prompt):
    loop_close("run", "--", *python("import os; os.remove('nextprompt.md')"), cwd=tmp_path)
    assert text(prompt).startswith("# No failure")


def test_file_that_the_command_put_there_is_left(tmp_path, prompt):
    loop_close("run", "--", *python("open('nextprompt.md', 'w').write('notes')"), cwd=tmp_path)
    assert text(prompt) == "notes"


def test_nested_command_is_reported_once(tmp_path, prompt):
    main = "import sys; from loop_close.cli import main; sys.exit(main())"
    inner = [sys.executable, "-c", main, "run", "--", *python("raise KeyError('tea')")]
    done = loop_close("run", "--", *inner, cwd=tmp_path)
    assert done.returncode == 1
    assert told(done)[-1].endswith("it is left unchanged")
    assert "KeyError" in text(prompt)


def test_a_command_that_takes_no_node_ids_is_named_all_the_same(tmp_path, prompt):
    out = "FAILED test_a.py::test_a - assert 1 == 2\n==== 1 failed in 0.01s ====\n"
    put(tmp_path, "all.py", f"print({out!r})\nraise SystemExit(1)\n")
    loop_close("run", "--", sys.executable, "all.py", cwd=tmp_path)
    assert text(prompt).startswith("# 1 test fails")
    assert f": `loop-close run -- {sys.executable} all.py`" in text(prompt)


CHECK = (
    "import pathlib, sys\nif 'wrong' in pathlib.Path('shop.py').read_text():\n"
    "    print('shop.py:1: error: Bad  [operator]\\nFound 1 error in 1 file (checked 1 file)')\n    sys.exit(1)\n"
)


def wrapped(tmp_path, *commands):
    """A script of several commands: it goes on, and fails where one did."""
    lines = [f"{shlex.join(map(str, words))} || code=1" for words in commands]
    put(tmp_path, "run.sh", "\n".join(["code=0", *lines, "exit $code", ""]))
    put(tmp_path, "mypy.py", CHECK)
    return lambda: loop_close("run", "--", "sh", "run.sh", cwd=tmp_path)


def standing(tmp_path):
    done = loop_close("status", "--json", cwd=tmp_path)
    return done.returncode, {e["source"]: e["standing"] for e in json.loads(done.stdout)["sources"]}


@pytest.mark.slow
def test_a_finding_that_an_inner_run_tells_has_no_second_source(tmp_path, prompt):
    put(tmp_path, "shop.py", "wrong = 1\n")
    put(tmp_path, "test_shop.py", "import shop\ndef test_a():\n    assert not hasattr(shop, 'wrong')\n")
    inner = [sys.executable, "-m", "loop_close", "run", "--source", "mypy", "--", sys.executable, "mypy.py"]
    run = wrapped(tmp_path, [*PYTEST, "--loop-close"], inner)
    assert run().returncode == 1
    assert standing(tmp_path) == (1, {"pytest": "failing", "mypy": "failing"})
    assert "`sh`" not in text(prompt)
    put(tmp_path, "shop.py", "right = 1\n")
    assert run().returncode == 0
    assert standing(tmp_path) == (0, {"pytest": "green", "mypy": "green"})


@pytest.mark.slow
def test_what_only_the_wrapper_told_is_green_when_its_command_is(tmp_path, prompt):
    put(tmp_path, "shop.py", "wrong = 1\n")
    put(tmp_path, "test_shop.py", GREEN_TEST)
    run = wrapped(tmp_path, [*PYTEST, "--loop-close"], [sys.executable, "mypy.py"])
    assert run().returncode == 1
    assert standing(tmp_path)[1]["sh"] == "failing"
    put(tmp_path, "shop.py", "right = 1\n")
    put(tmp_path, "test_shop.py", RED_TEST)
    assert run().returncode == 1
    assert standing(tmp_path) == (1, {"pytest": "failing", "sh": "green"})
    put(tmp_path, "test_shop.py", GREEN_TEST)
    put(tmp_path, "shop.py", "left = 1\n")
    assert run().returncode == 0
    assert set(standing(tmp_path)[1].values()) == {"green"}, text(prompt)


@pytest.mark.parametrize(
    ("word", "status", "said"),
    [
        ("no-such-command", 127, "cannot run no-such-command: No such file or directory"),
        ("./plain", 126, "cannot run ./plain: Permission denied"),
        ("./plain/below", 126, "cannot run ./plain/below: Not a directory"),
        ("./no\x1b[2Jsuch", 127, "cannot run ./no\\x1b[2Jsuch: No such file or directory"),
    ],
)
def test_command_that_cannot_be_run(tmp_path, prompt, word, status, said):
    put(tmp_path, "nextprompt.md", RED)
    put(tmp_path, "plain", "")
    done = loop_close("run", "--", word, cwd=tmp_path)
    assert done.returncode == status
    assert told(done)[0] == f"loop-close: {said}"
    assert text(prompt).endswith(SIGNATURE)
    assert "something old" not in text(prompt)
    assert f"(exit {status})" in text(prompt)


@pytest.mark.skipif(sys.platform == "win32", reason="Windows runs no scripts by their first line")
def test_script_is_run_by_its_first_line(tmp_path):
    path = put(tmp_path, "script", f"#!{sys.executable}\nraise SystemExit(21)\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    assert loop_close("run", "./script", cwd=tmp_path).returncode == 21


@pytest.mark.parametrize(
    ("words", "source"),
    [
        (["--source", "mypy", "--"], "mypy"),
        (["--source=mypy"], "mypy"),
        ([], Path(sys.executable).name),
    ],
)
def test_run_is_called_as_one_wants(tmp_path, words, source):
    loop_close("run", *words, *python("raise KeyError"), cwd=tmp_path)
    assert json.loads(text(tmp_path / ".loop-close" / "report.json"))["source"] == source


def refused(done, *, said):
    assert done.returncode == 64
    assert done.stdout == b""
    assert said in done.stderr.decode()


RAN = python("open('ran', 'w'); raise KeyError('tea')")


def ran_all_the_same(done, tmp_path, *, said):
    """The command ran, its exit code is ours, one line says what was not written, and the prompt is on the terminal."""
    assert done.returncode == 1
    assert (tmp_path / "ran").exists()
    lines = told(done)
    assert [line for line in lines if "not written: nextprompt.md" in line and said in line], lines
    assert any("# " in line and "KeyError" in line for line in done.stderr.decode().splitlines())


def test_foreign_prompt_is_left_as_it_is(tmp_path, prompt):
    put(tmp_path, "nextprompt.md", "my notes\n")
    done = loop_close("run", "--", *RAN, cwd=tmp_path)
    ran_all_the_same(
        done, tmp_path, said="exists and was not written by loop-close; remove it or name another"
    )
    assert text(prompt) == "my notes\n"


def test_prompt_that_is_a_folder_costs_a_line(tmp_path, prompt):
    prompt.mkdir()
    done = loop_close("run", "--", *RAN, cwd=tmp_path)
    ran_all_the_same(done, tmp_path, said="is a folder; name a file")


@pytest.mark.skipif(not os.path.isdir("/proc/self"), reason="there is no /proc, which nobody may write")
def test_folder_that_cannot_be_written_costs_a_line():
    done = loop_close("run", "--", *python("raise KeyError('tea')"), cwd="/proc/self")
    assert done.returncode == 1
    assert "cannot be written: " in done.stderr.decode()


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ("budget = 3", "[tool.loop-close] budget must be a whole number of tokens, at least 400, not 3"),
        (
            "colour = 1",
            "[tool.loop-close] colour: unknown setting; known settings: budget, ci, file, history, json,",
        ),
        ("file = '../x.md'", "[tool.loop-close] file must be a path below the root, not '../x.md'"),
        ("json = '/x.json'", "[tool.loop-close] json must be a path below the root, not '/x.json'"),
        ("file = 'a'\njson = './a'", "cannot be both the prompt and the JSON report"),
        ("file = ", "pyproject.toml is not valid TOML: "),
    ],
)
def test_wrong_settings_are_refused(tmp_path, settings, said):
    put(tmp_path, "pyproject.toml", f"[tool.loop-close]\n{settings}\n")
    refused(loop_close("run", "--", *RAN, cwd=tmp_path), said=said)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["pyproject.toml"]


def test_settings_say_where_to_write(tmp_path, prompt):
    put(tmp_path, "pyproject.toml", "[tool.loop-close]\nfile = 'out/next.md'\njson = 'out/report.json'\n")
    done = loop_close("run", "--", *python("raise KeyError('tea')"), cwd=tmp_path)
    assert "next prompt: out/next.md (about " in told(done)[-1]
    assert not prompt.exists()
    report = json.loads(text(tmp_path / "out" / "report.json"))
    schema = json.loads(text(Path(package.__file__).parent / "schema" / "report-1.json"))
    jsonschema.validate(report, schema)
    assert report["next_prompt"] + SIGNATURE == text(tmp_path / "out" / "next.md")


def test_secrets_of_the_command_line_are_not_written(tmp_path, prompt):
    loop_close("run", "--", *python("raise SystemExit(1)"), "--token", "hunter2hunter2", cwd=tmp_path)
    kept = "".join(text(path) for path in (prompt, *(tmp_path / ".loop-close").glob("*.json")))
    assert "hunter2" not in kept
    assert "Read the log, starting at the end." in text(prompt)


def test_fault_of_ours_costs_a_line_and_not_the_exit_code(tmp_path, prompt):
    broken = (
        "import sys\nfrom loop_close import app\nfrom loop_close.cli import main\n"
        "def close(*a, **k): raise ValueError('our own')\napp.report_of = close\nsys.exit(main())"
    )
    words = [sys.executable, "-c", broken, "run", "--", *python("raise SystemExit(5)")]
    done = subprocess.run(words, cwd=tmp_path, env=environment(), capture_output=True, check=False)
    assert done.returncode == 5
    assert (
        b"internal error of loop-close: ValueError: our own; the result of the command is not affected"
        in done.stderr
    )
    assert text(prompt).startswith("# loop-close could not read this run (exit 5)\n")


CALC = {
    "calc.py": "def add(a, b): return a - b\ndef neg(a): return a\ndef same(a): return a\n",
    "test_calc.py": "from calc import *\n"
    "def test_add(): assert add(1, 2) == 3\n"
    "def test_neg(): assert neg(1) == -1\n"
    "def test_same(): assert same(1) == 1\n",
}
ADD, NEG = "test_calc.py::test_add", "test_calc.py::test_neg"


@pytest.fixture
def calc(tmp_path):
    for name, content in CALC.items():
        put(tmp_path, name, content)
    return lambda *words: loop_close("run", "--", *PYTEST, "-q", *words, cwd=tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("first", "then"),
    [
        ([], [["--deselect", ADD, "--deselect", NEG]]),
        (["test_calc.py"], [["-k", "same"], ["test_calc.py", "-k", "same", ADD, NEG]]),
        ([], [["-k", "same"], ["-k", "same"]]),
        ([], [["-m", "not slow", "test_calc.py::test_same"]]),
        ([], [["--version"]]),
        ([], [["--co"], ["-ra", "test_calc.py::test_same"]]),
        ([], [["-vk", "same"], ["--odd-option-of-a-plugin"]]),
    ],
)
def test_tests_that_the_command_leaves_out_do_not_pass(calc, tmp_path, prompt, first, then):
    calc(*first)
    for words in then:
        calc(*words)
    code, standings = standing(tmp_path)
    assert (code, standings) == (1, {"pytest": "failing"})
    shown = text(prompt)
    if "--odd-option-of-a-plugin" not in then[-1]:
        assert "2 earlier failures not run again" in shown
        # The command names them, and nothing in it leaves them out.
        last = shown.rstrip().splitlines()[-3]
        assert re.search(rf" -q(?: -\w+)* {ADD} {NEG}`\Z", last), last
    said = loop_close("ask", ADD, cwd=tmp_path).stdout.decode()
    assert "flaky" not in said


@pytest.mark.slow
def test_a_command_without_a_choice_runs_all_and_styles_change_nothing(calc, tmp_path, prompt):
    calc("--tb=short", "-k", "add or neg")
    put(tmp_path, "calc.py", CALC["calc.py"].replace("a - b", "a + b"))
    calc("--tb=line", "-vv")
    assert "Run 2 of this loop: 1 fixed, 1 unresolved. Progress" in text(prompt)
    assert "edited right before" not in text(prompt)
    put(
        tmp_path,
        "calc.py",
        CALC["calc.py"].replace("a - b", "a + b").replace("(a): return a\ndef s", "(a): return -a\ndef s"),
    )
    calc("--tb=no", "-x")
    assert standing(tmp_path) == (0, {"pytest": "green"})


@pytest.mark.slow
def test_of_unittest_no_command_is_named_that_would_run_other_tests(tmp_path, prompt):
    put(
        tmp_path,
        "test_calc.py",
        "import unittest\nclass T(unittest.TestCase):\n"
        "    def test_a(self): self.assertEqual(1, 2)\n    def test_b(self): pass\n",
    )
    words = [sys.executable, "-m", "unittest"]
    loop_close("run", "--", *words, cwd=tmp_path)
    loop_close("run", "--", *words, "test_calc.T.test_b", cwd=tmp_path)
    assert "Run the tests that failed before and did not run now.\n" in text(prompt)


@pytest.mark.slow
def test_ids_alone_are_not_all_tests(calc, tmp_path, prompt):
    calc()
    put(
        tmp_path,
        "calc.py",
        CALC["calc.py"].replace("a - b", "a + b").replace("neg(a): return a", "neg(a): return -a"),
    )
    calc(ADD, NEG)
    shown = text(prompt)
    assert "2 tests that had failed pass" in shown
    assert f"The other tests did not run. All of them: `loop-close run -- {shlex.join(PYTEST)} -q`" in shown
    assert standing(tmp_path) == (1, {"pytest": "green"})
    calc()
    assert standing(tmp_path) == (0, {"pytest": "green"})


@pytest.mark.slow
def test_many_ids_of_one_command_all_count(tmp_path):
    names = [f"test_{number}_{'x' * 40}" for number in range(20)]
    tests = "".join(f"def {name}(): assert shop.right\n" for name in names)
    put(tmp_path, "shop.py", "right = False\n")
    put(tmp_path, "test_shop.py", f"import shop\n{tests}")
    loop_close("run", "--", *PYTEST, cwd=tmp_path)
    put(tmp_path, "shop.py", "right = True\n")
    loop_close("run", "--", *PYTEST, *(f"test_shop.py::{name}" for name in names), cwd=tmp_path)
    done = loop_close("status", "--json", cwd=tmp_path)
    assert json.loads(done.stdout)["sources"][0]["verdict"] == "green"
