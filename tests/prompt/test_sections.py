import re

import pytest
from loop_close.prompt.primary import primary
from records import SRC, TEST, failure, frame, in_test, observed, origin, raised, source, verdict

from loop_close.app import close
from loop_close.detectors import DEFAULT_DETECTORS, Detector
from loop_close.model import Counts, Evidence, Warned
from loop_close.prompt.sections import DEFAULT_SECTIONS, MAX_FILES, built_in
from loop_close.text.budget import estimate_tokens

BY_ID = {s.id: s for s in DEFAULT_SECTIONS}


def rendered(section, report, tokens=200):
    return list(BY_ID[section].render(report, tokens))


def test_ids_and_positions_are_unique_and_in_order():
    assert [s.id for s in DEFAULT_SECTIONS] == [
        *("title", "standing", "fix-by", "experiment", "hand-over", "signals", "primary", "suspects"),
        *("tried", "other-signals", "files", "next-step"),
    ]
    positions = [s.position for s in DEFAULT_SECTIONS]
    assert positions == sorted(set(positions))
    assert [s.id for s in DEFAULT_SECTIONS if s.tokens == 0] == ["primary"]


@pytest.mark.parametrize(
    ("sample", "expected"),
    [
        (observed(exit_code=0, counts=Counts(passed=1)), "# No stall detected: the tests pass (exit 0)"),
        (observed(exit_code=5), "# Stall detected: no tests collected (exit 5)"),
        (observed(exit_code=0), "# Stall detected: no test ran (exit 0)"),
        (observed(failure(raised())), "# Stall detected: 1 test failure detected (exit 1)"),
        (
            observed(failure(raised()), exit_code=None),
            "# Stall detected: 1 test failure detected (exit code unknown)",
        ),
        (
            observed(failure(raised()), failure(raised("ImportError"), phase="collect"), exit_code=2),
            "# Stall detected: 1 failed import detected (exit 2)",
        ),
    ],
)
def test_title(sample, expected):
    assert rendered("title", close(sample)) == [expected]


def test_title_has_one_line_whatever_a_detector_calls_itself():
    def detect(observation):
        return [Evidence(kind="a\n# b", snippet="x", failure=f) for f in observation.failures]

    custom = Detector(
        id="x", kind="a\n# b", label="thing\n# c", priority=1, description="d", hint="h", detect=detect
    )
    report = close(observed(failure(raised())), detectors=[*DEFAULT_DETECTORS, custom])
    (line,) = built_in((*DEFAULT_DETECTORS, custom))[0].render(report, 80)
    assert "\n" not in line


@pytest.mark.parametrize(
    ("sample", "expected"),
    [
        (observed(exit_code=0, counts=Counts(passed=3)), ["3 passed."]),
        (observed(), ["No test ran."]),
        (
            observed(failure(raised()), counts=Counts(failed=1, errors=1, skipped=2)),
            ["1 root cause. 1 failed, 1 error, 2 skipped."],
        ),
        (
            observed(
                failure(raised()), failure(raised(), f"{TEST}::b"), failure(raised("KeyError"), f"{TEST}::c")
            ),
            ["2 root causes behind 3 failures. No test ran."],
        ),
        (
            observed(counts=Counts(errors=2, xfailed=1, xpassed=1), selection="-k 'a\n# b'"),
            ["2 errors, 1 xfailed, 1 xpassed. Selected by `-k 'a # b'`."],
        ),
        (
            observed(incomplete="stopping after 1 failures", counts=Counts(passed=1, not_run=1)),
            ["1 passed.", "This run is incomplete (`stopping after 1 failures`): 1 test did not run."],
        ),
        (
            observed(incomplete="x", counts=Counts(not_run=7)),
            ["No test ran.", "This run is incomplete (`x`): 7 tests did not run."],
        ),
    ],
)
def test_standing(sample, expected):
    assert rendered("standing", close(sample)) == expected


def test_fix_by_is_the_hint_of_the_first_cause_where_it_fits():
    assert rendered("fix-by", close(observed())) == []
    assert rendered("fix-by", close(observed(failure(raised())))) == []
    (hint,) = rendered("fix-by", close(observed(failure(verdict(origin("total"))))))
    assert "in the function that made it" in hint
    both = observed(
        failure(verdict(origin("total"))), failure(raised("ModuleNotFoundError", bases=("ImportError",)))
    )
    (hint,) = rendered("fix-by", close(both))
    assert "import path" in hint


