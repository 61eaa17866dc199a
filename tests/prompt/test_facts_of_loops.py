"""Every number and every run that the prompt names, counted again from the raw runs of loops that are drawn."""

import re
from dataclasses import dataclass

from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace
from records import TEST, failure, observed, raised, source, verdict

from loop_close.judge import report_of
from loop_close.keys import records_of
from loop_close.loop import fold
from loop_close.model import Counts, Suspect
from loop_close.prompt.compose import compose
from loop_close.prompt.sections import DEFAULT_SECTIONS
from loop_close.records import Edit, Edits, Run
from loop_close.signals import signals

NAMES = "abcd"
BODY = source("def total():", "    return 1", start=8)
SUSPECT = Suspect(file="src/shop/cart.py", line=8, end_line=9, function="total", score=0.6)


@dataclass(frozen=True)
class Told:
    """One run as it was: what each test that ran gave, 0 for passing, 9 for an exception, else a wrong value."""

    number: int
    tree: tuple[int, ...]
    gave: dict[str, int]
    is_edited: bool


def node(name):
    return f"{TEST}::test_{name}"


def failed(name, value):
    if value == 9:
        return failure(raised("KeyError", "'eu'"), node(name))
    return failure(verdict(message=f"assert {value} == 0", test=f"test_{name}"), node(name))


def observation(told):
    found = [failed(name, value) for name, value in told.gave.items() if value]
    passed = len(told.gave) - len(found)
    return observed(*found, exit_code=int(bool(found)), counts=Counts(failed=len(found), passed=passed))


def run_of(told, report):
    edits = Edits(kind="none")
    if told.is_edited:
        change = Edit(file="src/shop/cart.py", function="total", diff=f"-old\n+{told.tree}\n+more")
        edits = Edits(kind="effective", edits=(change,))
    outcomes = {node(name): "failed" if value else "passed" for name, value in told.gave.items()}
    return Run(
        id=str(told.number),
        number=told.number,
        tree=str(told.tree),
        scope="" if len(told.gave) == len(NAMES) else " ".join(sorted(told.gave)),
        is_finished=True,
        is_green=not any(told.gave.values()),
        outcomes={"pytest": outcomes},
        failures=records_of(report.causes, "pytest"),
        edits=edits,
    )


values = st.sampled_from([0, 1, 2, 9])
trees = st.tuples(*[values] * len(NAMES))


@st.composite
def loops(draw):
    """Runs: edits, reverts to earlier files, runs without an edit, of some tests, in any order. The last one is red."""
    seen = [draw(trees)]
    for _ in range(draw(st.integers(0, 7))):
        seen.append(draw(st.just(seen[-1]) | st.sampled_from(seen) | trees))
    made = []
    for number, tree in enumerate(seen, 1):
        ran = draw(st.just(NAMES) | st.permutations(NAMES) | st.sets(st.sampled_from(NAMES), min_size=1))
        gave = {name: tree[NAMES.index(name)] for name in ran}
        is_edited = number > 1 and tree != seen[number - 2]
        made.append(Told(number=number, tree=tree, gave=gave, is_edited=is_edited))
    return made


def prompt_of(runs):
    rows = [run_of(told, report_of(observation(told))) for told in runs]
    loop = fold(rows)
    report = report_of(observation(runs[-1]))
    causes = tuple(replace(cause, suspects=(SUSPECT,), excerpts=(BODY,)) for cause in report.causes)
    report = replace(report, causes=causes, loop=loop, signals=signals(loop, rows), since=None)
    return loop, compose(report, DEFAULT_SECTIONS, budget=8000)


def states(runs):
    """After each run what each test gave when it last ran."""
    known = {}
    for told in runs:
        known = {**known, **told.gave}
        yield known


def began_after(runs):
    """The number of the run after which nothing was known to fail: the loop begins after the last such run."""
    pairs = zip(runs, states(runs), strict=True)
    green = (told.number for told, known in pairs if not any(known.values()))
    return max(green, default=0)


