"""What is known of one test, by exit code and in a line."""

import json
import os
import subprocess
import sys

import pytest
from cli.cli_harness import environment, loop_close
from cli.remembered import NO_RUN, called, document
from hypothesis import given
from hypothesis import strategies as st

from loop_close.cli.ask import CODES, Remains, nearest, reply_to
from loop_close.memory import Edits, FailureRecord, Run
from loop_close.progress.advance import advance
from loop_close.settings import KnownEntry

TEST = "test_a.py::test_a"
FILES = {"test_a.py": "def test_a(): ...\n\n\ndef test_b(): ...\n"}


def ran(*outcomes, edit="effective", source="pytest", files=FILES):
    """A source whose runs each came out so for the test: ``F`` failed, ``K`` known, ``.`` passed, ``-`` did not run."""
    runs, episode = [], advance_none()
    for number, outcome in enumerate(outcomes, 1):
        watched = dict.fromkeys(episode.tests, "passed") if outcome == "." else {}
        run = Run(
            number=number,
            source=source,
            marks=(FailureRecord(test=TEST, exact="e", shape="s"),) if outcome == "F" else (),
            known=(TEST,) if outcome == "K" else (),
            outcomes=watched,
            is_full=outcome != "-",
            selection="-k other" if outcome == "-" else "",
            is_good=outcome != "F",
            edits=Edits(kind=edit),
        )
        episode = advance(episode, run).episode
        runs.append(run)
    return Remains(source=source, runs=runs, episode=episode, baseline=ids(files), ended=len(runs))


def advance_none():
    return advance.__globals__["Episode"]()


def ids(files):
    return {
        f"{file}::{line.split()[1][:-3]}"
        for file, text in files.items()
        for line in text.splitlines()
        if line
    }


def answered(*sources, test=TEST, asked="", live=(), files=FILES):
    return reply_to((test,), asked, sources, files, live)


@pytest.mark.parametrize(
    ("outcomes", "edit", "state", "why"),
    [
        (".", "effective", "passing", "did not fail"),
        ("F", "effective", "new", "fails, and is not known to have passed"),
        ("FFF", "effective", "new", "fails since run 1, and is not known to have passed"),
        (".F", "effective", "broken", "fails, and passed before"),
        (".F-F", "effective", "broken", "fails since run 2, and passed before"),
        ("F.F", "effective", "broken", "fails, and passed before"),
        ("F.", "effective", "passing", "did not fail"),
        ("F-", "effective", "new", "fails, and is not known to have passed"),
        ("F.", "none", "flaky", "passed and failed on the same code, in runs 1 and 2"),
        (".F", "none", "flaky", "passed and failed on the same code, in runs 1 and 2"),
        (".FF", "ineffective", "flaky", "passed and failed on the same code, in runs 1 and 2"),
        ("FF", "none", "new", "fails since run 1, and is not known to have passed"),
        ("-", "effective", "unknown test", "is in no run of all tests of this source"),
    ],
)
def test_what_the_runs_say(outcomes, edit, state, why):
    found = answered(ran(*outcomes, edit=edit))
    assert (found.state, found.why) == (state, why)


def test_a_known_failure_is_one_while_an_entry_matches():
    entry = KnownEntry(test="test_a.py::*", issue="#12", until="2999-01-01")
    found = answered(ran("K"), live=[entry])
    assert (found.state, found.why) == ("known", "fails, and does not count (#12; until 2999-01-01)")
    assert answered(ran("K"), live=[KnownEntry(cause="1a2b3c4d")]).state == "known"
    assert answered(ran("K")).state == "new"
    assert answered(ran("F"), live=[entry]).state == "new"  # it was added since, or no person accepted it


def test_a_test_that_fails_in_another_source():
    here, other = ran(".", source="pytest:py312"), ran("F", source="pytest:py311")
    found = answered(here, other, asked="pytest:py312")
    assert (found.state, found.source, found.why) == (
        "failing elsewhere",
        "pytest:py311",
        "fails, but not in pytest:py312",
    )
    assert answered(here, other, asked="pytest:py311").state == "new"


def test_without_a_source_the_newest_that_ran_the_test_is_asked():
    check = Remains(source="mypy", runs=[Run(number=1, source="mypy", tells_outcomes=False)], ended=99)
    assert answered(ran("F"), check).source == "pytest"
    assert answered(ran("F"), check, asked="mypy").state == "failing elsewhere"


def test_a_test_function_stands_for_its_cases():
    case = ran("F", ".")
    mark = FailureRecord(test=f"{TEST}[1]", exact="e", shape="s")
    case = Remains(source="pytest", runs=[Run(number=1, marks=(mark,))], baseline=case.baseline)
    assert answered(case).state == "new"
    assert answered(case, test=f"{TEST}[1]").state == "new"


def test_known_cases_of_a_function_are_asked_one_by_one():
    run = Run(number=1, known=(f"{TEST}[1]", f"{TEST}[2]"))
    cases = Remains(source="pytest", runs=[run])
    both, first = KnownEntry(test=f"{TEST}[*]", issue="#12"), KnownEntry(test=f"{TEST}[1]")
    assert answered(cases, live=[both]).why == "fails, and does not count (#12)"
    assert [answered(cases, test=f"{TEST}[{n}]", live=[first]).state for n in (1, 2)] == ["known", "new"]
    assert answered(cases, live=[first]).state == "new"


def test_a_test_that_is_gone_is_unknown():
    found = answered(ran("F", ".", "."), files={"test_a.py": "def test_b(): ...\n"})
    assert (found.state, found.nearest) == ("unknown test", ("test_a.py::test_b",))


