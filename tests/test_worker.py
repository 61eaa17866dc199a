"""What a run of a check comes to: success is what every process of it reported, to the end."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec import structs

from loop_close import app, baseline, gate, worker
from loop_close.model import Counts, Failure, Observation
from loop_close.parts import Part, encode
from loop_close.records import PytestContext, Run

TESTS, MAKE = ("/bin/pytest",), ("/bin/make", "test")
RUN = Run(id="1", command=TESTS)
CONTEXT = PytestContext(executable="/py")
FAILURE = Failure(nodeid="test_a.py::test_a", phase="call", message="boom")


def reported(
    exit_code: int = 0, *, passed: int = 1, failures: tuple[Failure, ...] = (), incomplete: str = ""
) -> Part:
    seen = Observation(
        exit_code=exit_code,
        counts=Counts(passed=passed),
        failures=failures,
        incomplete=incomplete,
        outcomes={"test_a.py::test_a": "passed"},
    )
    return Part(observation=seen, context=CONTEXT)


def read(exit_code: int = 0, *, passed: int = 0, failures: tuple[Failure, ...] = ()) -> Part:
    seen = Observation(exit_code=exit_code, counts=Counts(passed=passed), failures=failures)
    return Part(observation=seen)


@pytest.mark.parametrize(
    ("command", "exit_code", "parts", "is_green"),
    [
        (TESTS, 0, [reported()], True),
        (TESTS, 1, [reported()], False),  # it failed after the session
        (MAKE, 0, [reported(1, failures=(FAILURE,))], False),  # pytest || true
        (MAKE, 0, [reported(), reported(5, passed=0)], False),  # no tests in one of two
        (MAKE, 0, [reported(incomplete="stopped")], False),
        (TESTS, 0, [read()], False),  # it ended in the midst
        (TESTS, 0, [read(passed=3)], True),  # without the plugin
        (MAKE, 0, [read()], True),
        (MAKE, 0, [read(failures=(FAILURE,))], False),
        (TESTS, 0, [], False),
        (TESTS, None, [reported()], False),
    ],
)
def test_green_is_what_every_process_says(
    command: tuple[str, ...], exit_code: int | None, parts: list[Part], is_green: bool
) -> None:
    run = worker.result_of(structs.replace(RUN, command=command), exit_code, parts)
    assert (run.is_green, run.is_finished) == (is_green, True)


def test_the_row_names_the_programs_and_what_ran() -> None:
    run = worker.result_of(RUN, 0, [reported(), reported()])
    assert (run.programs, run.started, run.counts.passed) == (("/bin/pytest", "/py"), ("pytest",), 2)
    assert run.outcomes == {"pytest": {"test_a.py::test_a": "passed"}}


@pytest.mark.parametrize(
    ("name", "content", "reason"),
    [
        ("1.part", b"garbage", "the report of a pytest cannot be read"),
        ("2.begun", b"", "a pytest began and did not report its end"),
    ],
)
def test_a_report_that_is_missing_is_not_green(
    tmp_path: Path, name: str, content: bytes, reason: str
) -> None:
    (tmp_path / "0.begun").touch()
    (tmp_path / "0.part").write_bytes(encode(reported()))
    parts, lost = app.reported_in(tmp_path)
    assert (len(parts), lost) == (1, "")
    (tmp_path / name).write_bytes(content)
    parts, lost = app.reported_in(tmp_path)
    run = worker.result_of(RUN, 0, parts, lost)
    assert not run.is_green
    assert reason in run.incomplete


def test_a_baseline_that_cannot_be_written_still_holds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As in the sandbox of an agent, whose hook reads the same baseline."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    root = tmp_path / "shop"
    root.mkdir()
    (root / "test_a.py").write_text("def test_a():\n    assert 1 == 1\n", encoding="utf-8")
    baseline.hold(root)
    before = baseline.load(root)

    def refuse(*_: object) -> None:
        raise PermissionError(13, "Permission denied", "index")

    monkeypatch.setattr(baseline.os, "access", lambda *_: False)
    monkeypatch.setattr(baseline, "_keep", refuse)
    folder = root / ".loop-close" / "checks" / "x"
    folder.mkdir(parents=True)
    (folder / "output").touch()
    found = worker._Worker(root, folder, worker.Work(id="x")).run(["tests"])
    assert found.lines is not None
    assert found.lines[-1] == (
        "the baseline of the tests stays as it was: [Errno 13] Permission denied: 'index'"
    )
    assert gate.state(root).verdict == "done"
    assert baseline.load(root) == before
