import json
import linecache
import warnings

import pytest
from msgspec.structs import replace
from records import SRC, TEST, failure, raised, verdict

from loop_close import app, files, places
from loop_close.detectors import DEFAULT_DETECTORS, Detector
from loop_close.files import Targets
from loop_close.judge import judged, report_of
from loop_close.model import Counts, Evidence, Observation, SourceLines, Suspect
from loop_close.prompt.compose import compose
from loop_close.prompt.sections import DEFAULT_SECTIONS
from loop_close.records import Edit, Edits, FailingTest, FailureRecord, Loop, Step
from loop_close.settings import Settings


def edited(function="total", diff=""):
    return Edits(kind="effective", edits=(Edit(file=SRC, function=function, diff=diff),))


PASSED = Counts(passed=3, collected=3)
RED = Observation(exit_code=1, failures=(failure(raised()),), counts=Counts(failed=1))


@pytest.mark.parametrize(
    ("observation", "verdict", "reason"),
    [
        (Observation(exit_code=0, counts=PASSED), "green", "no-stall-detected"),
        (Observation(exit_code=0, counts=Counts(xfailed=1)), "green", "no-stall-detected"),
        (Observation(exit_code=0), "error", "no test ran"),
        (Observation(exit_code=0, counts=Counts(skipped=4)), "error", "no test ran"),
        (Observation(exit_code=0, counts=PASSED, incomplete="--co"), "error", "the run is incomplete"),
        (Observation(exit_code=1, counts=PASSED), "error", "no-patterns-matched"),
        (Observation(exit_code=2, counts=PASSED), "error", "run interrupted"),
        (Observation(exit_code=3, counts=PASSED), "error", "internal error"),
        (Observation(exit_code=4), "error", "usage error"),
        (Observation(exit_code=5), "error", "no tests collected"),
        (Observation(exit_code=6, counts=PASSED), "error", "maximum number of warnings exceeded"),
        (Observation(exit_code=0, expects_tests=False), "green", "no-stall-detected"),
        (Observation(exit_code=None, counts=PASSED, is_good_news=True), "green", "no-stall-detected"),
        (Observation(exit_code=None, counts=PASSED), "error", "no-patterns-matched"),
        (RED, "red", "1 test failure detected"),
        (replace(RED, exit_code=0, counts=PASSED), "red", "1 test failure detected"),
    ],
)
def test_verdict_and_reason_are_never_greener_than_the_run(observation, verdict, reason):
    report = report_of(observation)
    assert (report.verdict, report.stall_reason) == (verdict, reason)


@pytest.mark.parametrize("counts", [Counts(passed=1, failed=1), Counts(passed=1, errors=1)])
def test_counted_failures_are_never_green(counts):
    assert report_of(Observation(exit_code=0, counts=counts)).verdict == "error"


def test_internal_error_alone_says_nothing_about_the_tests():
    broken = failure(raised("KeyError"), nodeid="", phase="session", file="")
    assert report_of(Observation(exit_code=3, failures=(broken,))).verdict == "error"
    both = Observation(exit_code=3, failures=(broken, *RED.failures))
    assert report_of(both).verdict == "red"
    assert report_of(both).stall_reason == "1 internal error detected"


def test_order_in_which_failures_came_does_not_show():
    several = tuple(failure(raised(message=f"bad {n}"), nodeid=f"{TEST}::test_{n}") for n in range(5))
    forward = report_of(Observation(exit_code=1, failures=several))
    backward = report_of(Observation(exit_code=1, failures=several[::-1]))
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
    assert report_of(RED, detectors=(*DEFAULT_DETECTORS, seen)).stall_reason == "1 first thing detected"


def test_faults_of_extensions_are_evidence_and_no_cause():
    report = judged(Observation(exit_code=0, counts=PASSED), faults=["hook x: it broke"])
    assert report.verdict == "green"
    assert [(e.kind, e.snippet) for e in report.evidence] == [("detector-error", "hook x: it broke")]


@pytest.fixture
def save(tmp_path):
    def call(observation=RED, report=None, *, budget=2000, **paths):
        names = {"prompt": tmp_path / "next.md", "json": tmp_path / "report.json", "history": None}
        targets = Targets(root=tmp_path, settings=Settings(budget=budget), **{**names, **paths})
        return app.write_report(report or report_of(observation), targets)

    return call


def test_red_run_writes_prompt_report_and_what_is_kept(save, tmp_path):
    saved = save()
    assert saved.problems == ()
    assert (tmp_path / "next.md").read_text() == f"{saved.prompt}\n{files.SIGNATURE}\n"
    report = json.loads((tmp_path / "report.json").read_text())
    assert report["next_prompt"] == saved.prompt
    assert json.loads((tmp_path / ".loop-close" / "report.json").read_text()) == report


def test_green_run_keeps_nothing(save, tmp_path):
    save(Observation(exit_code=0, counts=PASSED), json=None)
    assert [path.name for path in tmp_path.iterdir()] == ["next.md"]


def test_what_cannot_be_written_is_told_and_the_rest_is_written(save, tmp_path):
    (tmp_path / ".loop-close").write_text("")
    (tmp_path / "report.json").mkdir()
    saved = save()
    assert [problem.split(":")[0] for problem in saved.problems] == [
        "cannot write the full report",
        "cannot write report.json",
    ]
    assert (tmp_path / "next.md").read_text() == f"{saved.prompt}\n{files.SIGNATURE}\n"


def test_prompt_that_cannot_be_written_is_told(save, tmp_path):
    (tmp_path / "taken").write_text("a file")
    saved = save(prompt=tmp_path / "taken" / "next.md")
    assert saved.problems == ("cannot write next.md: taken/next.md cannot be written: File exists",)
    assert saved.prompt.startswith("# 1 test ")
    assert saved.shown.startswith("# 1 test ")
    assert save().shown == ""


