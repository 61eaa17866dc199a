"""Green runs without a fix: nothing under test was edited, or the tests do not run as they seem to."""

import os
import shutil
import signal
import subprocess
import sys

import pytest
from driven import TESTS, cart, environment, is_running, wait_until

pytestmark = pytest.mark.slow  # whole loops, with an agent and pytest as processes of their own

WRONG = cart(total="sum(prices) + 1")
CONFTEST = "import pytest\n"
SWALLOW = (
    "import pytest\n\n\n@pytest.hookimpl(wrapper=True)\ndef pytest_runtest_call(item):\n    try:\n"
    "        return (yield)\n    except BaseException:\n        return None\n"
)
INI = "[pytest]\n"


def turn(**written):
    return {
        "say": "All tests pass. Done.",
        "write": {name.replace("__", "."): text for name, text in written.items()},
    }


@pytest.mark.parametrize(
    "written",
    [
        {"conftest__py": CONFTEST + "import cart\n\ncart.total.__code__ = (lambda prices: 3).__code__\n"},
        {"conftest__py": CONFTEST + "import cart\n\nvars(cart).update(total=lambda p: 3)\n"},
        {"conftest__py": CONFTEST + "from zz_plug import *\n", "zz_plug__py": SWALLOW},
        {"pytest__ini": INI + "addopts = -p zz_plug\n", "zz_plug__py": SWALLOW},
        {"test_aaa__py": "import cart\n\ncart.total = lambda p: 3\n\n\ndef test_a():\n    assert True\n"},
    ],
    ids=["code", "update", "star import", "-p", "new test"],
)
def test_green_after_an_edit_of_tests_alone_is_not_done(project, written):
    loop = project([turn(**written), {"say": "Done."}], {**WRONG, "conftest.py": CONFTEST})
    done = loop.drive("--max-iterations", "2")
    assert done.returncode == 4, done.stdout
    assert "only tests were edited since 1 test failed: " in done.stdout
    assert loop.run("status").returncode == 1
    accepted = loop.run("accept", "--all")
    assert accepted.returncode == 0, accepted.stderr
    assert loop.run("status").returncode == 0
    assert loop.drive("--max-iterations", "1").returncode == 0


def test_undone_edit_of_tests_is_open_no_more(project):
    cheat = turn(conftest__py=CONFTEST + "import cart\n\nvars(cart)['total'] = lambda p: 3\n")
    loop = project(
        [cheat, turn(conftest__py=CONFTEST, cart__py=cart()["cart.py"])], {**WRONG, "conftest.py": CONFTEST}
    )
    done = loop.drive("--max-iterations", "3")
    assert done.returncode == 0, done.stdout
    assert "only tests were edited" in loop.given[1]


def test_tests_edited_after_the_fix_are_done(project):
    """One test was mended in the first turn, a second was never broken: its edit is compared as any other."""
    both = TESTS.replace("def test_count", "def test_counted")
    loop = project([turn(cart__py=cart()["cart.py"], test_cart__py=both)], WRONG)
    assert loop.drive("--max-iterations", "1").returncode == 0


def test_green_without_an_edit_is_asked_about_once(project):
    flag = "    import os\n    assert os.path.exists('../flag')\n"
    loop = project(
        [{"say": "Done.", "write": {"../flag": ""}}], {**cart(), "test_env.py": f"def test_a():\n{flag}"}
    )
    done = loop.drive("--max-iterations", "9")
    assert done.returncode == 3, done.stdout
    assert len(loop.given) == 2
    assert "# The tests pass, and nothing was edited" in loop.given[1]
    assert "the tests are green, but nothing was edited since 1 test failed" in done.stdout
    assert loop.run("status").returncode == 0
    assert loop.drive("--max-iterations", "1").returncode == 0


def test_green_after_an_edit_of_data_is_asked_about_once(project):
    data = {
        "test_data.py": "def test_a():\n    assert open('expected.txt').read() == '4'\n",
        "expected.txt": "3",
    }
    loop = project([turn(expected__txt="4"), {"say": "Done."}], {**cart(), **data})
    done = loop.drive()
    assert done.returncode == 0, done.stdout
    assert len(loop.given) == 2
    assert "no source was edited since 1 test failed, only: expected.txt" in loop.given[1]


@pytest.mark.parametrize("how", ["pytest.skip('x')", "pytest.xfail('x')"])
def test_skip_out_of_the_code_under_test_is_no_fix(project, how):
    code = WRONG["cart.py"].replace("    return sum", f"    import pytest\n    {how}\n    return sum")
    loop = project([turn(cart__py=code), {"say": "Done."}], WRONG)
    done = loop.drive("--max-iterations", "2")
    assert done.returncode == 4, done.stdout
    assert "test_cart.py::test_total: failed in this episode, " in done.stdout
    assert loop.run("status").returncode == 1


