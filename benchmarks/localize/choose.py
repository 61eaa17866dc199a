"""Choosing the faults: changes to lines that tests run, tried one by one until enough of them make a test fail."""

from __future__ import annotations

import json
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random
from typing import Any

from benchmarks.localize.faults import Fault, put
from benchmarks.localize.fetch import copied
from benchmarks.localize.mutate import EASY, KINDS, mutations
from benchmarks.localize.projects import PROJECTS, Project
from benchmarks.localize.run import Ran, run
from benchmarks.localize.spans import MODULE, Resolver

WANTED = 16  # faults a project
_EASY_PROJECTS = 8  # as many faults of each easy kind there are in all
_PER_FUNCTION = 2
_TRIES = 10  # of one kind, until another kind has its turn
_ENDED = (1, 2)  # pytest's exit codes for tests that failed and modules that could not be collected


@dataclass(frozen=True, kw_only=True, slots=True)
class Choice:
    """How to choose.

    :ivar known: ids of faults that there are already: they are not drawn again, and then neither are easy kinds.
    :ivar at_import: hidden ones only, in functions, on lines that run while modules are imported.
    :ivar jobs: projects that are tried at the same time.
    """

    cache: Path
    known: frozenset[str] = frozenset()
    seed: int = 1
    at_import: bool = False
    jobs: int = 1
    python: str = sys.executable


def choose(choice: Choice, projects: Sequence[Project] = PROJECTS) -> list[Fault]:
    """Faults that are of neither half yet, the same whenever they are of the same projects with the same seed."""
    with ThreadPoolExecutor(choice.jobs) as pool:
        found = pool.map(lambda project: _of_project(choice, project), projects)
        return [fault for faults in found for fault in faults]


def _of_project(choice: Choice, project: Project) -> list[Fault]:
    with tempfile.TemporaryDirectory(prefix="localize-") as folder:
        root = copied(project, choice.cache, Path(folder))
        trial = Trial(project, root, choice.python)
        trial.start()
        queues = _candidates(project, root, trial.lines, choice)
        if choice.at_import:
            queues = {kind: _at_import(queue, trial.at_import) for kind, queue in queues.items()}
        return list(_tried(trial, queues, is_hidden=choice.at_import))


class Trial:
    """A copy of a project in which faults are tried.

    :ivar lines: of each file, those that the tests run; ``at_import`` those that run before the first of them.
    """

    def __init__(self, project: Project, root: Path, python: str) -> None:
        self.project = project
        self.lines: dict[str, list[int]] = {}
        self.at_import: dict[str, list[int]] = {}
        self._root, self._python, self._timeout = root, python, 120.0

    def start(self) -> None:
        """Run the tests without any fault.

        :raises RuntimeError: if one fails then.
        """
        ran, found = self._run({"LOCALIZE_LINES": "1"})
        if ran.code != 0:
            raise RuntimeError(f"{self.project.name} is red without a fault:\n{ran.output[-2000:]}")
        self.lines, self.at_import = found["lines"], found["at_import"]
        self._timeout = 15 + 4 * ran.seconds
        _say(f"{self.project.name}: {ran.seconds:.1f} s without a fault")

    def judged(self, fault: Fault) -> Fault | None:
        """The fault with what it does; None if no test fails, the run hangs, or pytest itself does not work on."""
        with put(fault, self._root) as changed:
            if not _compiles(changed):
                return None
            ran, found = self._run({})
        if ran.code not in _ENDED or not found["failed"]:
            return None
        resolver = Resolver(self._root, {fault.file: changed})
        shown = {
            (file, MODULE if name == MODULE else resolver.function(file, line))
            for file, line, name in found["shown"]
        }
        hidden = (fault.file, fault.function) not in shown
        return replace(fault, hidden=hidden, failing=len(found["failed"]))

    def _run(self, more: dict[str, str]) -> tuple[Ran, dict[str, Any]]:
        with tempfile.TemporaryDirectory(prefix="localize-") as folder:
            path = Path(folder, "witness.json")
            more = {**more, "LOCALIZE_WITNESS": str(path)}
            arguments = ("-p", "benchmarks.localize.witness", "--tb=no")
            ran = run(
                self.project, self._root, arguments, timeout=self._timeout, python=self._python, more=more
            )
            return ran, json.loads(path.read_text(encoding="utf-8")) if path.exists() else {"failed": []}


def _candidates(
    project: Project, root: Path, lines: dict[str, list[int]], choice: Choice
) -> dict[str, list[Fault]]:
    """By kind, every fault on a line that runs, in an order drawn by lot."""
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


def _tried(trial: Trial, queues: dict[str, list[Fault]], *, is_hidden: bool = False) -> Iterator[Fault]:
    """Kind by kind in turns, those that make tests fail, until there are enough.

    :param is_hidden: only those that no traceback shows.
    """
    functions: Counter[tuple[str, str]] = Counter()
    kinds: Counter[str] = Counter()
    for _ in range(WANTED):
        for kind, queue in queues.items():
            if kinds.total() == WANTED or (kind in EASY and kinds[kind]):
                continue
            found = _next(trial, queue, functions, is_hidden=is_hidden)
            if found is not None:
                functions[found.file, found.function] += 1
                kinds[kind] += 1
                yield found


def _next(
    trial: Trial, queue: list[Fault], functions: Counter[tuple[str, str]], *, is_hidden: bool
) -> Fault | None:
    """The next of a kind that counts; functions that have one already come last."""
    queue.sort(key=lambda fault: functions[fault.file, fault.function])  # stable: the lot decides otherwise
    free = [fault for fault in queue if functions[fault.file, fault.function] < _PER_FUNCTION]
    for fault in free[:_TRIES]:
        queue.remove(fault)
        found = trial.judged(fault)
        _say(f"{fault.id} {found and (found.failing, found.hidden)}")
        if found is not None and (found.hidden or not is_hidden):
            return found
    return None


def _compiles(source: str) -> bool:
    """Whether the interpreter takes the text: a fault is no syntax error."""
    try:
        compile(source, "<fault>", "exec", dont_inherit=True)
    except (SyntaxError, ValueError):
        return False
    return True


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)
