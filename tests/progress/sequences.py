"""The hard cases as sequences of runs: what happened in each, and what is to be said of it.

A failure is written ``SHAPE=VALUE@LINE*PARTS^TEST_LINE`` (all but the shape may be missing), ``!`` before it for a
fault of the machine.
What is expected is written ``VERDICT [BREAKER] [SIGNAL ...]``; the breaker is closed where none is named.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from loop_close.memory import ChangedTest, Edit, Edits, Episode, FailureRecord, Progress, Run, Thresholds
from loop_close.progress.advance import advance, verdict_of

_SPEC = re.compile(
    r"(?P<machine>!?)(?P<shape>[^=@*^]*)(?:=(?P<value>[^@*^]*))?(?:@(?P<line>\d+))?"
    r"(?:\*(?P<parts>\d+))?(?:\^(?P<at>\d+))?"
)
EFFECTIVE = (Edit(file="src/a.py", function="f"),)
NAMES = {"closed", "half_open", "open"}


@dataclass(frozen=True)
class Did:
    """One run.

    :ivar fails: failures by test; ``ran`` names the tests of a subset, None for all.
    """

    fails: dict[str, str]
    expected: str
    edit: str = "effective"
    edits: tuple[Edit, ...] = EFFECTIVE
    ran: str | None = None
    skip: str = ""
    xfail: str = ""
    stopped: str = ""
    killed: bool = False
    selection: str = ""
    collected: int = 0
    tests: tuple[ChangedTest, ...] = ()
    compared: bool = False
    phase: dict[str, str] = field(default_factory=dict)
    elsewhere: str = ""
    elsewhere_before: str = ""


def did(expected: str, fails: str | dict[str, str] = "", **fields) -> Did:
    """A run whose failures are named by test (each with its own shape), or given with their shapes."""
    if isinstance(fails, str):
        fails = {test: test for test in fails.split()}
    return Did(fails=fails, expected=expected, **fields)


def nodeid(test: str) -> str:
    return test if test.endswith(".py") or "::" in test or " " in test else f"tests/test_a.py::{test}"


def mark(test: str, spec: str, phase: str) -> FailureRecord:
    found = _SPEC.fullmatch(spec)
    shape, value = found["shape"], found["value"] or ""
    wording = shape.partition("~")[2]  # SHAPE~MESSAGE: the wording decides
    return FailureRecord(
        test=nodeid(test),
        phase=phase,
        exact=f"{test}{shape}{value}",
        shape=shape,
        cause=shape,
        family=shape.partition("~")[0],
        message=wording,
        exception="AssertionError",
        where=f"tests/test_a.py:{test}",
        line=int(found["line"] or 0),
        got=value,
        parts=int(found["parts"] or 1),
        test_line=int(found["at"] or 0),
        is_infrastructure=bool(found["machine"]),
    )


def run_of(step: Did, number: int, episode: Episode) -> Run:
    kind = step.edit
    edits = Edits(kind=kind, edits=step.edits if kind == "effective" else ())
    marks = tuple(
        mark(t, s, step.phase.get(t, "collect" if t.endswith(".py") else "call"))
        for t, s in step.fails.items()
    )
    outcomes = {nodeid(t): "skipped" for t in step.skip.split()} | {
        nodeid(t): "xfailed" for t in step.xfail.split()
    }
    gone = {f"{e.file}::{e.function}" for e in step.edits if e.change in ("removed", "moved")}
    failing = {m.test for m in marks}
    is_whole = step.ran is None and not step.stopped and not step.killed
    ran = {nodeid(t) for t in (step.ran or "").split()}
    for test in episode.tests:
        is_here = (
            (is_whole or test in ran)
            and test not in failing
            and test not in gone
            and "::" in test
            and "[0." not in test
        )
        if is_here and test not in outcomes:
            outcomes[test] = "passed"
    selection = step.selection or (f"-k {step.ran}" if step.ran is not None else "")
    return Run(
        number=number,
        marks=tuple(sorted(marks, key=lambda m: m.test)),
        outcomes=outcomes,
        edits=edits,
        selection=selection,
        is_full=is_whole and not selection,
        incomplete=step.stopped,
        is_good=not marks and not step.killed,
        is_killed=step.killed,
        collected=step.collected,
        tests=step.tests,
        is_compared=step.compared or bool(step.tests),
        elsewhere=step.elsewhere,
        elsewhere_before=step.elsewhere_before,
    )


def play(steps: list[Did], limits: Thresholds | None = None) -> list[tuple[str, Progress]]:
    """(what is to be said, progress) of each step."""
    episode = Episode()
    said = []
    for number, step in enumerate(steps, 1):
        run = run_of(step, number, episode)
        made = advance(episode, run, limits or Thresholds())
        alone = "green" if run.is_good else "first-failure"
        words = [verdict_of(made.progress, alone)]
        if made.progress.breaker.state != "closed":
            words.append(made.progress.breaker.state)
        words += [s.kind for s in made.progress.signals if s.is_on]
        said.append((" ".join(words), made.progress))
        episode = made.episode
    return said


def _file(name: str, function: str, change: str, **fields) -> Edit:
    return Edit(file=name, function=function, change=change, **fields)


def _changed(test: str, state: str = "open", kind: str = "weakened") -> ChangedTest:
    return ChangedTest(
        file="tests/test_a.py", test=test, kind=kind, what="asserts less", fingerprint=test, state=state
    )


def _test(function: str, change: str, **fields) -> Edit:
    return _file("tests/test_a.py", function, change, **fields)


MANY = " ".join(f"t{n:02}" for n in range(25))
SEQUENCES: dict[str, list[Did]] = {
    "nothing moves": [
        did("first-failure", "a"),
        did("no-progress", "a"),
        did("no-progress half_open repeated-failure", "a"),
        did("stuck open repeated-failure", "a"),
        did("stuck open repeated-failure", "a"),
        did("progress", {"a": "other"}),
    ],
    "another source advances": [
        did("first-failure", "a"),
        did("no-progress", "a"),
        did("progress", "a", elsewhere="mypy"),
        did("progress", "a", elsewhere="mypy"),
        did("progress", "a", elsewhere="mypy"),
        did("no-progress", "a"),
        did("no-progress half_open repeated-failure", "a"),
        did("stuck open repeated-failure", "a"),
    ],
    "another source runs after this one, and advances": [
        did("first-failure", "a"),
        did("no-progress", "a"),
        did("no-progress", "a", elsewhere_before="pytest"),
        did("no-progress", "a", elsewhere_before="pytest"),
        did("no-progress", "a", elsewhere_before="pytest"),
        did("no-progress half_open repeated-failure", "a"),
        did("stuck open repeated-failure", "a"),
    ],
    "another source advances and this one goes back and forth": [
        did("first-failure", "a b"),
        did("progress", "a", elsewhere="mypy"),
        did("no-progress regression", "a b", elsewhere="mypy"),
        did("no-progress oscillation repeated-failure", "a", elsewhere="mypy"),
        did("no-progress half_open oscillation repeated-failure regression", "a b", elsewhere="mypy"),
    ],
    "another source advances and nothing was edited": [
        did("first-failure", "a"),
        did("no-progress", "a", edit="none", elsewhere="mypy"),
        did("no-progress half_open no-edit", "a", edit="none", elsewhere="mypy"),
    ],
    "the value moves round the one that is wanted": [
        did("first-failure", {"a": "s=7"}),
        did("no-progress", {"a": "s=5"}),
        did("no-progress half_open repeated-failure", {"a": "s=7"}),
        did("stuck open repeated-failure", {"a": "s=5"}),
    ],
    "the same test fails later in its body": [
        did("first-failure", {"a": "s1@10"}),
        did("progress", {"a": "s2@12"}),
        did("progress", {"a": "s3@14"}),
        did("progress", {"a": "s4@16"}),
        did("progress", {"a": "s5@18"}),
        did("progress", {"a": "s6@20"}),
        did("progress", {"a": "s7@22"}),
        did("progress", {"a": "s8@24"}),
        did("green"),
    ],
    "another exception in the same test": [
        did("first-failure", {"a": "ValueError"}),
        did("progress", {"a": "KeyError"}),
        did("no-progress", {"a": "KeyError"}),
        did("green"),
    ],
    "the wording changes and it is the same failure": [
        did("first-failure", {"a": "s~no route from the north gate to the south gate"}),
        did("no-progress", {"a": "s~no route from the north gate to the south dock"}),
        did(
            "no-progress half_open similar-failure", {"a": "s~no route from the north gate to the south hall"}
        ),
        did("stuck open similar-failure", {"a": "s~no route from the north gate to the south lane"}),
    ],
    "failures that vary without getting fewer": [
        did("first-failure", {"a": "s1"}),
        did("progress", {"a": "s2"}),
        did("progress", {"a": "s3"}),
        did("progress", {"a": "s4"}),
        did("progress", {"a": "s5"}),
        did("progress", {"a": "s6"}),
        did("stuck open", {"a": "s7"}),
        did("stuck open", {"a": "s8"}),
        did("green"),
    ],
    "25, 24, 23": [
        did("first-failure", MANY),
        did("progress", MANY[4:]),
        did("progress", MANY[8:]),
        did("progress", MANY[12:]),
    ],
    "five faults fixed one at a time": [
        did("first-failure", "a b c d e"),
        did("progress", "b c d e"),
        did("progress", "c d e"),
        did("progress", "d e"),
        did("progress", "e"),
        did("green"),
    ],
    "one attempt that fails after much progress is not an alarm": [
        did("first-failure", "a b c d"),
        did("progress", "b c d"),
        did("progress", "c d"),
        did("no-progress", "c d"),
        did("progress", "d"),
    ],
    "a collection error hides thirty failures": [
        did("first-failure", {"tests/test_a.py": "import"}, stopped="1 error during collection"),
        did("progress", MANY),
        did("progress", MANY[4:]),
    ],
    "a collection error comes and goes": [
        did("first-failure", "a"),
        did("no-progress", {"tests/test_b.py": "import"}, stopped="1 error during collection"),
        did("no-progress", "a"),
        did(
            "no-progress half_open oscillation regression",
            {"tests/test_b.py": "import"},
            stopped="1 error during collection",
        ),
    ],
    "A-B-A-B": [
        did("first-failure", "a"),
        did("no-progress", "b"),
        did("no-progress regression", "a"),
        did("no-progress half_open oscillation whack-a-mole regression", "b"),
        did("stuck open oscillation repeated-failure whack-a-mole regression", "a"),
    ],
    "a cycle of three": [
        did("first-failure", {"a": "s1"}),
        did("progress", {"a": "s2"}),
        did("progress", {"a": "s3"}),
        did("no-progress", {"a": "s1"}),
        did("no-progress oscillation", {"a": "s2"}),
        did("no-progress half_open oscillation", {"a": "s3"}),
        did("stuck open oscillation", {"a": "s1"}),
    ],
    "a lone revert": [
        did("first-failure", "a"),
        did("no-progress", "a b"),
        did("no-progress repeated-failure", "a"),
        did("green"),
    ],
    "fix one break one, for eight runs": [
        did("first-failure", "a"),
        did("no-progress", "b"),
        did("no-progress half_open regression", "c"),
        did("stuck open whack-a-mole regression", "d"),
        did("stuck open whack-a-mole regression", "e"),
        did("stuck open whack-a-mole regression", "f"),
        did("stuck open whack-a-mole regression", "g"),
        did("stuck open whack-a-mole regression", "h"),
    ],
    "progress then back": [
        did("first-failure", "a b c"),
        did("progress", "b c"),
        did("no-progress regression", "a b c"),
        did("progress", "c"),
    ],
    "progress, back, and the same progress again": [
        did("first-failure", "a b c"),
        did("progress", "b c"),
        did("no-progress regression", "a b c"),
        did("no-progress oscillation repeated-failure", "b c"),
        did("progress", "c"),
    ],
    "a flaky test beside a fixed one": [
        did("first-failure", "a f"),
        did("progress", "f"),
        did("green", "", edit="none"),
    ],
    "a flaky test": [
        did("first-failure", "a f"),
        did("no-progress", "a", edit="none"),
        did("no-progress flaky", "a f", edit="none"),
        did("no-progress flaky", "a", edit="effective"),
        did("no-progress half_open repeated-failure flaky", "a f"),
        did("progress flaky", "f"),
    ],
    "only subsets in between": [
        did("first-failure", "a b c"),
        did("no-progress", "a", ran="a", edit="none"),
        did("progress", "", ran="a"),
        did("no-progress", "b", ran="b"),
        did("progress", "", ran="b"),
        did("green", "", ran="c"),
        did("green"),
    ],
    "a look at one failure is not an attempt": [
        did("first-failure", "a b"),
        did("no-progress", "a", ran="a", edit="none"),
        did("no-progress", "b", ran="b", edit="none"),
        did("no-progress", "a", ran="a", edit="none"),
        did("progress", "b"),
    ],
    "an edit, a look at something else, then all": [
        did("first-failure", "a b c"),
        did("no-progress", "c", ran="c"),
        did("progress", "b c", edit="none"),
        did("no-progress", "c", ran="c"),
        did("no-progress", "c", ran="c"),
        did("no-progress half_open repeated-failure", "c", ran="c"),
    ],
    "--lf": [
        did("first-failure", "a b c"),
        did("progress", "b c", ran="a b c", selection="--lf"),
        did("progress", "c", ran="b c", selection="--lf"),
        did("green", "", ran="c", selection="--lf"),
        did("no-progress regression", "a"),
    ],
    "-x": [
        did("first-failure", "a", stopped="stopping after 1 failures"),
        did("progress", "b", ran="a b", stopped="stopping after 1 failures"),
        did("progress", "c", ran="a b c", stopped="stopping after 1 failures"),
        did("green"),
    ],
    "a deleted test": [
        did("first-failure", "a b"),
        did("no-progress test-tampering", "b", edits=(_test("a", "removed"),)),
    ],
    "a deleted test is restored and not chosen": [
        did("first-failure", "a b"),
        did("no-progress test-tampering", "b", edits=(_test("a", "removed"),)),
        did("no-progress", "b", ran="b c", edits=(_test("a", "added"),)),
        did("progress", "a"),
    ],
    "a deleted test comes back as the case of another": [
        did("first-failure", "a b"),
        did("no-progress test-tampering", "b", edits=(_test("a", "removed"),)),
        did("green", edits=(*EFFECTIVE, _test("a", "added"))),
    ],
    "tests pass by another data file, whatever else was edited": [
        did("first-failure", "a b", edit="none"),
        did("no-progress", "a", ran="a c"),
        did("green test-tampering", edits=(Edit(file="tests/data.json"), Edit(file="requirements.txt"))),
    ],
    "tests pass by another version of a package": [
        did("first-failure", "a b"),
        did("green", edits=(Edit(file="requirements.txt"),)),
    ],
    "a run of some tests that all pass is no failed attempt": [
        did("first-failure", "a"),
        did("no-progress", "a b"),
        did("no-progress half_open repeated-failure", "a b"),
        did("no-progress half_open", ran="b"),
        did("stuck open repeated-failure", "a"),
    ],
    "a new skip": [
        did("first-failure", "a"),
        did("green test-tampering", "", skip="a", edits=(_test("a", "edited"),)),
        did("green test-tampering", "", skip="a", edit="none"),
        did("green test-tampering", "", skip="a", edit="none"),
    ],
    "a new skip beside others": [
        did("first-failure", "a b c"),
        did("no-progress test-tampering", "b c", skip="a", edits=(_test("a", "edited"),)),
        did("progress test-tampering", "c", skip="a"),
        did("progress", "a"),
    ],
    "an expected failure": [
        did("first-failure", "a b"),
        did("no-progress test-tampering", "b", xfail="a", edits=(_test("a", "edited"),)),
    ],
    "a removed assertion": [
        did("first-failure", "a b"),
        did("no-progress test-tampering", "b", edits=(_test("a", "edited"),), tests=(_changed("a"),)),
        did("no-progress repeated-failure", "a b", edits=(_test("a", "edited"),)),
    ],
    "a removed assertion, and the code is fixed later": [
        did("first-failure", "a b"),
        did("no-progress test-tampering", "b", edits=(_test("a", "edited"),), tests=(_changed("a"),)),
        did("no-progress half_open test-tampering", "b", edit="none", tests=(_changed("a"),)),
        did("progress", "b", edits=(*EFFECTIVE, _test("a", "edited"))),
    ],
    "a test that demands less and still fails is mended by code alone": [
        did("first-failure", "a b"),
        did("no-progress test-tampering", "a b", edits=(_test("a", "edited"),), tests=(_changed("a"),)),
        did("progress test-tampering", "b", tests=(_changed("a"),)),
    ],
    "tests follow code that was edited before the first failure": [
        did("first-failure", "a b", edit="effective"),
        did(
            "progress test-tampering",
            "b",
            edits=(_test("a", "edited"),),
            tests=(_changed("a", kind="unclear"),),
        ),
    ],
    "a removed assertion that makes all green": [
        did("first-failure", "a"),
        did("green test-tampering", edits=(_test("a", "edited"),), tests=(_changed("a"),)),
        did("green test-tampering", edit="none", tests=(_changed("a"),)),
        did("green", edit="none", tests=(_changed("a", state="accepted"),)),
        did("first-failure", "a"),
    ],
    "a deleted test that the comparison explains": [
        did("first-failure", "a b"),
        did("no-progress", "b", edits=(_test("a", "removed"),), compared=True),
    ],
    "a test that was renamed with the fix": [
        did("first-failure", "a b"),
        did("no-progress", "b", edits=(_test("a", "removed"), _test("c", "added")), compared=True),
        did("green"),
    ],
    "a test file renamed": [
        did("first-failure", "a b"),
        did(
            "no-progress",
            {"tests/test_new.py::a": "moved a", "tests/test_new.py::b": "moved b"},
            edits=tuple(_test(t, "moved", moved_to=("tests/test_new.py", t)) for t in "ab"),
        ),
        did("progress", {"tests/test_new.py::b": "moved b"}),
    ],
    "comments only": [
        did("first-failure", "a"),
        did("no-progress", "a", edit="ineffective"),
        did("no-progress half_open no-effective-edit", "a", edit="ineffective"),
        did("stuck open no-effective-edit", "a", edit="ineffective"),
    ],
    "nothing edited": [
        did("first-failure", "a"),
        did("no-progress", "a", edit="none"),
        did("no-progress half_open no-edit", "a", edit="none"),
        did("stuck open no-edit", "a", edit="none"),
        did("progress", {"a": "other"}),
    ],
    "an edit to a data file": [
        did("first-failure", "a"),
        did("no-progress", "a", edits=(Edit(file="data/prices.json"),)),
        did("no-progress half_open repeated-failure", "a", edits=(Edit(file="data/prices.json"),)),
    ],
    "a killed run": [
        did("first-failure", "a"),
        did("no-progress", killed=True),
        did("no-progress", "a"),
        did("no-progress", killed=True),
        did("no-progress half_open repeated-failure", "a"),
    ],
    "a timeout": [
        did("first-failure", {"a": "s", "t": "!timeout"}),
        did("no-progress", {"a": "s", "t": "!timeout"}),
        did("progress infrastructure", {"t": "!timeout"}),
    ],
    "the network is down": [
        did("first-failure", {"a": "s"}),
        did("no-progress", {"a": "!network", "b": "!network", "c": "!network"}),
        did("no-progress", {"a": "!network", "b": "!network", "c": "!network"}),
        did("no-progress infrastructure", {"a": "!network", "b": "!network", "c": "!network"}),
        did("progress", {"a": "other"}),
    ],
    "red, green, refactor": [
        did("first-failure", "a", edits=(_test("a", "added"),)),
        did("green"),
        did("first-failure", "b", edits=(_test("b", "added"),)),
        did("green"),
        did("green"),
        did("first-failure", "c", edits=(_test("c", "added"),)),
    ],
    "red, green, refactor beside an old failure": [
        did("first-failure", "old a"),
        did("progress", "old"),
        did("progress", "old b", edits=(_test("b", "added"),)),
        did("progress", "old"),
        did("progress", "old c", edits=(_test("c", "added"),)),
        did("progress", "old"),
        did("progress", "old d", edits=(_test("d", "added"),)),
        did("progress", "old"),
        did("progress", "old e", edits=(_test("e", "added"),)),
        did("progress", "old"),
    ],
    "a fresh episode after green": [
        did("first-failure", "a"),
        did("no-progress", "a"),
        did("green"),
        did("first-failure", "a"),
        did("no-progress", "a"),
        did("no-progress half_open repeated-failure", "a"),
    ],
    "cases whose ids are made of values": [
        did("first-failure", {"tests/test_a.py::p[0.25]": "s"}),
        did("no-progress", {"tests/test_a.py::p[0.75]": "s"}),
        did("no-progress half_open repeated-failure", {"tests/test_a.py::p[0.5]": "s"}),
    ],
    "new cases of a test never passed before": [
        did("first-failure", {"tests/test_a.py::p[1]": "s"}),
        did(
            "progress",
            {"tests/test_a.py::p[1]": "s", "tests/test_a.py::p[2]": "s"},
            edits=(_test("<module>", "edited"),),
        ),
        did("progress", {"tests/test_a.py::p[1]": "s"}),
        did(
            "progress",
            {"tests/test_a.py::p[1]": "s", "tests/test_a.py::p[3]": "s"},
            edits=(_test("<module>", "edited"),),
        ),
        did("progress", {"tests/test_a.py::p[1]": "s"}),
    ],
    "green runs of something else": [
        did("first-failure", "a"),
        did("no-progress", "", ran="x"),
        did("no-progress", "", ran="x"),
        did("no-progress", "", ran="x"),
        did("no-progress", "", ran="x", edit="none"),
        did("no-progress", "", ran="x", edit="none"),
        did("progress", {"a": "other"}),
    ],
    "green runs of what failed, then the first full one": [
        did("first-failure", "a"),
        did("green", "", ran="a"),
        did("green", "", ran="a", edit="none"),
        did("green", "", ran="a", edit="none"),
        did("no-progress regression", "b", edit="none"),
    ],
    "another exception each time with nothing edited": [
        did("first-failure", {"a": "s1"}),
        did("no-progress", {"a": "s2"}, edit="none"),
        did("no-progress half_open no-edit", {"a": "s3"}, edit="none"),
        did("stuck open no-edit", {"a": "s4"}, edit="none"),
    ],
    "whack-a-mole after a collection error": [
        did("first-failure", {"tests/test_a.py": "import"}, stopped="1 error during collection"),
        did("progress", "a"),
        did("no-progress regression", "b"),
        did("no-progress half_open regression", "c"),
        did("stuck open whack-a-mole regression", "d"),
    ],
    "a file that cannot be collected, repaired, and something else broken": [
        did("first-failure", "a"),
        did("no-progress", {"tests/test_b.py": "import"}, stopped="1 error during collection"),
        did("no-progress half_open regression", "a b"),
    ],
    "a syntax error between, and something else broken each time": [
        did("first-failure", "a"),
        did("no-progress", {"tests/test_b.py": "syntax"}, stopped="1 error during collection"),
        did("no-progress half_open regression", "b"),
        did("stuck open regression", {"tests/test_b.py": "syntax"}, stopped="1 error during collection"),
    ],
    "what was broken on the way is repaired on the way to fewer": [
        did("first-failure", "b z"),
        did("no-progress", "b z x"),
        did("progress", "z x"),
        did("progress", "z"),
    ],
    "fewer subtests fail, then more": [
        did("first-failure", {"a": "s*6"}),
        did("progress", {"a": "s*5"}),
        did("progress", {"a": "s*4"}),
        did("progress", {"a": "s*3"}),
        did("progress", {"a": "s*2"}),
        did("no-progress", {"a": "s*4"}),
    ],
    "a test that comes further each time, whatever it raises": [
        did("first-failure", {"a": "s1^10"}),
        *(did("progress", {"a": f"s{n}^{10 + n}"}) for n in range(2, 10)),
    ],
    "a test that fails sooner": [
        did("first-failure", {"a": "s1^20"}),
        did("no-progress", {"a": "s2^10"}),
    ],
    "setup breaks where the call had failed": [
        did("first-failure", {"a": "s1"}),
        did("no-progress", {"a": "s2"}, phase={"a": "setup"}),
        did("no-progress", {"a": "s1"}),
    ],
    "a killed run comes first": [
        did("first-failure", killed=True),
        did("first-failure", "a"),
        did("no-progress", "a"),
        did("no-progress half_open repeated-failure", "a"),
    ],
    "timeouts come first": [
        did("first-failure", {"t": "!timeout"}),
        did("first-failure", "a"),
        did("no-progress", "a"),
    ],
    "a test is moved and edited at once": [
        did("first-failure", "a"),
        did(
            "no-progress",
            {"tests/test_new.py::a": "a"},
            edits=(_test("a", "removed"), _file("tests/test_new.py", "a", "added")),
        ),
    ],
    "a test is skipped by itself": [
        did("first-failure", "a b"),
        did("no-progress", "b", skip="a", edit="none"),
    ],
    "tests in files that were edited are not known to have passed": [
        did("first-failure", "a"),
        did("no-progress", "a b", edits=(Edit(file="tests/data.json"),)),
    ],
    "one fixed and two that had passed broken, beside an edit of a text": [
        did("first-failure", "a", collected=5),
        did("no-progress", "b c", edits=(*EFFECTIVE, Edit(file="README.md")), collected=5),
    ],
    "one fixed and two that had passed broken, beside a helper of the tests": [
        did("first-failure", "a", collected=5),
        did("no-progress", "b c", edits=(*EFFECTIVE, _test("helper", "added")), collected=5),
    ],
    "one fixed, two that had passed broken, and a test added that fails": [
        did("first-failure", "a", collected=5),
        did("no-progress", "b c new", edits=(*EFFECTIVE, _test("new", "added")), collected=6),
    ],
    "one fixed and two cases of new data fail": [
        did("first-failure", "a", collected=5),
        did("progress", "b c", edits=(*EFFECTIVE, Edit(file="data.json")), collected=7),
    ],
    "failures that a broken folder had hidden are not broken": [
        did(
            "first-failure",
            {"tests/sub/conftest.py": "import"},
            collected=5,
            phase={"tests/sub/conftest.py": "collect"},
        ),
        did("progress", {"tests/sub/test_x.py::x": "s", "tests/sub/test_x.py::y": "s"}, collected=5),
    ],
    "fix one break one, the best count in the first run, others failing": [
        did("first-failure", "a x y"),
        did("no-progress", "b x y"),
        did("no-progress half_open repeated-failure regression", "c x y"),
        did("stuck open repeated-failure whack-a-mole regression", "d x y"),
        did("stuck open repeated-failure whack-a-mole regression", "e x y"),
    ],
    "fix one break one, after a lower count": [
        did("first-failure", "a b c x"),
        did("progress", "d x"),
        did("no-progress regression", "e x"),
        did("no-progress half_open repeated-failure regression", "f x"),
        did("stuck open repeated-failure whack-a-mole regression", "g x"),
    ],
    "the same failure after each green run": [
        did("first-failure", "a"),
        did("green"),
        did("first-failure", "a"),
        did("green"),
        did("first-failure oscillation", "a b"),
        did("no-progress", "a b"),
        did("green"),
        did("first-failure", "b"),
        did("green"),
        did("first-failure oscillation", "a"),
    ],
    "the same test after each green run, with another failure": [
        did("first-failure", {"a": "s1"}),
        did("green"),
        did("first-failure", {"a": "s2"}),
        did("green"),
        did("first-failure", {"a": "s3"}),
    ],
    "the same failure after each green run, its test edited": [
        did("first-failure", "a", edits=(_test("a", "added"),)),
        did("green"),
        did("first-failure", "a", edits=(_test("a", "edited"),)),
        did("green"),
        did("first-failure", "a", edits=(_test("a", "edited"),)),
    ],
    "a green subset over a red rest": [
        did("first-failure", "a b"),
        did("no-progress", "", ran="c"),
        did("progress", "", ran="a"),
    ],
}