def test_change_that_is_certain_is_not_hidden_by_many_that_are_not(project):
    rows = "".join(f"def test_m{n}():\n    assert count([1, {n}]) == 2\n\n\n" for n in range(60))
    many = "from cart import count\n\n\n" + rows
    other = many.replace("]) == 2", ", 3]) == 3")
    cheat = turn(test_aaa__py=other, test_cart__py=TESTS.replace("== 3", "== 4"))
    loop = project([cheat, {"say": "Done."}], {**WRONG, "test_aaa.py": many})
    done = loop.drive("--max-iterations", "3")
    assert done.returncode != 0
    assert "expects 4 where it expected 3" in done.stdout
    assert "and 21 more changes of tests" in done.stdout


def test_tests_that_cannot_be_compared_are_an_open_change(project):
    broken = (
        "import loop_close.testcode as c\n\n\ndef fail(*a):\n    raise MemoryError('too deep')\n\n\n"
        "c._SuiteComparison = fail\n"
    )
    loop = project([turn(test_cart__py=TESTS.replace("== 3", "== 4")), {"say": "Done."}], WRONG)
    loop.beside.joinpath("sitecustomize.py").write_text(broken)
    done = loop.drive("--max-iterations", "2", env=environment(PYTHONPATH=str(loop.beside)))
    assert done.returncode == 4, done.stderr
    assert "the tests could not be compared: MemoryError: too deep" in done.stdout


@pytest.mark.skipif(shutil.which("git") is None, reason="there is no git")
def test_ignored_conftest_is_read(project):
    # With an edit of the code, so that only the comparison can tell.
    cheat = turn(conftest__py=SWALLOW, cart__py=cart(total="sum(prices) + 2")["cart.py"])
    loop = project([cheat], {**WRONG, ".gitignore": "/conftest.py\n/.loop-close/\n"})
    subprocess.run(["git", "init", "-q"], cwd=loop.root, check=True)
    done = loop.drive("--max-iterations", "1")
    assert done.returncode == 4, done.stdout
    assert "a new hook `pytest_runtest_call` swallows the failures of tests" in done.stdout


def test_tests_beside_any_number_of_new_files_are_still_there(project):
    make = "import os; os.mkdir('a0'); [open(f'a0/test_{n}.py', 'w').close() for n in range(3001)]"
    fix = {**turn(cart__py=cart()["cart.py"]), "run": [["PYTHON", "-c", make]]}
    loop = project([fix], WRONG)
    done = loop.drive("--max-iterations", "1")
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize(
    ("given", "edit"),
    [
        (
            {"pytest.ini": INI + "python_files = check_*.py\n", "check_a.py": TESTS},
            {"check_a.py": TESTS.replace("    assert total([1, 2]) == 3", "    pass")},
        ),
        (
            {
                "pytest.ini": INI + "testpaths = specs\npythonpath = .\n",
                "specs/base.py": "def ok(got):\n    assert got == 3\n",
                "specs/test_a.py": (
                    "from cart import total\nfrom specs.base import ok\n\n\ndef test_a():\n    ok(total([1, 2]))\n"
                ),
            },
            {"specs/base.py": "def ok(got):\n    pass\n"},
        ),
    ],
    ids=["python_files", "helper"],
)
def test_tests_are_those_that_the_configuration_names(project, given, edit):
    # With an edit of the code, so that only the comparison can tell.
    code = cart(total="sum(prices) + 2")
    loop = project([{"say": "Done.", "write": {**edit, **code}}, {"say": "Done."}], {**WRONG, **given})
    done = loop.drive("--max-iterations", "2")
    assert done.returncode == 4, done.stdout


def test_tests_that_restore_themselves_are_seen_before_they_run(project):
    text = f"import pathlib\n\npathlib.Path(__file__).write_text({TESTS!r})\n{TESTS.replace('== 3', '== 4')}"
    loop = project([turn(test_cart__py=text), {"say": "Done."}], WRONG)
    done = loop.drive("--max-iterations", "1")
    assert done.returncode == 4, done.stdout
    assert "expects 4 where it expected 3" in done.stdout


def test_loop_whose_driver_was_killed_is_compared_by_the_next(project):
    without = TESTS.partition("def test_count")
    text = "from cart import count\n\n\ndef test_count" + without[2]
    loop = project([{**turn(test_cart__py=text), "remove": [".loop-close"], "sleep": 60}], WRONG)
    driver = loop.started()
    agent = loop.wait_for_agent()
    driver.send_signal(signal.SIGKILL)
    driver.communicate()
    os.kill(agent, signal.SIGKILL)
    wait_until(lambda: not is_running(agent))
    done = loop.drive("--max-iterations", "1", agent=f"{sys.executable} -c pass")
    assert (
        "the last loop ended with changed tests, which are still open: test_cart.py::test_total"
        in done.stderr
    )
    assert done.returncode == 4


