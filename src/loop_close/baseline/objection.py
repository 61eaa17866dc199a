"""What the tests as they were say: if they changed, those of the baseline run against the present code, in a copy.

A green check whose tests changed is objected to unless the old tests pass too, however the new ones were written.
"""

from __future__ import annotations

import difflib
import os
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path

from msgspec.structs import replace

from loop_close.baseline import (
    LARGEST,
    Baseline,
    changed,
    checks_changed,
    load,
    missing,
    of_tree,
    old_content,
    read,
    text_of,
)
from loop_close.baseline.copy import CannotIsolateError, run_copy
from loop_close.child import NEVER, Stop
from loop_close.facts import file_of, test_function
from loop_close.records import Objection, OldOutcome, PytestContext, Run
from loop_close.text import one_line
from loop_close.text.normalize import stabilize
from loop_close.text.redact import clean
from loop_close.tree import Tree, git

#: Seconds that the old tests may take: so many times as long as the check, within these bounds; always twice as long.
_TIMES, _LEAST, _MOST = 10, 60.0, 1_800.0
_MOST_TESTS, _MOST_LINES, _MOST_TEXT = 50, 200, 1_000_000


def pending(root: Path, tree: Tree, runs: Sequence[Run] = ()) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """What a person may accept; nothing where there is no baseline.

    :param tree: the present files.
    :param runs: the newest results on the present files, oldest first.
    :returns: the test files that differ, and the test functions of the baseline that did not run.
    """
    baseline = load(root)
    if baseline is None:
        return (), ()
    functions = {each for run in {run.check: run for run in runs}.values() for each in missing(baseline, run)}
    return changed(root, baseline, tree), tuple(sorted(functions))


def lines_of_pending(root: Path, names: Sequence[str], functions: Sequence[str]) -> list[str]:
    """What a person reads before accepting what :func:`pending` returned."""
    baseline = load(root)
    if baseline is None or not (names or functions):
        return ["the tests are as they were"]
    lines = [f"differs from the baseline: {one_line(path, 300)}" for path in names]
    lines += [f"did not run: {one_line(test, 300)}" for test in functions[:_MOST_TESTS]]
    if names:
        lines.append(f"{at_head(root, names)} of {len(names)} equal the last commit")
    return [
        *lines,
        *_diff(root, baseline, names).splitlines(),
        "to accept: loop-close accept FILE..., or --all",
    ]


def at_head(root: Path, names: Collection[str]) -> int:
    """How many of the files are as in the last commit, whatever the index says; 0 without git."""
    known = set(os.fsdecode(git(root, "ls-tree", "-r", "--name-only", "-z", "HEAD")).split("\0"))
    there = [(name, git(root, "cat-file", "blob", f"HEAD:./{name}")) for name in names if name in known]
    return sum(read(root, name) == content for name, content in there)


# --- the objection


def objection_to(
    root: Path,
    baseline: Baseline,
    tree: Tree,
    run: Run,
    contexts: Sequence[PytestContext] | None,
    stop: Stop = NEVER,
) -> Objection | None:
    """What the tests as they were say to a green run. They run if a file of theirs differs, or one did not run.

    :param run: the green run of a check on these files.
    :param contexts: how each pytest in it was started that reported. None for a check that runs no tests: then only
        the commands of the checks have to be those of the baseline.
    :returns: None if they pass, or nothing changed.
    """
    names, absent = changed(root, baseline, tree), frozenset(missing(baseline, run))
    tests: list[OldOutcome] = []
    reason = checks_changed(root, baseline)
    if not reason and contexts is not None and (names or absent):
        try:
            if contexts:
                tests = _tests(root, baseline, tree, run, contexts, names, absent, stop)
            elif absent:
                tests = [OldOutcome(test=test, outcome="missing") for test in sorted(absent)]
            else:
                reason = "pytest did not report in this check; does its environment have loop-close?"
        except CannotIsolateError as error:
            reason = str(error)
    if not reason and not tests:
        return None
    return Objection(
        files=names,
        tests=tuple(tests[:_MOST_TESTS]),
        omitted=max(0, len(tests) - _MOST_TESTS),
        reason=_line(reason),
        diff=_diff(root, baseline, names),
    )


