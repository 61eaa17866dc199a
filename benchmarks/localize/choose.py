"""Choosing the faults: changes to lines that tests run, tried one by one until enough of them make a test fail."""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from random import Random

from benchmarks.localize.faults import Fault
from benchmarks.localize.fetch import copied
from benchmarks.localize.mutate import EASY, KINDS, mutations
from benchmarks.localize.projects import PROJECTS, Project
from benchmarks.localize.spans import MODULE
from benchmarks.localize.trial import Choice, Trial, say

WANTED = 16  # faults a project
_EASY_PROJECTS = 8  # as many faults of each easy kind there are in all
_PER_FUNCTION = 2
_TRIES = 10  # of one kind, until another kind has its turn
Judged = Callable[[Fault], Fault | None]


def choose(choice: Choice, projects: Sequence[Project] = PROJECTS) -> list[Fault]:
    """Faults that are of neither half yet, the same whenever they are of the same projects with the same seed."""
    with ThreadPoolExecutor(choice.jobs) as pool:
        found = pool.map(lambda project: _of_project(choice, project), projects)
        return [fault for faults in found for fault in faults]


def _of_project(choice: Choice, project: Project) -> list[Fault]:
    with tempfile.TemporaryDirectory(prefix="localize-") as folder:
        root = copied(project, choice.cache, Path(folder))
        trial = Trial(project, root, choice)
        trial.start()
        queues = _candidates(project, root, trial.lines, choice)
        if choice.at_import:
            queues = {kind: _at_import(queue, trial.at_import) for kind, queue in queues.items()}
        most = dict.fromkeys(EASY, 1)
        return list(tried(trial.judged, queues, WANTED, most, is_hidden=choice.at_import))


def _candidates(
    project: Project, root: Path, lines: dict[str, list[int]], choice: Choice
) -> dict[str, list[Fault]]:
    """By kind, every fault on a line that runs, in a shuffled order."""
    random = Random(f"{choice.seed} {project.name}")
    queues: dict[str, list[Fault]] = {kind: [] for kind in _kinds(project, is_easy=not choice.known)}
    for file in sorted(lines):
        if project.is_source(file):
            source = (root / file).read_bytes().decode()
            reached = set(lines[file])
            for fault in mutations(source, project=project.name, file=file, random=random):
                if fault.kind in queues and fault.line in reached and fault.id not in choice.known:
                    queues[fault.kind].append(fault)
    for queue in queues.values():
        random.shuffle(queue)
    return queues


def _at_import(queue: list[Fault], lines: Mapping[str, Sequence[int]]) -> list[Fault]:
    reached = {file: set(numbers) for file, numbers in lines.items()}
    return [f for f in queue if f.function != MODULE and f.line in reached.get(f.file, ())]


def _kinds(project: Project, *, is_easy: bool) -> list[str]:
    """Easy kinds in some projects only, if at all; each begins with another kind, so that all get their share."""
    number = PROJECTS.index(project)
    kinds = [kind for kind in KINDS if kind not in EASY]
    turn = 3 * number % len(kinds)
    return [*kinds[turn:], *kinds[:turn], *(EASY if is_easy and number < _EASY_PROJECTS else ())]


def tried(
    judged: Judged,
    queues: dict[str, list[Fault]],
    wanted: int,
    most: Mapping[str, int],
    *,
    is_hidden: bool = False,
) -> Iterator[Fault]:
    """Kind by kind in turns, those that make tests fail, until there are enough.

    :param most: how many there may be of a kind.
    :param is_hidden: only those that no traceback shows.
    """
    functions: Counter[tuple[str, str]] = Counter()
    kinds: Counter[str] = Counter()
    for _ in range(wanted):
        for kind, queue in queues.items():
            if kinds.total() == wanted or kinds[kind] == most.get(kind, wanted):
                continue
            found = _next(judged, queue, functions, is_hidden=is_hidden)
            if found is not None:
                functions[found.file, found.function] += 1
                kinds[kind] += 1
                yield found


def _next(
    judged: Judged, queue: list[Fault], functions: Counter[tuple[str, str]], *, is_hidden: bool
) -> Fault | None:
    """The next of a kind that counts; functions that have one already come last."""
    queue.sort(key=lambda fault: functions[fault.file, fault.function])  # stable: the lot decides otherwise
    free = [fault for fault in queue if functions[fault.file, fault.function] < _PER_FUNCTION]
    for fault in free[:_TRIES]:
        queue.remove(fault)
        found = judged(fault)
        say(f"{fault.id} {found and (found.failing, found.hidden)}")
        if found is not None and (found.hidden or not is_hidden):
            return found
    return None