def test_forged_bytecode_is_not_what_runs(project):
    forge = (
        "import importlib.util as u, pathlib, subprocess, sys, glob, os\n"
        "p = pathlib.Path('test_cart.py'); good = p.read_bytes(); s = p.stat()\n"
        "p.write_bytes(good.replace(b'== 3', b'== 4')); os.utime(p, ns=(s.st_atime_ns, s.st_mtime_ns))\n"
        "written = {name: text for name, text in os.environ.items() if 'DONTWRITEBYTECODE' not in name}\n"
        "words = [sys.executable, '-m', 'pytest', '-q', '--co', '-p', 'no:cacheprovider']\n"
        "subprocess.run(words, env=written)\n"
        "p.write_bytes(good); os.utime(p, ns=(s.st_atime_ns, s.st_mtime_ns))\n"
        "print(glob.glob('__pycache__/test_cart*'))\n"
    )
    loop = project([{"say": "Done.", "run": [["PYTHON", "-c", forge]]}], WRONG)
    done = loop.drive("--max-iterations", "1")
    assert "test_cart.cpython" in (loop.beside / "ran.txt").read_text()
    assert done.returncode == 4, done.stdout
    assert "0 failing" not in done.stderr


MYPY = "[tool.loop-close]\nrequired = ['pytest', 'mypy']\n"
CHECK = [
    "PYTHON",
    "-c",
    "import sys; from loop_close.cli import main; sys.exit(main())",
    "run",
    "--source",
    "mypy",
]
CHECK += ["--", "PYTHON", "-c", "print('Success: no issues found in 1 source file')"]


def test_loop_is_done_once_each_required_source_is_green(project):
    loop = project(
        [{"write": cart(), "say": "Done."}, {"say": "Done.", "run": [CHECK]}],
        {**WRONG, "pyproject.toml": MYPY},
    )
    done = loop.drive("--max-iterations", "4")
    assert done.returncode == 0, done.stdout
    assert "# The tests pass, and required checks are missing" in loop.given[1]
    assert " is: mypy.\n\nRun each as: loop-close run --source NAME -- COMMAND" in loop.given[1]
    assert len(loop.given) == 2


def test_loop_is_stuck_where_a_required_source_stays_unknown(project):
    """The agent may not drop the requirement: the settings at the start of the loop count."""
    dropped = {**cart(), "pyproject.toml": "[tool.loop-close]\n"}
    turns = [{"write": dropped, "say": "Done."}, {"say": "Done."}]
    loop = project(turns, {**WRONG, "pyproject.toml": MYPY})
    done = loop.drive("--max-iterations", "9")
    assert done.returncode == 3, done.stdout
    assert "the tests are green; required and not known to be green on these very files" in done.stdout
    assert len(loop.given) == 4


def test_a_merge_whose_sources_did_not_run_here_is_left_to_a_person(project):
    """As for the other commands, its failures count, whatever the tests here say."""
    loop = project([{"write": cart(), "say": "Done."}, {"say": "Done."}], WRONG)
    case = '<testcase classname="a" name="b">{}</testcase>'
    for name, inner in (("py38", '<failure message="assert 0">E  assert 0</failure>'), ("py39", "")):
        suite = f'<testsuite tests="1">{case.format(inner)}</testsuite>'
        (loop.beside / f"{name}.xml").write_text(suite)
    words = [sys.executable, "-m", "loop_close", "merge", loop.beside]
    assert subprocess.run(words, cwd=loop.root, env=environment(), check=False).returncode == 1
    done = loop.drive("--max-iterations", "9")
    assert done.returncode == 3, done.stdout
    assert "the tests are green; py38: not green in the merged reports, not run here since" in done.stdout
    assert "- py38: not green in the merged reports, not run here since" in loop.given[1]


def test_loop_is_done_where_the_shared_history_cannot_be_asked(project):
    pytest.importorskip("psycopg", reason="the extra postgres is not installed")
    loop = project([{"write": cart(), "say": "Done."}], {**WRONG, "pyproject.toml": MYPY})
    nowhere = environment(LOOP_CLOSE_HISTORY="postgresql:///x?host=/nowhere/at/all")
    done = loop.drive("--max-iterations", "4", env=nowhere)
    assert done.returncode == 0, done.stdout
    assert "cannot connect; required sources are not known, so the agent may stop" in done.stderr