def test_report_of_a_red_run_stays_until_another_run_is_complete(save, tmp_path):
    kept = tmp_path / ".loop-close" / "report.json"
    save()
    save(Observation(exit_code=2, incomplete="interrupted by Ctrl-C"))
    assert kept.exists()
    save(Observation(exit_code=0, counts=PASSED))
    assert not kept.exists()
    assert not kept.with_name("failed.txt").exists()


def test_tests_that_are_left_after_a_green_run_of_others_are_listed(save, tmp_path):
    save()
    report = report_of(Observation(exit_code=0, counts=PASSED))
    left = FailingTest(record=FailureRecord(source="pytest", test="t.py::left"), since=1, ran=1)
    save(report=replace(report, loop=Loop(steps=(Step(run=2),), failing=(left,))))
    assert not (tmp_path / ".loop-close" / "report.json").exists()
    assert (tmp_path / ".loop-close" / "failed.txt").read_text() == "t.py::left\n"


def test_prompt_names_the_kept_report_only_when_it_is_there_and_something_was_cut(save, tmp_path):
    many = tuple(
        failure(raised(message=f"bad {word}" * 40), nodeid=f"{TEST}::test_{word}")
        for word in ("one", "two", "three", "four", "five", "six", "seven", "eight")
    )
    observation = Observation(exit_code=1, failures=many, counts=Counts(failed=8))
    assert "`.loop-close/report.json`" in save(observation, budget=400).prompt
    (tmp_path / ".loop-close" / "report.json").unlink()
    (tmp_path / ".loop-close" / "report.json").mkdir()
    assert "`.loop-close/report.json`" not in save(observation, budget=400).prompt


@pytest.fixture(autouse=True)
def files_read_anew():
    linecache.clearcache()
    app.index_of.cache_clear()


MODULE = """RATE = 19


class Cart:
    '''Of goods.'''

    limit = 5

    @property
    def total(self):
        '''The sum.'''
        return sum(self.prices)


def tax_on(price):
    '''The tax.'''
    return price * RATE


def long(price):
    '''It.'''
"""
LONG = [*MODULE.splitlines(), *(f"    price += {n}" for n in range(22, 2400)), "    return price"]


def suspected(tmp_path, function, text=MODULE, **fields):
    """The suspect as it is after the run, and its source, each twice."""
    (tmp_path / SRC).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / SRC).write_text(text)
    suspect = Suspect(file=SRC, function=function, **{"line": 0, **fields})
    report = report_of(Observation(exit_code=1, failures=(failure(verdict()),)))
    (cause,) = report.causes
    made = places._with_lines(replace(cause, suspects=(suspect, suspect)), tmp_path)
    return made.suspects, made.excerpts


@pytest.mark.parametrize(
    ("function", "fields", "expected"),
    [
        ("tax_on", {}, (15, 17)),
        ("tax_on", {"line": 15, "end_line": 16}, (15, 16)),
        ("tax_on", {"line": 3}, (3, 0)),
        ("Cart.total", {}, (9, 12)),
        ("Cart", {}, (4, 12)),
        ("gone", {}, (0, 0)),
        ("<module>", {"line": 4}, (4, 0)),
    ],
)
def test_a_suspect_that_nothing_called_has_its_lines(tmp_path, function, fields, expected):
    (first, second), (source, again) = suspected(tmp_path, function, **fields)
    assert (first.line, first.end_line) == (second.line, second.end_line) == expected
    assert source == again
    assert bool(source.lines) == bool(expected[0])


@pytest.mark.parametrize(("odd", "expected"), [((0, 0, 0), 20), ((1400, 1, 0), 400)])
def test_of_a_long_function_the_lines_around_the_one_in_question_are_kept(tmp_path, odd, expected):
    text = "\n".join(LONG)
    (first, _), (source, _) = suspected(tmp_path, "long", text=text, odd=odd, passed=(5, 9))
    assert (first.line, first.end_line, len(source.lines)) == (20, 2400, 2000)
    assert source.start == expected


def test_a_bracket_that_is_closed_below_the_last_code_is_part_of_the_function(tmp_path):
    text = "def total(\n    cart,\n    rate,\n):\n    return add(\n        [cart, rate]\n    )\n\n\nX = 1\n"
    _, (source, _) = suspected(tmp_path, "total", text=text, line=1, end_line=6)
    assert source.lines[-1] == "    )"


def test_source_that_is_no_python(tmp_path):
    (first, _), (source, _) = suspected(tmp_path, "tax_on", text="def tax_on(:\n")
    assert (first.line, source) == (0, SourceLines())
    (first, _), (source, _) = suspected(tmp_path, "tax_on", text="def tax_on(:\n", line=1)
    assert source.lines == ("def tax_on(:",)


def test_source_that_is_gone(tmp_path):
    (first, _), _ = suspected(tmp_path, "tax_on")
    (tmp_path / SRC).unlink()
    linecache.clearcache()
    (cause,) = report_of(RED).causes
    assert places._with_lines(replace(cause, suspects=(first,)), tmp_path).excerpts == (SourceLines(),)


def test_odd_escapes_in_what_is_shown_warn_nobody(tmp_path):
    suspects, _ = suspected(tmp_path, "Cart", text=MODULE.replace("Of", "Of \\d"))
    report = report_of(RED)
    report = replace(report, causes=(replace(report.causes[0], suspects=suspects),))
    with warnings.catch_warnings(action="error"):
        shown = places.with_source_lines(report, tmp_path)
        assert "Cart" in compose(shown, DEFAULT_SECTIONS, budget=2_000)
