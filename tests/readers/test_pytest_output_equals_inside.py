"""What is read from a run's output, or from its JUnit file, equals what the plugin saw from inside of the same run.

What the styles hold: ``auto``, ``long``, ``short`` and ``native`` hold all but the place of a ``pytest.fail``
without traceback. ``line`` holds no function, and of errors no place. ``no`` holds the summary alone: the names of
the tests and, up to the width of the terminal, the first line of the message.
"""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from msgspec.structs import asdict

from loop_close.facts import innermost, links
from loop_close.prompt import safe
from loop_close.readers.junit_xml import read_junit
from loop_close.readers.pytest_output import read_pytest
from loop_close.text import sanitize

ROOT = Path(__file__).parent.parent.parent
FAMILIES = ROOT / "tests" / "projects" / "families"
QUICK = [FAMILIES / "wrapper_three_causes", FAMILIES / "teardown_shared", FAMILIES / "syntax_error_src"]
EVERY = [
    *sorted(p for p in FAMILIES.iterdir() if p.is_dir()),
    ROOT / "tests/projects/sixteen",
    ROOT / "examples/shop",
]
WHOLE = [
    "",
    "--tb=short",
    "--tb=native",
    "--tb=long -vv -l",
    "-q -rA",
    "-qq",
    "-v -rN",
    "-n2 -v",
    "--color=yes",
]
#: Of a function that did not take its arguments the text has the message, and no frame.
REFUSED = re.compile(r"\w\(\) (?:got|missing|takes) ")
#: pytest itself leaves out the frames of an endless recursion; the path of Python is not in the text.
NOT_HELD = {"test_set_of_bearings", "test_status"}


def run(project, options, folder):
    """The output of a run, and its report from inside."""
    root = folder / "project"
    shutil.copytree(
        project, root, ignore=shutil.ignore_patterns("__pycache__", ".pytest_cache", ".loop-close")
    )
    environment = {k: v for k, v in os.environ.items() if k not in ("CI", "BUILD_NUMBER", "PYTEST_ADDOPTS")}
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "--loop-close"]
    done = subprocess.run(
        [*command, "--loop-close-json=report.json", *options.split()],
        cwd=root,
        env={**environment, "COLUMNS": "80", "PYTHONDONTWRITEBYTECODE": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        timeout=120,
        check=False,
    )
    report = json.loads((root / "report.json").read_text(encoding="utf-8"))
    return read_pytest(sanitize(done.stdout.decode("utf-8", "replace")), str(root)), report


def inside(report):
    """Chains by test, phase and subtest; each link as (exception, message, file, line, function)."""
    found = {}
    for item in report["evidence"]:
        if item["phase"]:
            chain = [
                tuple(link[k] for k in ("exception", "message", "file", "line", "function"))
                for link in item["chain"]
            ]
            found[item["test"], item["phase"], item["subtest"]] = [_link(*link) for link in chain]
    return found


def outside(reading):
    found = {}
    for failure in reading.failures:
        chain = []
        for link in links(failure.raised):
            frame = innermost(link)
            place = (frame.file, frame.line, frame.function) if frame is not None else ("", 0, "")
            chain.append(_link(safe(link.type), safe(link.message), *place))
        found[safe(failure.nodeid), failure.phase, safe(failure.subtest)] = chain
    return found


def _link(exception, message, file, line, function):
    """Pytest's text has no class before a function's name, and names a comprehension as itself."""
    short = function.rpartition(".")[2]
    return exception, message.rstrip(), file, line, "" if short.startswith("<") else short


def held(chains, style):
    kept = {key: chain for key, chain in chains.items() if key[0].rpartition("::")[2] not in NOT_HELD}
    kept = {k: [link[:2] if REFUSED.search(link[1]) else link for link in chain] for k, chain in kept.items()}
    if style == "--tb=native":  # it names comprehensions, which are frames of their own before Python 3.12
        kept = {key: [link[:4] for link in chain] for key, chain in kept.items()}
    return kept


def check_whole(project, options, folder):
    reading, report = run(project, options, folder)
    wanted = held(inside(report), options)
    assert held(outside(reading), options) == wanted
    assert set(outside(reading)) == set(inside(report))
    if options != "-qq":
        assert reading.is_certain
        unknown = {"collected", "not_run"} if "-q" in options else set()
        counts = {k: v for k, v in asdict(reading.counts).items() if k not in unknown}
        assert counts == {k: v for k, v in report["counts"].items() if k not in unknown}
        assert safe(reading.incomplete) == report["incomplete"]


@pytest.mark.slow
@pytest.mark.parametrize("options", ["", "--tb=native", "-q -rA"])
@pytest.mark.parametrize("project", QUICK, ids=lambda p: p.name)
def test_whole_styles_equal_the_inside(project, options, tmp_path):
    check_whole(project, options, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("project", "options"),
    [(p, style) for i, p in enumerate(EVERY) for j, style in enumerate(WHOLE) if i % 3 == j % 3],
    ids=lambda each: each if isinstance(each, str) else each.name,
)
def test_every_whole_style_equals_the_inside_of_a_third_of_the_projects(project, options, tmp_path):
    check_whole(project, options, tmp_path)


@pytest.mark.slow
def test_lines_hold_exceptions_and_messages(tmp_path):
    reading, report = run(FAMILIES / "wrapper_three_causes", "--tb=line", tmp_path)
    assert {k: c[0][:2] for k, c in outside(reading).items()} == {
        k: c[0][:2] for k, c in inside(report).items()
    }
    first = {key: chain[0][2:4] for key, chain in outside(reading).items()}
    assert first == {key: chain[0][2:4] for key, chain in inside(report).items()}


@pytest.mark.slow
def test_the_summary_holds_names_and_first_words(tmp_path):
    reading, report = run(FAMILIES / "wrapper_three_causes", "--tb=no", tmp_path)
    wanted = inside(report)
    assert set(outside(reading)) == set(wanted)
    for failure in reading.failures:
        whole = wanted[safe(failure.nodeid), failure.phase, ""][0][1]
        assert whole.startswith(safe(failure.message).removesuffix("..."))


@pytest.mark.slow
@pytest.mark.parametrize("family", ["xunit1", "xunit2"])
@pytest.mark.parametrize("project", EVERY[-2:], ids=lambda p: p.name)
def test_the_junit_file_equals_the_inside(project, family, tmp_path):
    """It does not hold the class of a function and the descriptions of subtests."""
    _, report = run(project, f"--junitxml=junit.xml -ojunit_family={family}", tmp_path)
    root = tmp_path / "project"
    reading = read_junit("junit.xml", [(root / "junit.xml").read_bytes()], root.as_posix())
    assert (reading.is_pytest, reading.problems, reading.incomplete) == (True, (), "")
    assert len(reading.failures) > 15
    assert set(outside(reading)) == set(inside(report))
    assert held(outside(reading), "") == held(inside(report), "")
    for name in ("passed", "failed", "errors", "skipped", "xfailed", "collected"):
        assert getattr(reading.counts, name) == report["counts"][name]
