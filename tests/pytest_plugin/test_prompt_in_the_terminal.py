"""Under an agent the terminal has the prompt in place of pytest's failures and short summary; all else stays."""

import re
from xml.etree import ElementTree

import pytest

from loop_close.files import without_signature

PROJECT = {
    "shop.py": "def cost(kg):\n    rates = None\n    return rates[kg]\n",
    "test_shop.py": """
    import warnings
    import pytest
    import shop

    @pytest.fixture
    def broken():
        raise LookupError("no shelf")

    def test_one(): shop.cost(1)
    def test_two(broken): pass
    def test_three(): print("said by three")
    def test_four(): warnings.warn("an old scale")
    @pytest.mark.xfail(reason="not yet", strict=False)
    def test_five(): assert 0
    """,
    "conftest.py": """
    def pytest_terminal_summary(terminalreporter):
        terminalreporter.section("shelves")
        terminalreporter.line(f"{len(terminalreporter.stats['failed'])} empty")
    """,
}
COUNTS = r"=+ 1 failed, 2 passed, 1 xfailed, 1 warning, 1 error in [\d.]+s =+"
FAILURES = re.compile(r"^(=+ (FAILURES|ERRORS) =+|FAILED .*|ERROR .*|E  +\w.*)$", re.MULTILINE)


@pytest.fixture
def agent(monkeypatch):
    monkeypatch.setenv("CLAUDECODE", "1")


def shows_the_prompt(done):
    """The prompt is there once, nothing says the same, and our lines below it say nothing."""
    text = without_signature(done.prompt)
    assert done.stdout.count(text.splitlines()[0]) == done.stdout.count(text) == 1, done.stdout
    assert not FAILURES.search(done.stdout.replace(text, ""))
    assert done.summary == []
    assert done.ret == 1
    return True


def shows_failures(done):
    """All of pytest's own, and no prompt."""
    assert {"FAILURES", "ERRORS"} <= {found[1] for found in FAILURES.findall(done.stdout)}
    assert "\nFAILED test_shop.py::test_one" in done.stdout
    assert done.title not in done.stdout
    assert done.ret == 1
    return True


@pytest.mark.parametrize(
    ("options", "plugins"),
    [((), ()), (("-s", "-v"), ()), (("-n", "2"), ("xdist",))],
)
def test_an_agent_reads_the_prompt_in_place_of_the_failures(run, agent, options, plugins):
    done = run(PROJECT, *options, plugins=plugins)
    assert shows_the_prompt(done)
    lines = done.stdout.rstrip("\n").splitlines()
    assert "test session starts" in lines[0]
    at = [
        lines.index(done.title),
        *(n for n, line in enumerate(lines) if re.search(" warnings | shelves ", line)),
    ]
    assert at == sorted(at)
    assert len(at) == 3
    assert "1 empty" in lines
    assert re.fullmatch(COUNTS, lines[-1])


@pytest.mark.parametrize(
    ("options", "shown"),
    [
        ("-rxs", "XFAIL test_shop.py::test_five - not yet"),
        ("-rP", "said by three"),
        ("--durations=1", "slowest 1 durations"),
    ],
)
def test_what_else_was_asked_for_stays(run, agent, options, shown):
    done = run(PROJECT, options)
    # With -rx, pytest 8.0 shows tracebacks of what was expected to fail.
    assert not re.search(r"^(=+ (FAILURES|ERRORS) =+$|FAILED |ERROR )", done.stdout, re.MULTILINE)
    assert shown in done.stdout.partition(without_signature(done.prompt))[2]


def test_a_green_run_has_one_line_of_ours(run, agent):
    done = run({"test_a.py": "def test_a(): pass\n"})
    assert done.summary == done.stdout.splitlines()[-1:] == ["loop-close: 1 passed"]
    assert done.title not in done.stdout


def test_counts_that_our_line_has_not_are_those_of_pytest(run, agent):
    warns = "import warnings\n\ndef test_a():\n    warnings.warn('old')\n"
    done = run({"test_a.py": warns}, "--disable-warnings")
    assert re.search(r"1 passed, 1 warning in .*\nloop-close: 1 passed$", done.stdout.rstrip())


def test_what_pytest_says_stays_where_another_plugin_makes_the_run_fail(run, agent):
    fails = "def pytest_sessionfinish(session):\n    session.exitstatus = 1\n"
    assert "1 passed in" in run({"conftest.py": fails, "test_a.py": "def test_a(): pass\n"}).stdout