@given(st.lists(st.sampled_from("FK.-"), min_size=1, max_size=8), st.sampled_from(["none", "effective"]))
def test_every_history_has_one_answer(outcomes, edit):
    found = answered(ran(*outcomes, edit=edit))
    assert found.state in CODES
    told = [outcome for outcome in outcomes if outcome != "-"]
    if told and edit == "effective":
        assert (found.state == "passing") == (told[-1] == ".")
    assert len(set(CODES.values())) == len(CODES)


@given(test=st.text(max_size=30), known=st.sets(st.text(max_size=10), max_size=5))
def test_the_nearest_ids_are_some_of_those_there_are(test, known):
    found = nearest([test], known)
    assert set(found) <= known
    assert len(found) <= 3


def run(folder, *words):
    command = [sys.executable, "-B", "-m", "pytest", "-q", "-p", "no:cacheprovider", "--loop-close", *words]
    return subprocess.run(command, cwd=folder, env=environment(), capture_output=True, check=False).returncode


@pytest.fixture
def project(tmp_path):
    tests = tmp_path / "tests"
    tests.mkdir()
    (tmp_path / "pyproject.toml").write_text(
        "[tool.loop-close]\nknown = [{test = 'tests/test_a.py::test_known'}]\n"
    )
    (tests / "test_a.py").write_text(
        "def test_fine(): pass\ndef test_red(): assert 0\ndef test_known(): assert 0\n"
        "class TestC:\n    def test_in_class(self): pass\n"
    )
    run(tmp_path)
    return tmp_path


@pytest.mark.slow
def test_it_is_a_command(project):
    for test, state in (
        ("tests/test_a.py::test_fine", "passing"),
        ("tests/test_a.py::TestC::test_in_class", "passing"),
        ("tests/test_a.py::test_red", "new"),
        ("tests/test_a.py::test_known", "known"),
        ("tests/test_a.py::test_rde", "unknown test"),
    ):
        done = loop_close("ask", test, cwd=project)
        assert done.returncode == CODES[state]
        assert done.stdout.decode().startswith(f"{state}: {test}")
        assert done.stdout.count(b"\n") == 1
        assert done.stderr == b""
    assert b"nearest: tests/test_a.py::test_red, " in done.stdout


@pytest.mark.slow
def test_it_works_from_sub_folders(project, monkeypatch):
    monkeypatch.chdir(project / "tests")
    for test in ("test_a.py::test_red", "./test_a.py::test_red", "tests/test_a.py::test_red"):
        assert called("ask", test)[:2] == (
            3,
            "new: tests/test_a.py::test_red fails, and is not known to have passed (pytest, run 1)\n",
        )
    assert called("ask", project / "tests" / "test_a.py::test_red")[0] == 3


@pytest.mark.slow
def test_json(project, monkeypatch):
    monkeypatch.chdir(project)
    assert document("ask", "tests/test_a.py::test_fine") == (
        0,
        {
            "schema": "loop-close.ask/1",
            "test": "tests/test_a.py::test_fine",
            "state": "passing",
            "source": "pytest",
            "run": 1,
            "explanation": "did not fail",
            "edited": [],
            "nearest": [],
        },
    )


@pytest.mark.slow
def test_what_was_edited_since_is_said(tmp_path, monkeypatch):
    (tmp_path / "shop.py").write_text("def total():\n    return 1\n")
    (tmp_path / "test_a.py").write_text("import shop\n\n\ndef test_a():\n    assert shop.total() == 1\n")
    monkeypatch.chdir(tmp_path)
    words = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--loop-close"]
    subprocess.run(words, env=environment(), check=True, capture_output=True)
    said = f"passing: {TEST} did not fail (pytest, run 1)"
    assert called("ask", TEST)[:2] == (0, f"{said}\n")
    (tmp_path / "shop.py").write_text("def total():\n    return 2\n")
    assert called("ask", TEST)[:2] == (0, f"{said}; edited since all tests ran: shop.py\n")
    assert document("ask", TEST)[1]["edited"] == ["shop.py"]


@pytest.mark.slow
def test_what_is_asked_is_made_safe(project, monkeypatch):
    monkeypatch.chdir(project)
    code, said, _ = called("ask", "tests/\x1b[31m\u202etest_a.py::x\n::error::y")
    assert code == 7
    assert said.count("\n") == 1
    assert said.isprintable() or said[:-1].isprintable()


@pytest.mark.slow
def test_wrong_usage(project, tmp_path, monkeypatch):
    monkeypatch.chdir(project)
    assert called("ask")[0] == 64
    assert called("ask", "a", "b")[0] == 64
    code, said, complaint = called("ask", "a", "--source", "tox")
    assert (code, said, complaint) == (64, "", "loop-close: no runs of source 'tox'; known: pytest\n")
    empty = tmp_path / "empty"
    empty.mkdir()
    (empty / ".git").mkdir()
    monkeypatch.chdir(empty)
    assert called("ask", "a")[1:] == ("", NO_RUN)


@pytest.mark.slow
def test_the_help_names_every_code(project):
    told = " ".join(loop_close("ask", "--help", cwd=project).stdout.decode().split())
    for state, code in CODES.items():
        assert f"{code} {'it passes' if state == 'passing' else state}" in told


@pytest.mark.slow
def test_the_history_stays_as_it_is(project, monkeypatch):
    monkeypatch.chdir(project)
    before = (project / ".loop-close/history.sqlite3").read_bytes()
    called("ask", "tests/test_a.py::test_red")
    assert (project / ".loop-close/history.sqlite3").read_bytes() == before
    assert json.loads(json.dumps(sorted(os.listdir(project / ".loop-close"))))
