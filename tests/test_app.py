import json

import pytest
from records import TEST, failure, raised

from loop_close import app
from loop_close.detectors import DEFAULT_DETECTORS, Detector
from loop_close.model import Counts, Evidence, Observation

PASSED = Counts(passed=3, collected=3)
RED = Observation(exit_code=1, failures=(failure(raised()),), counts=Counts(failed=1))


@pytest.mark.parametrize(
    ("observation", "verdict", "reason"),
    [
        (Observation(exit_code=0, counts=PASSED), "green", "no-stall-detected"),
        (Observation(exit_code=0, counts=Counts(xfailed=1)), "green", "no-stall-detected"),
        (Observation(exit_code=0, counts=Counts(xpassed=1)), "green", "no-stall-detected"),
        (Observation(exit_code=0), "error", "no test ran"),
        (Observation(exit_code=0, counts=Counts(skipped=4)), "error", "no test ran"),
        (Observation(exit_code=0, counts=PASSED, incomplete="--co"), "error", "the run is incomplete"),
        (Observation(exit_code=1, counts=PASSED), "error", "no-patterns-matched"),
        (Observation(exit_code=2, counts=PASSED), "error", "run interrupted"),
        (Observation(exit_code=3, counts=PASSED), "error", "internal error"),
        (Observation(exit_code=4), "error", "usage error"),
        (Observation(exit_code=5), "error", "no tests collected"),
        (Observation(exit_code=6, counts=PASSED), "error", "maximum number of warnings exceeded"),
        (Observation(exit_code=99, counts=PASSED), "error", "no-patterns-matched"),
        (
            Observation(exit_code=99, counts=PASSED, incomplete="pytest.exit"),
            "error",
            "the run is incomplete",
        ),
        (Observation(exit_code=None, counts=PASSED), "error", "no-patterns-matched"),
        (RED, "first-failure", "1 test failure detected"),
    ],
)
def test_verdict_and_reason_are_never_greener_than_the_run(observation, verdict, reason):
    report = app.close(observation)
    assert (report.verdict, report.stall_reason) == (verdict, reason)


def test_failure_is_never_green_whatever_the_exit_code():
    report = app.close(Observation(exit_code=0, failures=RED.failures, counts=PASSED))
    assert report.verdict == "first-failure"


def test_internal_error_alone_says_nothing_about_the_tests():
    broken = failure(raised("KeyError"), nodeid="", phase="session", file="")
    assert app.close(Observation(exit_code=3, failures=(broken,))).verdict == "error"
    both = Observation(exit_code=3, failures=(broken, *RED.failures))
    assert app.close(both).verdict == "first-failure"
    assert app.close(both).stall_reason == "1 internal error detected"


def test_order_in_which_failures_came_does_not_show():
    several = tuple(failure(raised(message=f"bad {n}"), nodeid=f"{TEST}::test_{n}") for n in range(5))
    forward = app.close(Observation(exit_code=1, failures=several))
    backward = app.close(Observation(exit_code=1, failures=several[::-1]))
    assert forward == backward


def test_reason_is_the_first_kind_with_a_cause():
    seen = Detector(
        id="first",
        label="first thing",
        priority=1,
        description="",
        hint="",
        detect=lambda o: [Evidence(kind="first", snippet="x", failure=f) for f in o.failures],
    )
    assert app.close(RED, detectors=(*DEFAULT_DETECTORS, seen)).stall_reason == "1 first thing detected"


def test_faults_of_extensions_are_evidence_and_no_cause():
    report = app.close(Observation(exit_code=0, counts=PASSED), faults=["hook x: it broke"])
    assert report.verdict == "green"
    assert [(e.kind, e.snippet) for e in report.evidence] == [("detector-error", "hook x: it broke")]


@pytest.fixture
def save(tmp_path):
    def call(observation=RED, **fields):
        names = {"prompt_file": tmp_path / "next.md", "json_file": tmp_path / "report.json", "budget": 2000}
        return app.save(app.close(observation), root=tmp_path, **{**names, **fields})

    return call


def test_red_run_writes_prompt_report_and_what_is_kept(save, tmp_path):
    saved = save()
    assert saved.problems == ()
    assert (tmp_path / "next.md").read_text() == saved.prompt
    report = json.loads((tmp_path / "report.json").read_text())
    assert report["next_prompt"] == saved.prompt
    assert json.loads((tmp_path / ".loop-close" / "report.json").read_text()) == report


def test_green_run_keeps_nothing(save, tmp_path):
    save(Observation(exit_code=0, counts=PASSED), json_file=None)
    assert [path.name for path in tmp_path.iterdir()] == ["next.md"]


def test_what_cannot_be_written_is_told_and_the_rest_is_written(save, tmp_path):
    (tmp_path / ".loop-close").write_text("")
    (tmp_path / "report.json").mkdir()
    saved = save()
    assert [problem.split(":")[0] for problem in saved.problems] == [
        "cannot keep the full report",
        "cannot write report.json",
    ]
    assert (tmp_path / "next.md").read_text() == saved.prompt


def test_prompt_that_cannot_be_written_is_told(save, tmp_path):
    saved = save(prompt_file=tmp_path / "gone" / "next.md")
    assert saved.problems == ("cannot write next.md: No such file or directory",)
    assert saved.prompt.startswith("# Stall detected")


def test_prompt_names_the_kept_report_only_when_it_is_there_and_something_was_cut(save, tmp_path):
    many = tuple(
        failure(raised(message=f"bad {word}" * 40, template=word), nodeid=f"{TEST}::test_{word}")
        for word in ("one", "two", "three", "four", "five", "six", "seven", "eight")
    )
    observation = Observation(exit_code=1, failures=many, counts=Counts(failed=8))
    assert "`.loop-close/report.json`" in save(observation, budget=400).prompt
    (tmp_path / ".loop-close" / "report.json").unlink()
    (tmp_path / ".loop-close" / "report.json").mkdir()
    assert "`.loop-close/report.json`" not in save(observation, budget=400).prompt
