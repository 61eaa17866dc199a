"""Does a test notice the change? The present tests run in copies of the project with product code as it was.

It is asked after the checks are green, and says facts. Nothing of it decides whether the work is done.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence, Set
from functools import partial
from pathlib import Path

import msgspec
from msgspec.structs import replace

from loop_close import files
from loop_close.baseline import Baseline, is_of_tests, of_tree
from loop_close.baseline.copy import CannotIsolateError, run_copy
from loop_close.child import NEVER, Stop
from loop_close.conventions import is_under_test
from loop_close.edits import between
from loop_close.facts import test_function
from loop_close.prompt import number_of, span, spans
from loop_close.prompt.report_json import Undo, Without
from loop_close.records import Run
from loop_close.store import Store
from loop_close.text.redact import clean
from loop_close.tree import Tree

#: Seconds for all of it: so many times as long as the checks took and some more, at most a minute. By itself: few.
_TIMES, _MORE, MOST, BY_ITSELF = 3, 5.0, 60.0, 5.0
#: If the checks took more than so many seconds, or than half of the time for all of it, tests run first that are known
#: to have run what was edited.
_FEW = 10.0
_MOST_FILES, _MOST_TESTS, _MOST_NAMED = 50, 50, 5
_RAN = ("passed", "xpassed", "failed")


def ask(
    root: Path,
    history: Path,
    tree: Tree,
    results: Sequence[Run],
    *,
    longest: float = MOST,
    stop: Stop = NEVER,
) -> Undo:
    """Run the present tests without the edits since the last done tree, unless it is kept what they say.

    :param history: the file of the store. ``tree``: the present files.
    :param results: the newest green result of each check on them.
    :param longest: the most seconds for all of it.
    :raises StoreError: when the history cannot be read. :raises InterruptionError: when we have to stop.
    """
    runs = [run for run in results if run.contexts]
    took = sum(run.seconds for run in runs)
    seconds = min(_TIMES * took + _MORE, longest)
    former = kept(root, tree.digest)
    if former is not None and (former.seconds >= seconds or not any(each.reason for each in former.found)):
        return former
    due = time.monotonic() + seconds
    left_out = tuple(run.check for run in results if not run.contexts)
    made = Undo(tree=tree.digest, seconds=seconds, left_out=left_out)
    if not runs:
        return replace(made, reason="there is no check whose pytest reported")
    tests = of_tree(root, tree)
    with Store(history, readonly=True) as store:
        number, before = _base(store, min(run.number for run in results), tree)
        if before is None:
            return replace(made, reason="no earlier state of the files is kept")
        paths = _differing(before, tree, tests)
        if len(paths) > _MOST_FILES:
            return replace(made, reason=f"{len(paths)} files of product code differ from run {number}")
        edited = dict(_edited(before, tree, paths, store))
        contents = {path: store.content(before[path]) if path in before else None for path in edited}
        is_long = took > min(_FEW, seconds / 2)
        guards = _guards(store, runs, edited) if is_long else {}
    ran = {test_function(test) for run in runs for test in _ran(run.tests)}
    contexts = [context for run in runs for context in run.contexts]
    run_in_copy = partial(run_copy, root, tests, tree, contexts, stop=stop, due=due)
    passed: dict[str, bool] = {}
    units = [tuple(edited)] * (len(edited) > 1) + [(path,) for path in edited]
    found = []
    for at, unit in enumerate(units):
        if time.monotonic() >= due:
            late = tuple(dict.fromkeys(path for each in units[at:] for path in each))
            found.append(Without(files=late, reason="there was no time for each of them alone"))
            break
        put = {path: contents[path] for path in unit}
        if lost := [path for path in unit if contents[path] is None and path in before]:
            found.append(Without(files=unit, reason=f"the content that {lost[0]} had is not kept"))
            continue
        one = Without(
            files=unit, reason="no test is known to have run what was edited, and all take too long"
        )
        if functions := {test for path in unit for test in guards.get(path, ())}:
            one = replace(_without(run_in_copy, put, functions, ran, passed), is_chosen=True)
        if not one.is_noticed and (not is_long or due - time.monotonic() > took):
            whole = _without(run_in_copy, put, None, ran, passed)
            one = whole if whole.ran or not one.ran else one
        found.append(one)
    return replace(made, run=number, found=tuple(found))


def keep(root: Path, made: Undo) -> None:
    """Keep what was found; what cannot be written is asked again, as is what was not asked."""
    with contextlib.suppress(OSError):
        if made.reason:
            return
        files.state_folder(root)
        files.write_bytes(root / files.UNDO, msgspec.json.encode(made))


def kept(root: Path, tree: str) -> Undo | None:
    """What was found for these files; None if it was not asked."""
    with contextlib.suppress(OSError, msgspec.MsgspecError, UnicodeDecodeError):
        made = msgspec.json.decode((root / files.UNDO).read_bytes(), type=Undo)
        return made if made.tree == tree else None
    return None


def _base(store: Store, first: int, tree: Tree) -> tuple[int, Mapping[str, str] | None]:
    """The last run before these results that was done on other files, else the first one; and the files then."""
    earlier = [run for run in store.runs() if run.number < first]
    done = [run for run in earlier if run.is_done and run.tree != tree.digest]
    base = next(iter([*done[-1:], *earlier[:1]]), None)
    return (base.number, store.files(base.tree)) if base is not None else (0, None)


def _differing(before: Mapping[str, str], tree: Tree, tests: Baseline) -> list[str]:
    """The product files that differ."""
    paths = {path for path, _ in before.items() ^ tree.files.items() if is_under_test(path)}
    return sorted(path for path in paths if not is_of_tests(path, tests.patterns))


def _edited(
    before: Mapping[str, str], tree: Tree, paths: Sequence[str], store: Store
) -> Iterator[tuple[str, set[str]]]:
    """Those of the files with an effective edit, each with the functions that were edited."""
    for path in paths:
        sides = [{path: side[path]} if path in side else {} for side in (before, tree.files)]
        edits = between(sides[0], sides[1], store.content)
        if edits.kind == "effective":
            yield path, {each.function for each in edits.edits if each.is_effective}


def _guards(store: Store, runs: Sequence[Run], edited: Mapping[str, Collection[str]]) -> dict[str, set[str]]:
    """By file the test functions that are known to have run its edited functions."""
    found: dict[str, set[str]] = {path: set() for path in edited}
    for source in {source for run in runs for source in run.outcomes}:
        known = store.calls(source)
        for each in known.calls.functions if known is not None else ():
            if each.function in edited.get(each.file, ()):
                found[each.file].update(map(test_function, each.guards))
    return found


def _ran(outcomes: Iterable[tuple[str, str]]) -> list[str]:
    """The tests that passed or failed, without modules that could not be collected."""
    return [test for test, outcome in outcomes if outcome in _RAN and "::" in test]


def _without(
    run_in_copy: Callable[..., dict[str, tuple[str, str]]],
    put: Mapping[str, bytes | None],
    functions: Set[str] | None,
    known: Set[str],
    passed: dict[str, bool],
) -> Without:
    """What the tests say with other contents for some files.

    :param functions: the test functions to run; None for all. ``known``: those that ran in the checks.
    :param passed: of tests that failed without an edit, whether they pass in a copy with all edits; more are added.
    """
    made, reason = Without(files=tuple(put)), ""
    try:
        found = run_in_copy(put=put, changed=tuple(put), functions=functions)
    except CannotIsolateError as error:
        return replace(made, reason=clean(str(error), 300))
    outcomes = {test: outcome for test, (outcome, _) in found.items()}
    failed = sorted(test for test, outcome in outcomes.items() if outcome == "failed")
    if new := [test for test in failed if test not in passed]:
        try:  # what fails with the edits, too, fails because it is a copy, or by chance
            control = run_in_copy(changed=(), functions={test_function(test) for test in new})
            for test in new:  # of a module only a failure is reported
                outcome, _ = control.get(test, ("missing" if "::" in test else "passed", ""))
                passed[test] = outcome in ("passed", "xpassed")
        except CannotIsolateError as error:
            reason = clean(str(error), 300)
    apart = {test for test in failed if not passed.get(test, True)}
    counted = [test for test in failed if test not in apart]
    tests = [test for test in counted if "::" in test]
    modules = [test for test in counted if "::" not in test]
    ran = _ran(outcomes.items())
    xfailed = [test for test, outcome in outcomes.items() if outcome == "xfailed"]
    there = set(map(test_function, (*ran, *xfailed)))
    wanted = known if functions is None else known & functions
    return replace(
        made,
        ran=len(set(ran) - apart),
        failing=len(tests),
        failed=tuple(map(clean, tests[:_MOST_TESTS])),
        uncollected=tuple(map(clean, modules[:_MOST_TESTS])),
        absent=len(wanted - there),
        apart=len(apart),
        reason=reason,
    )


# --- in words


def lines_of(found: Undo) -> list[str]:
    """The facts, a line each, in Markdown."""
    if found.reason:
        lines = [f"What the tests say without the change is not known: {found.reason}."]
    elif not found.found:
        but = "but for comments, formatting and docstrings"
        lines = [f"No product code was edited since run {found.run}, {but}."]
    else:
        lines = [f"Product code as it was in run {found.run}, with the present tests:"]
        lines += [f"- {_in_words(each)}" for each in found.found]
    return [
        *lines,
        *[f"- left out, as no pytest reported: {spans(found.left_out, _MOST_NAMED)}"] * bool(found.left_out),
    ]


def _in_words(each: Without) -> str:
    parts = [f"cannot be collected: {spans(each.uncollected, _MOST_NAMED)}"] * bool(each.uncollected)
    if each.failing:
        names = [*each.failed, *[""] * (each.failing - len(each.failed))]
        of = number_of(each.ran, "test", "tests")
        parts.append(f"{each.failing:,} of {of} fail{'s' * (each.failing == 1)}: {spans(names, _MOST_NAMED)}")
    elif each.ran:
        parts.append(number_of(each.ran, "test that ran passes", "tests that ran pass"))
        parts[-1] = f"{'the' if each.ran == 1 else 'all'} {parts[-1]}"
    elif not each.apart:
        parts.append("no test ran")
    if each.reason and not (each.ran or each.uncollected):
        parts = [f"it is not known what the tests say ({span(each.reason, 300)})"]
    elif each.reason:
        parts.append(f"whether these pass in a copy with the change is not known ({span(each.reason, 300)})")
    parts += [f"{number_of(each.absent, 'test function', 'test functions')} did not run"] * bool(each.absent)
    parts += [f"not counted are {each.apart:,} that do not pass in a copy with the change either"] * bool(
        each.apart
    )
    parts += ["only tests ran that are known to have run what was edited"] * each.is_chosen
    return f"without the change in {spans(each.files, _MOST_NAMED)} {'; '.join(parts)}"
