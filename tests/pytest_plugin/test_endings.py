"""How a run may end other than by running all its tests."""

import pytest

FINE = "def test_fine(): pass\n"


def raising(hook, error="KeyError('plugin broke')"):
    return f"import pytest\ndef {hook}:\n    raise {error}\n"


@pytest.mark.parametrize(
    "hook",
    [
        "pytest_sessionstart(session)",
        "pytest_runtest_protocol(item)",
        "pytest_runtest_logreport(report)",
    ],
)
def test_hook_that_raises_is_an_internal_error_with_its_place(run, hook):
    done = run({"conftest.py": raising(hook), "test_a.py": FINE})
    assert done.ret == 3
    name = hook.partition("(")[0]
    assert done.title.startswith("# 1 internal error")
    assert done.title.endswith(": KeyError at conftest.py:3")
    assert done.says("raise KeyError('plugin broke')", "(`an internal error ended it`)")
    assert done.causes[0]["location"]["function"] == name
    assert done.report["verdict"] == "error"
    assert len(done.summary) == 2


def contents(folder):
    """What a run writes for the user and for a re-run, by name."""
    names = ("nextprompt.md", "report.json", ".loop-close/report.json", ".loop-close/failed.txt")
    return {name: (folder / name).read_bytes() for name in names if (folder / name).exists()}


@pytest.mark.parametrize(
    ("words", "status"),
    [
        (("--no-such-option",), 4),
        (("no_such_test.py",), 4),
        (("-k", "no_such_name"), 5),
        (("-m", "no_such_mark"), 5),
    ],
)
def test_run_that_chose_no_test_leaves_what_shows_failing_tests(run, words, status):
    done = run({"test_a.py": "def test_a(): assert 'old news' == ''\n"})
    before = contents(done.folder)
    assert len(before) == 4
    done = run({}, *words, own_process=status == 4)
    assert done.ret == status
    assert contents(done.folder) == before
    said = "loop-close: no test ran; nextprompt.md still shows the last run"
    assert said in f"{done.stdout}\n{done.stderr}".splitlines()


def test_wrong_call_after_a_killed_run_leaves_the_list_of_failing_tests(run):
    run({"test_a.py": "import os\ndef test_a(): assert 'old news' == ''\ndef test_b(): pass\n"})
    done = run({"test_b.py": "import os\ndef test_b(): os._exit(3)\n"}, own_process=True)
    before = contents(done.folder)
    assert before["nextprompt.md"].startswith(b"# Tests are running")
    assert b"test_a" in before[".loop-close/failed.txt"]
    assert run({}, "no_such_test.py").ret == 4
    assert contents(done.folder) == before


@pytest.mark.parametrize("option", ["-x", "--stepwise"])
def test_list_of_failing_tests_keeps_those_that_a_stopped_run_did_not_come_to(run, option):
    run({"test_a.py": THREE}, remembers=True)
    done = run({}, option, remembers=True)
    assert done.report["counts"]["failed"] == 1
    assert (done.folder / ".loop-close/failed.txt").read_text().split() == [
        "test_a.py::test_a",
        "test_a.py::test_b",
    ]


def test_wrong_call_of_pytest_leaves_no_green_prompt(run):
    run({"test_a.py": FINE})
    done = run({}, "no_such_test.py")
    assert done.ret == 4
    assert done.says("UsageError", "no_such_test.py")


@pytest.mark.slow
@pytest.mark.parametrize(
    "option",
    [
        *("--help", "--version", "--markers", "--fixtures", "--fixtures-per-test", "--cache-show"),
        *("--co", "--collect-only", "--setup-only", "--setup-plan"),
    ],
)
def test_what_runs_no_test_changes_nothing(run, option):
    done = run({"test_a.py": "def test_a(): assert 'old news' == ''\n"}, remembers=True)
    before = contents(done.folder)
    status = run({}, option, asked=()).ret
    done = run({}, option, remembers=True)
    assert done.ret == status
    assert contents(done.folder) == before
    assert not done.summary
    assert run({}, remembers=True).report["number"] == 2  # it is in no history


@pytest.mark.slow
@pytest.mark.parametrize(
    ("returncode", "status", "reason"),
    [("", 2, "Run interrupted"), (", returncode=0", 0, "The run is incomplete")],
)
def test_pytest_exit_in_a_test_is_an_incomplete_run(run, returncode, status, reason):
    exits = f"def test_b(): pytest.exit('enough now'{returncode})\n"
    source = f"import pytest\ndef test_a(): pass\n{exits}def test_c(): pass\n"
    done = run({"test_a.py": source})
    assert done.ret == status
    assert done.title == f"# {reason}, 1 passes (exit {status})"
    assert done.says("This run is incomplete (`pytest.exit: enough now`): 2 tests did not run.")
    assert done.report["verdict"] == "error"


@pytest.mark.parametrize("place", ["test_a.py", "conftest.py"])
def test_pytest_exit_while_importing_is_no_green(run, place):
    done = run({"test_b.py": FINE, place: "import pytest\npytest.exit('no tests today')\n"})
    assert done.ret in (2, 4)
    assert done.says("no tests today", "This run is incomplete")
    assert done.report["verdict"] != "green"


@pytest.mark.parametrize("hook", ["pytest_sessionstart(session)", "pytest_configure(config)"])
def test_pytest_exit_before_any_test_is_an_incomplete_run(run, hook):
    done = run({"conftest.py": raising(hook, "pytest.exit.Exception('not today', 9)"), "test_a.py": FINE})
    assert done.ret == 9
    assert done.title == "# The run is incomplete (exit 9)"
    assert done.says("(`pytest.exit: not today`)")


