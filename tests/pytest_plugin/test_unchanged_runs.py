"""A run with the plugin is the run without it: nothing of ours is on a traceback, and the exit status stays."""

import re
import subprocess
import sys

import pytest

FIXTURES = """
import pytest
@pytest.fixture(scope="session")
def in_session(): raise RuntimeError("session is down")
@pytest.fixture(scope="module")
def in_module():
    yield
    raise RuntimeError("module does not close")
@pytest.fixture
def in_test(): raise RuntimeError("test is down")
"""
TESTS = """
def test_session(in_session): pass
def test_module(in_module): pass
def test_test(in_test): pass
def test_call(): {}["key"]
def test_asks(request): request.getfixturevalue("in_test")
def test_asks_for_a_shared_one(request): request.getfixturevalue("in_session")
"""
RAISES = "def {hook}:\n    raise KeyError('plugin broke')\n"
HOOKS = [
    "pytest_sessionstart(session)",
    "pytest_runtestloop(session)",
    "pytest_runtest_protocol(item)",
    "pytest_runtest_logreport(report)",
    "pytest_fixture_setup(fixturedef)",
    "pytest_sessionfinish(session)",
    "pytest_configure(config)",
    "pytest_unconfigure(config)",
]
#: Plugins that print something else in each run.
LEFT_OUT = [f"-pno:{name}" for name in ("asyncio", "cacheprovider", "randomly", "clarity", "sugar")]
_OURS = re.compile(r"^loop-close: ")


def output(folder, *words):
    """What pytest shows of a run, without what is ours by design and what differs from run to run."""
    command = [sys.executable, "-m", "pytest", *LEFT_OUT, *words]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    lines = [line for line in f"{done.stdout}\n{done.stderr}".splitlines() if not _OURS.match(line)]
    return done.returncode, [re.sub(r"0x[0-9a-f]+|in [\d.]+s|pid=\d+", "…", line) for line in lines]


def frames(lines):
    """Lines of a traceback that name a file of the plugin."""
    return [
        line
        for line in lines
        if re.search(r"loop_close[/\\]\w+.*(?::\d+|, line \d+)|^self = <loop_close", line)
    ]


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    return tmp_path


@pytest.mark.slow
@pytest.mark.parametrize("options", [(), ("--tb=native",), ("--full-trace",), ("--tb=short", "-rA")])
def test_errors_of_fixtures_and_tests_are_shown_as_without_us(folder, options):
    (folder / "conftest.py").write_text(FIXTURES)
    (folder / "test_a.py").write_text(TESTS)
    plain = output(folder, *options, "--junitxml=plain.xml")
    ours = output(folder, *options, "--loop-close", "--loop-close-history=off", "--junitxml=ours.xml")
    assert frames(ours[1]) == []
    assert frames((folder / "ours.xml").read_text().splitlines()) == []
    assert ours[0] == plain[0] == 1
    if not {"--full-trace", "--tb=native"} & {
        *options
    }:  # which show pluggy's own frames: a wrapper more, or less
        assert [x for x in ours[1] if ".xml" not in x] == [x for x in plain[1] if ".xml" not in x]


@pytest.mark.slow
@pytest.mark.parametrize("hook", HOOKS)
def test_internal_errors_show_no_frame_of_ours(folder, hook):
    (folder / "conftest.py").write_text(RAISES.replace("{hook}", hook))
    (folder / "test_a.py").write_text("import pytest\n@pytest.fixture\ndef f(): pass\ndef test_a(f): pass\n")
    plain = output(folder)
    ours = output(folder, "--loop-close")
    assert frames(ours[1]) == []
    assert ours[0] == plain[0] != 0
    assert any("plugin broke" in line for line in ours[1])
