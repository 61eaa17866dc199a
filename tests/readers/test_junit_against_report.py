"""One run in two forms: what pytest's file says is what the plugin saw.

The file does not hold, and so is not compared: a function's class, the source of functions, values and their
origins, which loosely expected failures passed, warnings, what was not run, and the descriptions of subtests.
"""

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from loop_close.facts import innermost, links
from loop_close.readers.junit_xml import read_junit

ROOT = Path(__file__).parent.parent.parent
PROJECTS = {
    "sixteen": ROOT / "tests" / "projects" / "sixteen",
    "shop": ROOT / "examples" / "shop",
}
FAMILIES = {"xunit2": 0, "xunit1": 1}


@pytest.fixture(scope="module", params=[(p, f) for p in PROJECTS for f in FAMILIES], ids="-".join)
def run(request, tmp_path_factory):
    project, family = request.param
    folder = tmp_path_factory.mktemp("run") / project
    shutil.copytree(
        PROJECTS[project], folder, ignore=shutil.ignore_patterns(".*", "__pycache__", "nextprompt.md")
    )
    options = [
        "--loop-close",
        "--loop-close-json=report.json",
        "--junitxml=junit.xml",
        f"-ojunit_family={family}",
    ]
    command = [sys.executable, "-m", "pytest", "-q", *options]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    assert done.returncode == 1, done.stdout
    report = json.loads((folder / "report.json").read_text(encoding="utf-8"))
    return report, read_junit("junit.xml", [(folder / "junit.xml").read_bytes()], folder.as_posix())


def shown(message):
    """As the report shows messages: without addresses, and the interpreter by its name."""
    prefix = Path(sys.executable).parent.parent.as_posix()
    return re.sub(r"0x[0-9a-f]{6,}", "0x…", message).replace(f"{prefix}/", "<python>/")


def told_by_file(failure):
    for link in links(failure.raised):
        frame = innermost(link)
        place = (
            (frame.file, frame.line, frame.function.rpartition(".")[2]) if frame is not None else ("", 0, "")
        )
        yield link.type, shown(link.message), *place


def told_by_report(evidence):
    for link in evidence["chain"]:
        function = link["function"].rpartition(".")[2]
        yield link["exception"], link["message"], link["file"], link["line"], function


@pytest.mark.slow
def test_counts_are_equal(run):
    report, reading = run
    assert reading.counts.failed > 15
    for name in ("passed", "failed", "errors", "skipped", "xfailed", "collected"):
        assert getattr(reading.counts, name) == report["counts"][name]


@pytest.mark.slow
def test_node_ids_phases_exceptions_messages_and_places_are_equal(run):
    report, reading = run
    by_report = {(e["test"], e["phase"]): list(told_by_report(e)) for e in report["evidence"] if "phase" in e}
    by_file = {(f.nodeid, f.phase): list(told_by_file(f)) for f in reading.failures}
    assert len(by_file) > 30
    assert by_file == by_report


def test_the_file_is_read_without_problems(run):
    _, reading = run
    assert reading.is_pytest
    assert (reading.problems, reading.incomplete) == ((), "")