def effects(runs):
    """By run what changed for the tests that had failed or fail now, and how many are known to fail after it."""
    known, found = {}, {}
    for told in runs:
        now = {**known, **told.gave}
        counted = dict.fromkeys(
            ("fixed", "new", "failing in another way", "with other values", "unresolved", "not run"), 0
        )
        for name, value in now.items():
            before = known.get(name, 0)
            if before and name not in told.gave:
                counted["not run"] += 1
            elif before and not value:
                counted["fixed"] += 1
            elif value and not before:
                counted["new"] += 1
            elif before and value:
                same = (
                    "unresolved"
                    if before == value
                    else "with other values"
                    if 9 not in (before, value)
                    else "failing in another way"
                )
                counted[same] += 1
        said = ", ".join(f"{number} {name}" for name, number in counted.items() if number) or "no change"
        failing = sum(map(bool, now.values()))
        found[told.number] = f"{said}; {failing} count as failing", failing
        known = now
    return found


def since(runs, name):
    """The run since which a test has been failing, in the runs that ran it."""
    first = 0
    for told in runs:
        value = told.gave.get(name)
        first = first if value is None else 0 if not value else first or told.number
    return first


def attempts(runs):
    """The runs that were the first after an edit to run a test which failed before it."""
    known, last, edited, tried = {}, {}, 0, 0
    for told in runs:
        edited = told.number if told.is_edited else edited
        if edited > tried and any(known.get(name) and last[name] < edited for name in told.gave):
            yield told
            tried = told.number
        known = {**known, **told.gave}
        last = {**last, **dict.fromkeys(told.gave, told.number)}


@settings(max_examples=60, deadline=None)
@given(loops())
def test_every_number_of_the_prompt_is_that_of_the_runs(runs):
    if not any(runs[-1].gave.values()):
        return
    loop, prompt = prompt_of(runs)
    assert "Left out" not in prompt
    here = [told for told in runs if told.number > began_after(runs)]
    after, last = effects(runs), runs[-1].number
    # The state, and the table.
    state = re.search(r"^Run (\d+): (.*?; \d+ count as failing)\.", prompt, re.MULTILINE)
    assert (state is not None) == (len(here) > 1)
    assert state is None or (int(state[1]), state[2]) == (last, after[last][0])
    rows = re.findall(r"^\| (\d+) \| (.*) \| (.*) \|$", prompt, re.MULTILINE)
    tried = [*attempts(here)]
    assert [int(number) for number, *_ in rows] == [told.number for told in tried][-6:]
    for number, _, effect in rows:
        assert effect == after[int(number)][0]
    # The attempts that did not advance.
    stalled = re.search(
        r"(\d+) attempts? (?:in a row )?did not advance; tests failing after: ([\d, ]+)\.", prompt
    )
    assert (int(stalled[1]) if stalled else 0) == loop.stalled
    if stalled:
        counts = [after[told.number][1] for told in tried][-loop.stalled :]
        assert [int(number) for number in stalled[2].split(", ")] == counts
        assert ("Stuck: " in prompt) == (loop.stalled >= 3)
    assert ("\nNo file changed" in prompt or ". No file changed" in prompt) == (
        len(here) > 1 and not runs[-1].is_edited
    )
    # Each root cause: since when, which values, and what passed before.
    for part in re.split(r"\n## \d+\. |\n## Earlier", prompt):
        named = re.findall(r"test_([abcd])\b", " ".join(re.findall(r"Shown by .*|more failing: .*", part)))
        names = list(dict.fromkeys(named))
        began = [since(here, name) for name in names]
        line = re.search(r"^Failing since (.*?)\.", part, re.MULTILINE)
        if line:
            runs_said = re.findall(r"run (\d+)(?: \((\d+)\))?", line[1])
            assert [(int(n), int(c or began.count(int(n)))) for n, c in runs_said] == [
                (n, began.count(n)) for n in sorted(set(began))
            ]
        elif names:
            assert set(began) == {last}
        for value, number in re.findall(r"`(\d)` \(run (\d+)\)", part):
            told = runs[int(number) - 1].gave
            assert int(value) in {told.get(name) for name in re.findall(r"test_([abcd])\b", part)}
        passed = re.search(r"(\d) of (\d) passed in an earlier run", part)
        had = [any(told.gave.get(name) == 0 for told in runs) for name in names]
        assert (int(passed[1]) if passed else 0) == sum(had)
        assert not passed or int(passed[2]) == len(names)
