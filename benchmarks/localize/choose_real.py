"""Choosing real faults: what changed from one release to the next, put back piece by piece where tests see it."""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path
from random import Random
from typing import Any

from benchmarks.localize import revert
from benchmarks.localize.choose import tried
from benchmarks.localize.faults import Fault, Reversal
from benchmarks.localize.fetch import copied, tree
from benchmarks.localize.projects import Project
from benchmarks.localize.releases import Series
from benchmarks.localize.spans import MODULE
from benchmarks.localize.trial import Choice, Trial, say

WANTED = 20  # faults a project
_MOST = {"class": 5, "module": 5}
_PER_PAIR = 14  # of one kind that are tried


def choose_real(choice: Choice, table: Sequence[Series]) -> Iterator[tuple[list[Fault], Counter[str]]]:
    """Of each project its faults, and how many changes were not faults, by the reason.

    They are the same whenever they are of the same releases with the same seed.
    """
    with ThreadPoolExecutor(choice.jobs) as pool:
        for done in as_completed([pool.submit(_of_series, choice, series) for series in table]):
            yield done.result()


def _of_series(choice: Choice, series: Series) -> tuple[list[Fault], Counter[str]]:
    random, dropped = Random(f"{choice.seed} {series.plan.name}"), Counter[str]()
    queues: dict[str, list[Fault]] = {kind: [] for kind in revert.KINDS}
    trials: dict[str, Trial] = {}
    with tempfile.TemporaryDirectory(prefix="localize-") as folder:
        for older, newer in series.pairs:
            trial = Trial(newer, copied(newer, choice.cache, Path(folder)), choice, mismatch)
            try:
                trial.start()
            except RuntimeError as error:
                say(str(error))
                dropped["the release is red"] += 1
                continue
            trials[newer.version] = trial
            found = list(_candidates(trial, older, tree(older, choice.cache), dropped))
            random.shuffle(found)
            for kind, queue in queues.items():
                queue += [f for f in found if f.kind == kind and f.id not in choice.known][:_PER_PAIR]
        for queue in queues.values():
            random.shuffle(queue)
        faults = list(tried(lambda fault: _judged(trials, fault), queues, WANTED, _MOST))
    for trial in trials.values():
        dropped.update(trial.dropped)
    dropped["not tried: there are enough"] += sum(map(len, queues.values()))
    say(f"{series.plan.name}: {len(faults)} faults, {sum(f.hidden for f in faults)} of them hidden")
    return faults, dropped


def _judged(trials: Mapping[str, Trial], fault: Fault) -> Fault | None:
    assert isinstance(fault, Reversal)
    return trials[fault.version].judged(fault)


def _candidates(trial: Trial, older: Project, before: Path, dropped: Counter[str]) -> Iterator[Reversal]:
    """Every change between two releases that makes a program which could work, on lines that the tests run."""
    files = sorted(file for file in trial.lines if trial.project.is_source(file))
    texts = {file: ((trial.root / file), (before / file)) for file in files if (before / file).is_file()}
    pairs = {
        file: (now.read_bytes().decode(), old.read_bytes().decode()) for file, (now, old) in texts.items()
    }
    gone = _defined(before, older) - _defined(trial.root, trial.project)
    for file, (now, old) in pairs.items():
        for key in revert.differing(now, old) if now != old else ():
            if not revert.reached(now, key, trial.lines[file]):
                dropped["no test runs it"] += 1
                continue
            try:
                changed, lines = revert.reverted(now, old, key)
            except (ValueError, SyntaxError):
                dropped["no valid syntax in its place"] += 1
                continue
            if revert.unknown(changed, now) or revert.outdated(old, key, gone):
                dropped["it uses a name that is gone"] += 1
                continue
            yield Reversal(
                project=trial.project.name,
                kind=key.kind,
                file=file,
                function=key.name,
                version=trial.project.version,
                older=older.version,
                target=key.target,
                lines=lines,
            )


def _defined(root: Path, project: Project) -> frozenset[str]:
    """The names that a release defines anywhere in its sources."""
    top = root / project.sources
    files = [top] if top.is_file() else sorted(top.rglob("*.py"))
    return revert.defined(file.read_bytes().decode() for file in files)


def mismatch(fault: Fault, found: Mapping[str, Any]) -> str:
    """Why what fails shows no fault but two releases that do not fit together; empty where it is a fault."""
    if set(found["sorts"]) == {"name"}:
        return "only NameError or ImportError"
    if set(found["sorts"]) == {"arguments"}:
        return "only TypeError for arguments that do not fit"
    is_loaded = any("::" in test for test in found["failed"])
    own = {(file, name) for file, _, name in found["shown"]}
    return "" if is_loaded or (fault.file, MODULE) not in own else "the file cannot be imported"