def test_ctrl_c_in_a_test_is_an_incomplete_run_that_keeps_its_failures(run):
    source = "def test_a(): assert 1 == 2\ndef test_b(): raise KeyboardInterrupt\ndef test_c(): pass\n"
    done = run({"test_a.py": source})
    assert done.ret == 2
    assert done.says(
        "# 1 test fails: ",
        "assert 1 == 2",
        "This run is incomplete (`interrupted by Ctrl-C at test_a.py:2 in test_b`): 2 tests did not run.",
    )


THREE = "def test_a(): assert 1 == 2\ndef test_b(): assert 3 == 4\ndef test_c(): pass\n"


@pytest.mark.parametrize(
    ("option", "failures", "not_run"),
    [("-x", 1, "2 tests"), ("--maxfail=1", 1, "2 tests"), ("--maxfail=2", 2, "1 test")],
)
def test_run_that_stops_at_failures_says_that_it_is_incomplete(run, option, failures, not_run):
    done = run({"test_a.py": THREE}, option)
    assert done.ret == 1
    assert done.says(f"`stopping after {failures} failures`): {not_run} did not run.", "assert 1 == 2")
    assert done.report["counts"]["failed"] == failures
    assert done.says("Rerun just the failing tests: `pytest --loop-close-failed`")


def test_exit_status_that_a_conftest_sets_is_the_one_told(run):
    conftest = "def pytest_sessionfinish(session):\n    session.exitstatus = 12\n"
    done = run({"conftest.py": conftest, "test_a.py": FINE})
    assert done.ret == 12
    assert done.title == "# No known failure in the output, 1 passes (exit 12)"
    assert done.report["verdict"] == "error"


@pytest.mark.parametrize(
    "hook", ["pytest_sessionfinish(session)", "pytest_terminal_summary(terminalreporter)"]
)
def test_wrapper_that_raises_at_the_end_of_the_session_is_an_internal_error(run, hook):
    conftest = f"""
    import pytest
    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def {hook}:
        yield
        raise KeyError("wrapper broke")
    """
    done = run({"conftest.py": conftest, "test_a.py": FINE}, own_process=True)
    assert done.ret == 1
    assert done.title == "# 1 internal error, 1 passes: KeyError at conftest.py:6"
    assert done.says("wrapper broke")


def test_error_while_plugins_are_unconfigured_is_told(run):
    conftest = "def pytest_unconfigure(): raise KeyError('unconfigure broke')\n"
    done = run({"conftest.py": conftest, "test_a.py": FINE}, own_process=True)
    assert done.ret == 1
    assert done.title == "# 1 internal error, 1 passes: KeyError at conftest.py:1"
    assert done.summary


def test_ctrl_c_at_the_end_of_the_session_is_no_green(run):
    conftest = "def pytest_sessionfinish(): raise KeyboardInterrupt\n"
    done = run({"conftest.py": conftest, "test_a.py": FINE}, own_process=True)
    assert done.ret != 0
    assert done.title.startswith("# The run is incomplete")


PRODUCT = "def half(n):\n    return n / 2\n\ndef other(n):\n    n += 1\n    n += 2\n    return n\n"
HALF = "from product import half\ndef test_a(): assert half(2) == 1\ndef test_b(): pass\n"


def test_coverage_below_the_limit_is_the_reason_of_the_exit_status(run):
    pytest.importorskip("pytest_cov")
    files = {"product.py": PRODUCT, "test_a.py": HALF.partition("def test_b")[0]}
    done = run(files, "--cov=product", "--cov-fail-under=90", plugins=("pytest_cov",), own_process=True)
    assert done.ret == 1
    assert done.title.startswith("# 1 coverage error, 1 passes")
    assert done.says("Required test coverage of 90% not reached. Total coverage: ")
    assert done.report["stall_reason"] == "1 coverage shortfall detected"


@pytest.mark.parametrize(
    "plugin", ["terminal", "cacheprovider", "logging", "junitxml", "warnings", "assertion"]
)
def test_prompt_does_not_need_the_plugin(run, plugin):
    done = run({"test_a.py": "def test_a(): assert 1 == 2\n"}, "-p", f"no:{plugin}")
    assert done.ret == 1
    # pytest 8.0 cannot compare without a terminal: its own AttributeError takes the place of the assertion.
    is_broken = plugin == "terminal" and pytest.version_tuple < (8, 1)
    assert (
        done.title == f"# 1 test fails: {'AttributeError' if is_broken else 'AssertionError'} at test_a.py:1"
    )


@pytest.mark.slow
def test_the_failing_tests_alone_have_no_limit_of_coverage(run):
    """All tests reach it, and it is for all tests: the command for those that fail can pass."""
    pytest.importorskip("pytest_cov")
    both = HALF.replace("import half", "import half, other").replace("pass\n", "assert other(1) == 4\n")
    files = {"pytest.ini": "[pytest]\naddopts = --cov=product --cov-fail-under=90\n", "test_a.py": both}
    ours = {"remembers": True, "plugins": ("pytest_cov",), "own_process": True}
    run({**files, "product.py": PRODUCT.replace("n / 2", "n / 3")}, **ours)
    failed = ("--loop-close-failed", "--loop-close-json=report.json")
    done = run({"product.py": PRODUCT}, asked=failed, **ours)
    assert (done.ret, done.title) == (0, "# The tests pass: 1 passed")
    assert done.says("This run chose its tests: `--loop-close-failed`.")
    done = run({"product.py": PRODUCT + "\ndef more(n):\n" + "    n += 1\n" * 9}, **ours)
    assert done.title.startswith("# 1 coverage error, 2 pass")