def test_other_signals():
    todo = raised(
        frames=[in_test(), frame(source=source("# TODO: one", "# TODO: two", "# TODO: three", start=8))]
    )
    warning = Warned(
        category="RuntimeWarning", message="coroutine 'f' was never awaited", file="src/a.py", line=3
    )
    empty = verdict(origin("sum_up", is_empty=True))
    report = close(observed(failure(todo), failure(empty, f"{TEST}::b"), warnings=(warning,)))
    assert rendered("other-signals", report) == [
        "- 1 unhandled exception outside of a test: `coroutine 'f' was never awaited` at `src/a.py:3`",
        f"- 1 function without a body: `sum_up` at `{SRC}:8`",
        f"- 3 TODO comments: `# TODO: one` at `{SRC}:8`; `# TODO: two` at `{SRC}:9`; …",
    ]
    assert rendered("other-signals", close(observed(failure(raised())))) == []


def test_faults_of_extensions_are_signals():
    report = close(observed(failure(raised())), faults=["it broke"])
    assert rendered("other-signals", report) == ["- 1 failed extension: `it broke`"]


def test_files_touched():
    report = close(
        observed(failure(verdict(origin("f", "src/b.py"))), failure(raised(frames=[frame("src/a.py")])))
    )
    assert rendered("files", report) == ["`src/a.py`, `src/b.py`, `tests/test_cart.py`"]
    assert rendered("files", close(observed())) == []


def test_many_files_are_counted():
    many = [failure(raised(frames=[frame(f"src/a{n:03}.py", f"f{n}")]), f"t.py::{n}") for n in range(40)]
    (line,) = rendered("files", close(observed(*many)), 1000)
    assert line.count("`") == 2 * MAX_FILES
    assert line.startswith("`src/a000.py`, ")
    assert line.endswith(f" and {40 - MAX_FILES} more")
    (short,) = rendered("files", close(observed(*many)), 30)
    shown = short.count("`") // 2
    assert short.endswith(f" and {40 - shown} more")
    assert estimate_tokens(short) <= 50


def test_next_step():
    assert rendered("next-step", close(observed(exit_code=0, counts=Counts(passed=1)))) == []
    made = rendered("next-step", close(observed(failure(raised(), "t.py::a"))))
    assert made[0] == "Just the failing tests, from the root:"
    assert made[1:] == ["```sh", "pytest --loop-close t.py::a", "```"]
    assert "The tests, from the root:" in rendered("next-step", close(observed(exit_code=5)))[0]


# Root causes within what they may cost


def many(number, message="no price"):
    found = (raised(f"E{n}", f"{message} {n}", [frame(f"src/{n}.py", f"f{n}")]) for n in range(number))
    return close(observed(*(failure(exc, f"t.py::{n}") for n, exc in enumerate(found))))


def test_no_causes_are_nothing():
    assert list(primary(close(observed()), 1000)) == []


@pytest.mark.parametrize("tokens", [0, 50, 200, 1000, 5000])
@pytest.mark.parametrize("number", [1, 2, 30, 300])
def test_causes_cost_what_they_may(number, tokens):
    made = list(primary(many(number), tokens))
    shown = [line for line in made if re.match(r"(?:### )?\d+\. ", line)]
    assert shown[0].startswith("### 1. ")
    assert len([line for line in shown if line.startswith("### ")]) == min(len(shown), 10)
    assert len(shown) == 1 or estimate_tokens("\n".join(made)) <= tokens
    if len(shown) < number:
        assert made[-1] == f"… and {number - len(shown)} more root causes, left out to keep the budget."
    else:
        assert "left out" not in made[-1]


def test_every_cause_is_named_before_one_gets_more():
    short = list(primary(many(20, "a rather long message about the price of something " * 3), 1400))
    assert len([line for line in short if line.startswith("### ")]) == 10
    assert "… and 10 more, in a line each:" in short
    assert [line[:4] for line in short[-10:]] == [f"{n}. " for n in range(11, 21)]


def test_the_first_cause_gets_the_most():
    body = tuple(f"    line_{n} = {n}" for n in range(30))
    found = []
    for n in range(8):
        made = origin(f"f{n}", f"src/{n}.py", source=source(f"def f{n}():", *body, start=8))
        found.append(failure(verdict(made, test=f"test_{n}"), f"t.py::{n}"))
    text = "\n".join(primary(close(observed(*found)), 900))
    first, _, rest = text.partition("### 2.")
    assert first.count("line_") >= max(part.count("line_") for part in rest.split("### "))
    assert first.count("line_") > 3
