"""How well a tool's words on a red run name the faulty function: ``python -m benchmarks.localize``.

Small faults are put, one at a time, into projects from PyPI, and each project's own tests are run under each tool.
With ``--real`` they are not mutations but what people changed: a function, or a statement of a class or module, is put
back to what it was in the release before, where the tests of the newer release fail then.

The rule is one for all tools. A tool's words are read for the functions of the code under test (not of tests) that
it names, in the order in which it names them, each counted where it comes first; a ``file:line`` names the innermost
function around it. It is scored whether the faulty one is the first, among the first three, among the first five:

- loop-close: the ``suspects`` of the root causes in its JSON report, cause by cause; of a cause that has none, its
  ``location``. Its text is ``nextprompt.md``.
- pytest: the frames of the first failure from where it was raised outwards, then those of the next. Its text is
  what it prints with ``-q``.
- pytest-receptor: group by group the place it names, then its frames from where it was raised outwards. Its text
  is what it prints with ``--receptor=llm``.

A second row of loop-close, ``text``, is for the reader of its prompt: every ``file:line`` and every function that is
named with its file counts, from the title downwards.

Of the text it is counted whether it names the faulty file, whether it names or quotes the faulty line or one at most
three from it, and how many tokens it has by the vocabulary o200k_base (with ``rs-bpe``, else estimated). ``groups`` are
root causes, or sections of failures.
A fault in an import has no function: naming the line, or anything that runs at import in that file, counts. For one
in a class body naming the class counts, or a faulty line.

``hidden`` are the faults whose function is on no traceback of any failing test. Rules are tuned with one half of the
faults and reported on the other; real faults are halved by project.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import warnings
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict, replace
from pathlib import Path

from benchmarks.localize import faults as lists
from benchmarks.localize import releases
from benchmarks.localize.choose import choose
from benchmarks.localize.choose_real import choose_real
from benchmarks.localize.faults import Fault
from benchmarks.localize.fetch import default_cache
from benchmarks.localize.measure import TOOLS, Bench, installed, lacking, measure
from benchmarks.localize.pin import pin
from benchmarks.localize.projects import BY_NAME, PROJECTS, Project
from benchmarks.localize.receptor import NAME as PEER
from benchmarks.localize.score import Score
from benchmarks.localize.table import calibration, markdown, plain, rows
from benchmarks.localize.trial import Choice


def main(arguments: Sequence[str] | None = None) -> int:
    """Parse the command line, choose or measure, print."""
    warnings.simplefilter("ignore", SyntaxWarning)  # of the projects' own text
    options = _parser().parse_args(arguments)
    both = (options.fit or options.ablate) and not options.faults
    options.faults = options.faults or (lists.REAL if options.real else lists.LIST)
    if options.pin:
        return _pin(options)
    if options.choose:
        return _choose_real(options) if options.real else _choose(options)
    faults = {fault.id: fault for fault in _wanted(options)}
    if both:
        options.faults = lists.LIST if options.real else lists.REAL
        faults |= {fault.id: fault for fault in _wanted(options)}
    if options.pairs or options.fit or options.ablate:
        print(_from_kept(options, list(faults.values())))
        return 0
    scores = []
    with open(options.out or os.devnull, "w", encoding="utf-8") as out:  # at once: a long run may be ended
        for score in _scores(options, list(faults.values())):
            scores.append(score)
            print(_line(faults[score.fault], score), file=out, flush=True)
    shape = markdown if options.markdown else plain
    print(shape(rows(faults, scores, options.by)))
    if options.calibration:
        print()
        print(shape(calibration(scores)))
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.localize",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = parser.add_argument
    add(
        "--cache",
        type=Path,
        default=default_cache(),
        metavar="FOLDER",
        help="for what is fetched (%(default)s)",
    )
    add("--jobs", type=int, default=2, metavar="N", help="runs at the same time (%(default)s)")
    add(
        "--only",
        action="append",
        choices=sorted({*BY_NAME, *releases.RELEASES}),
        metavar="PROJECT",
        help="this project; may be repeated",
    )
    add("--real", action="store_true", help="faults that people made, found between releases; no mutations")
    add("--choose", action="store_true", help="make the list of faults anew, measure nothing")
    add("--pin", action="store_true", help="with --real: look for releases whose tests run here")
    add("--more", choices=("tune", "report"), help="for --choose: add faults to the list, all for this half")
    add(
        "--at-import",
        action="store_true",
        help="for --choose: hidden faults only, on lines that run while modules are imported",
    )
    add("--seed", type=int, default=1, help="for --choose (%(default)s)")
    add(
        "--faults",
        type=Path,
        metavar="FILE",
        help="the list (the one that is checked in)",
    )
    add("--half", choices=("tune", "report", "all"), default="report", help="of the faults (%(default)s)")
    add("--limit", type=int, metavar="N", help="at most N faults, spread over the projects")
    add(
        "--tool",
        action="append",
        choices=list(TOOLS),
        help="may be repeated; all that are installed by default",
    )
    add("--peer-python", default=sys.executable, metavar="PATH", help="the interpreter that has the peer")
    add("--keep", type=Path, metavar="FOLDER", help="keep there what loop-close observed of each fault")
    add("--replay", type=Path, metavar="FOLDER", help="judge what was kept there; run no tests")
    add(
        "--ablate",
        type=Path,
        metavar="FOLDER",
        help="what each clue and part is worth, by what was kept there of the tuning halves of both lists",
    )
    add("--pairs", type=Path, metavar="FOLDER", help="put what was kept there together, two faults at a time")
    add(
        "--fit",
        type=Path,
        metavar="FOLDER",
        help="fit the weights to what was kept there of the tuning halves of both lists (needs SciPy)",
    )
    add("--out", type=Path, metavar="FILE", help="write every score there, a line of JSON each")
    add("--by", choices=("kind", "project", "tests"), default="", help="a row for each, not hidden and shown")
    add(
        "--calibration",
        action="store_true",
        help="print how often places are right, by their stated probability",
    )
    add("--markdown", action="store_true", help="print the table as Markdown")
    return parser


def _from_kept(options: argparse.Namespace, faults: Sequence[Fault]) -> str:
    from benchmarks.localize.pairs import pairs

    folder = options.pairs or options.fit or options.ablate
    if not any((folder / f"{fault.id}.pickle").exists() for fault in faults):
        raise SystemExit(f"{folder}: nothing of these faults is kept there; --keep {folder} does that")
    if options.pairs:
        return pairs(options.pairs, faults)
    if options.ablate:
        from benchmarks.localize.ablate import ablate

        table = ablate(options.ablate, options.cache, faults, options.jobs)
        return (markdown if options.markdown else plain)(table)
    try:
        from benchmarks.localize.fit import fit
    except ModuleNotFoundError as missing:
        raise SystemExit(f"--fit needs {missing.name}: {sys.executable} -m pip install scipy") from None
    weights = fit(options.fit, options.cache, faults)
    return "\n".join(f"{name:20} {weight:6.2f}" for name, weight in weights.items())


def _choose(options: argparse.Namespace) -> int:
    """Write the list; of projects that are not chosen anew, or get more, what stands there is kept."""
    if options.more and not options.faults.exists():
        raise SystemExit(
            f"{options.faults}: there is no such list to add faults to; --choose alone makes one"
        )
    only = options.only or [project.name for project in PROJECTS]
    listed = lists.load(options.faults) if options.faults.exists() else []
    kept = [fault for fault in listed if options.more or fault.project not in only]
    known = frozenset(fault.id for fault in kept if fault.project in only)
    _check([BY_NAME[name] for name in only], sys.executable)
    choice = Choice(
        cache=options.cache, known=known, seed=options.seed, at_import=options.at_import, jobs=options.jobs
    )
    found = choose(choice, [BY_NAME[name] for name in only])
    found = [replace(f, half=options.more) for f in found] if options.more else lists.halved(found)
    lists.save(sorted([*kept, *found], key=lambda f: list(BY_NAME).index(f.project)), options.faults)
    print(f"{len(found)} faults, {sum(f.hidden for f in found)} of them hidden")
    return 0


def _choose_real(options: argparse.Namespace) -> int:
    """Write the list of real faults; of projects that are not chosen anew, what stands there is kept."""
    table = releases.RELEASES
    only = [name for name in options.only or table if table[name].releases]
    _check([table[name].plan for name in only], sys.executable)
    listed = lists.load(options.faults) if options.faults.exists() else []
    found = [fault for fault in listed if fault.project not in only]
    new: list[Fault] = []
    dropped = Counter[str]()
    choice = Choice(cache=options.cache, seed=options.seed, jobs=options.jobs)
    for faults, reasons in choose_real(choice, [table[name] for name in only]):
        new += [replace(fault, half=table[fault.project].half) for fault in faults]
        dropped.update(reasons)
        lists.save(sorted([*found, *new], key=lambda f: list(table).index(f.project)), options.faults)
    print(f"{len(new)} faults, {sum(f.hidden for f in new)} of them hidden")
    for what, counts in ("kind", Counter(f.kind for f in new)), ("tests", Counter(f.tests for f in new)):
        print(f"by {what}:", ", ".join(f"{name} {number}" for name, number in sorted(counts.items())))
    for why, number in dropped.most_common():
        print(f"{number:6} {why}")
    return 0


def _pin(options: argparse.Namespace) -> int:
    """Write the table of releases; projects that are not asked for keep theirs."""
    table = releases.dealt(releases.RELEASES)
    only = options.only or list(table)
    _check([table[name].plan for name in only], sys.executable)
    choice = Choice(cache=options.cache, jobs=options.jobs)
    for series in pin(choice, [table[name] for name in only]):
        table[series.plan.name] = series
        releases.save(table)
        print(f"{series.plan.name}: {len(series.releases)} releases", flush=True)
    return 0


def _wanted(options: argparse.Namespace) -> list[Fault]:
    """The faults that were asked for; a limit takes one of each project in turns."""
    half = "tune" if options.fit or options.ablate else options.half  # nothing is tuned on the other one
    found = [
        fault
        for fault in lists.load(options.faults)
        if fault.project in (options.only or (fault.project,)) and half in (fault.half, "all")
    ]
    turns: dict[str, int] = {}
    seen: Counter[str] = Counter()
    for fault in found:
        turns[fault.id] = seen[fault.project]
        seen[fault.project] += 1
    return sorted(found, key=lambda f: turns[f.id])[: options.limit] if options.limit else found


def _scores(options: argparse.Namespace, faults: Sequence[Fault]) -> Iterable[Score]:
    if options.replay:
        from benchmarks.localize.replay import replay

        return replay(options.replay, options.cache, faults)
    if options.keep:
        options.keep.mkdir(parents=True, exist_ok=True)
    tools = options.tool or [name for name in TOOLS if name != PEER or installed(options.peer_python)]
    _check(
        {fault.release for fault in faults}, sys.executable, *([options.peer_python] if PEER in tools else [])
    )
    bench = Bench(
        cache=options.cache,
        tools=tools,
        peer_python=options.peer_python,
        jobs=options.jobs,
        keep=options.keep,
    )
    return measure(bench, faults)


def _check(projects: Iterable[Project], *pythons: str) -> None:
    """Refuse to begin where what the projects' tests need is not there."""
    for python in dict.fromkeys(pythons):
        if names := lacking(python, projects):
            raise SystemExit(f"the projects' tests need more: {python} -m pip install {' '.join(names)}")


def _line(fault: Fault, score: Score) -> str:
    return json.dumps({**asdict(fault), **asdict(score)}, ensure_ascii=False)


if __name__ == "__main__":
    raise SystemExit(main())