def _tests(
    root: Path,
    baseline: Baseline,
    tree: Tree,
    run: Run,
    contexts: Sequence[PytestContext],
    names: Collection[str],
    absent: Collection[str],
    stop: Stop,
) -> list[OldOutcome]:
    """The old tests that do not pass."""
    seconds = max(_LEAST, 2 * run.seconds, min(_TIMES * run.seconds, _MOST))
    known, started = baseline.functions.get(run.check), run.started
    if known is not None:  # a command line is no test: the present run says whether it is the same
        known = tuple(each for each in known if each not in started)
    found = run_copy(root, baseline, tree, contexts, changed=names, seconds=seconds, stop=stop)
    bad = list(unmet(found, known, names))
    doubtful = [
        each for each in bad if file_of(each.test) not in names and test_function(each.test) not in absent
    ]
    if doubtful:
        # Their files did not change: what ends alike with the present files does so because it is a copy. All of these
        # run, as one test may hide what another one shows.
        functions = sorted({test_function(each.test) for each in doubtful})
        control = run_copy(root, of_tree(root, tree), tree, contexts, changed=(), seconds=seconds, stop=stop)
        same = {_ending(each) for each in unmet(control, functions, ()) if each.outcome != "missing"}
        bad = [each for each in bad if each not in doubtful or _ending(each) not in same]
    return [
        OldOutcome(test=clean(each.test), outcome=each.outcome, reason=_line(each.reason)) for each in bad
    ]


def _ending(each: OldOutcome) -> tuple[str, str, str]:
    """How a test ended; without the values of its reason that differ from run to run."""
    name = each.test if each.outcome == "failed" else test_function(each.test)
    return name, each.outcome, stabilize(each.reason)


def unmet(
    outcomes: Mapping[str, tuple[str, str]], known: Sequence[str] | None, strict: Collection[str]
) -> Iterator[OldOutcome]:
    """The tests that do not say that the code is right, by name: failed, or not run although they ran before. Pure.

    :param outcomes: by node id, with the reason; of modules that could not be collected by their path.
    :param known: test functions that ran before; None if that is not known.
    :param strict: files whose skipped tests count if it is not known which ran before.
    """
    ran, not_run = set(), {}
    for test, (outcome, why) in sorted(outcomes.items()):
        old = OldOutcome(test=test, outcome=outcome, reason=why)
        if outcome in ("failed", "missing"):
            yield old
        if outcome in ("skipped", "xfailed"):
            not_run[test_function(test)] = old
        else:
            ran.add(test_function(test))
    if known is None:
        skipped = (function for function, each in not_run.items() if each.outcome == "skipped")
        known = [function for function in skipped if file_of(function) in strict]
    for function in known:
        module = file_of(function)
        if function not in ran and module not in ran:
            # Of a module that was skipped whole it is not known what is in it.
            found = not_run.get(function) or not_run.get(module)
            yield replace(found or OldOutcome(test="", outcome="missing"), test=function)


# --- what a person sees


def _line(text: str) -> str:
    return one_line(clean(text), 300)


def _diff(root: Path, baseline: Baseline, names: Collection[str]) -> str:
    """The difference of the files, bounded, without credentials."""
    lines: list[str] = []
    for path in names:
        if len(lines) > _MOST_LINES:
            break
        sides = [old_content(root, baseline, path), read(root, path, LARGEST)]
        if any(side is not None and (b"\0" in side or len(side) > _MOST_TEXT) for side in sides):
            lines.append(f"{path} differs, and is not shown")
            continue
        before, after = (text_of(side).splitlines() for side in sides)
        lines += difflib.unified_diff(before, after, f"a/{path}", f"b/{path}", lineterm="", n=2)
    text = clean("\n".join(lines[: _MOST_LINES + 1]))
    return text if len(lines) <= _MOST_LINES else f"{text}\n… more lines differ"
