"""Running a project's tests with the witness: without a fault, and with one that is tried."""

from __future__ import annotations

import json
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from benchmarks.localize.faults import Fault, put
from benchmarks.localize.projects import Project
from benchmarks.localize.run import Ran, run
from benchmarks.localize.spans import MODULE, Resolver

_ENDED = (1, 2)  # pytest's exit codes for tests that failed and modules that could not be collected

#: Why a fault does not count.
Refusal = Callable[[Fault, Mapping[str, Any]], str]


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


def _never(fault: Fault, found: Mapping[str, Any]) -> str:
    return ""


class Trial:
    """A copy of a project in which faults are tried.

    :ivar lines: of each file, those that the tests run; ``at_import`` those that run before the first of them.
    :ivar dropped: how many faults were tried in vain, by the reason.
    """

    def __init__(self, project: Project, root: Path, choice: Choice, refusal: Refusal = _never) -> None:
        """A trial.

        :param refusal: why a fault does not count, from the fault and what the witness saw; empty where it does.
        """
        self.project, self.root = project, root
        self.lines: dict[str, list[int]] = {}
        self.at_import: dict[str, list[int]] = {}
        self.dropped: Counter[str] = Counter()
        self._choice, self._refusal, self._timeout = choice, refusal, 120.0

    def start(self) -> None:
        """Run the tests without any fault.

        :raises RuntimeError: if one fails then.
        """
        ran, found = self._run({"LOCALIZE_LINES": "1"})
        if ran.code != 0:
            raise RuntimeError(f"{self.project.folder} is red without a fault:\n{ran.output[-2000:]}")
        self.lines, self.at_import = found["lines"], found["at_import"]
        self._timeout = 15 + 4 * ran.seconds
        say(f"{self.project.folder}: {ran.seconds:.1f} s without a fault")

    def judged(self, fault: Fault) -> Fault | None:
        """The fault with what it does; None if it does not count."""
        with put(fault, self.root, self._choice.cache) as changed:
            if not _compiles(changed):
                return self._drop("no valid syntax")
            ran, found = self._run({})
        if ran.code == 0:
            return self._drop("no test fails")
        if ran.code not in _ENDED or not found["failed"]:
            return self._drop("the tests do not end, or pytest itself does not work on")
        if why := self._refusal(fault, found):
            return self._drop(why)
        resolver = Resolver(self.root, {fault.file: changed}, has_classes=fault.has_classes)
        shown = {
            (file, MODULE if name == MODULE else resolver.function(file, line))
            for file, line, name in found["shown"]
        }
        hidden = (fault.file, fault.function) not in shown
        return replace(fault, hidden=hidden, failing=len(found["failed"]))

    def _drop(self, why: str) -> None:
        self.dropped[why] += 1

    def _run(self, more: Mapping[str, str]) -> tuple[Ran, dict[str, Any]]:
        return witnessed(self.project, self.root, self._choice.python, self._timeout, more)


def witnessed(
    project: Project, root: Path, python: str, timeout: float, more: Mapping[str, str]
) -> tuple[Ran, dict[str, Any]]:
    """A run of the tests with what the witness wrote; without it, no test failed."""
    with tempfile.TemporaryDirectory(prefix="localize-") as folder:
        path = Path(folder, "witness.json")
        arguments = ("-p", "benchmarks.localize.witness", "--tb=no")
        ran = run(
            project,
            root,
            arguments,
            timeout=timeout,
            python=python,
            more={**more, "LOCALIZE_WITNESS": str(path)},
        )
        return ran, json.loads(path.read_text(encoding="utf-8")) if path.exists() else {"failed": []}


def _compiles(source: str) -> bool:
    """Whether the interpreter takes the text: a fault is not a syntax error."""
    try:
        compile(source, "<fault>", "exec", dont_inherit=True)
    except (SyntaxError, ValueError):
        return False
    return True


def say(text: str) -> None:
    """A line on the terminal, beside what is asked for."""
    print(text, file=sys.stderr, flush=True)