@pytest.mark.parametrize("options", ["--loop-close-terminal=full", "--tb=short", "--tb short"])
def test_who_asks_for_failures_gets_them(run, agent, options):
    assert shows_failures(run(PROJECT, *options.split()))


def test_a_person_sees_failures_and_gets_the_prompt_by_the_setting(run, pytester):
    assert shows_failures(run(PROJECT))
    setting = "[tool.pytest.ini_options]\n[tool.loop-close]\nterminal = 'prompt'\n"
    assert shows_the_prompt(run({"pyproject.toml": setting}, "--tb=short"))
    assert shows_failures(run({}, "--loop-close-terminal=full"))


def test_the_run_of_failing_tests_is_asked_for_too(run, agent):
    done = run(PROJECT, asked=("--loop-close-failed",))
    assert not FAILURES.search(done.stdout.replace(without_signature(done.prompt), ""))
    assert done.summary == ["loop-close: no failing test is recorded: all run"]


def test_what_was_not_asked_for_leaves_the_output_to_pytest(run, agent):
    done = run(PROJECT, asked=(), is_prompt=False)
    assert {"FAILURES", "ERRORS"} <= {found[1] for found in FAILURES.findall(done.stdout)}
    assert "loop-close: " not in done.stdout


def test_junit_xml_is_the_same(run, agent):
    def texts():
        cases = ElementTree.parse("junit.xml").iter("testcase")
        return [(case.get("name"), each.tag, each.attrib, each.text) for case in cases for each in case]

    run(PROJECT, "--junitxml=junit.xml")
    prompt = texts()
    run({}, "--junitxml=junit.xml", "--loop-close-terminal=full")
    assert len(prompt) == 3
    assert prompt == texts()


def test_a_path_that_does_not_exist_shows_no_prompt(run, agent):
    before = run(PROJECT).prompt
    done = run({"conftest.py": ""}, "nothing.py")
    assert done.ret == 4
    assert done.prompt == before
    assert not re.search("^# ", done.stdout, re.MULTILINE)
    assert done.summary == ["loop-close: no test ran; nextprompt.md still shows the last run"]


def test_without_a_terminal_nothing_is_printed(run, agent):
    done = run(PROJECT, "-p", "no:terminal")
    assert done.summary == []
    assert "FAILURES" not in done.stdout
    assert done.says("# 1 test fails, 1 error")


def test_a_prompt_that_cannot_be_written_is_shown_once(run, agent):
    done = run(PROJECT | {"nextprompt.md": "mine\n"}, is_prompt=False)
    assert done.stdout.count("\n# 1 test fails, 1 error, ") == 1
    assert not re.search("FAILURES|ERRORS", done.stdout)
    (line,) = done.summary
    assert line.startswith("loop-close: cannot write nextprompt.md: nextprompt.md exists")


def test_a_fault_of_ours_leaves_all_to_pytest(run, agent, monkeypatch):
    def broken(*given, **named):
        raise RuntimeError("our own fault")

    monkeypatch.setattr("loop_close.app.compose", broken)
    done = run(PROJECT, is_prompt=False)
    assert shows_failures(done)
    (line,) = done.summary
    assert line.startswith("loop-close: internal error of loop-close: RuntimeError: our own fault")


def test_a_terminal_that_does_not_take_the_prompt_gets_the_failures(run, agent):
    conftest = """
    def pytest_sessionstart(session):
        reporter = session.config.pluginmanager.get_plugin("terminalreporter")
        def write(content, write=reporter.write, **more):
            if content.startswith("# "):
                raise ValueError("no such character")
            write(content, **more)
        reporter.write = write
    """
    done = run(PROJECT | {"conftest.py": conftest})
    assert shows_failures(done)
    assert len(done.summary) == 2


def test_no_frame_of_ours_is_on_a_traceback_of_a_plugin(run, agent):
    conftest = "def pytest_terminal_summary():\n    raise RuntimeError('their fault')\n"
    done = run(PROJECT | {"conftest.py": conftest}, own_process=True)
    assert "RuntimeError: their fault" in done.stdout + done.stderr
    assert "loop_close" not in done.stdout + done.stderr
    assert done.says("their fault")


def test_an_exit_status_that_changes_later_is_in_the_prompt_and_told(run, agent):
    conftest = """
    import pytest
    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_sessionfinish(session):
        yield
        session.exitstatus = 7
    """
    done = run({"conftest.py": conftest, "test_a.py": "def test_a(): pass\n"})
    assert done.ret == 7
    assert done.says("(exit 7)")
    assert len(done.summary) == 2
    assert "next prompt: nextprompt.md" in done.summary[1]
