"""The faults: records, their checked-in list, and putting one into a tree."""

from __future__ import annotations

import hashlib
import json
from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

from benchmarks.localize.fetch import tree
from benchmarks.localize.projects import BY_NAME, Project
from benchmarks.localize.releases import RELEASES
from benchmarks.localize.revert import Key, reverted

LIST = Path(__file__).with_name("faults.json")
REAL = Path(__file__).with_name("real_faults.json")


@dataclass(frozen=True, kw_only=True, slots=True)
class Fault(ABC):
    """A change that makes tests fail.

    :ivar function: as ``__qualname__`` spells it; ``<module>`` for what runs at import.
    :ivar half: ``tune`` for those to adjust rules by, ``report`` for those to measure with.
    :ivar hidden: the function is on no traceback of any failing test.
    :ivar failing: how many tests fail (or modules that cannot be collected).
    :cvar has_classes: a class is a place of its own: a line of its body is not the module's.
    """

    has_classes: ClassVar[bool] = False

    project: str
    kind: str
    file: str
    function: str
    half: str = ""
    hidden: bool = False
    failing: int = 0

    @property
    def id(self) -> str:
        """The project, the kind, and eight digits of what is changed where."""
        what = chr(0).join((self.project, self.file, *self._change()))
        return f"{self.project}-{self.kind}-{hashlib.sha256(what.encode()).hexdigest()[:8]}"

    @property
    def tests(self) -> str:
        """How many tests fail, roughly."""
        return "1 test" if self.failing == 1 else "2-5 tests" if self.failing <= 5 else "more tests"

    @property
    @abstractmethod
    def release(self) -> Project:
        """The sdist that it is put into."""

    @property
    @abstractmethod
    def faulty(self) -> tuple[int, ...]:
        """The lines to find, by their numbers in the changed file."""

    @abstractmethod
    def _change(self) -> tuple[str, ...]:
        """What makes it another fault than the others of the file."""

    @abstractmethod
    def apply(self, source: str, cache: Path | None = None) -> str:
        """The source with the fault in it.

        :param cache: with the files of other releases.
        :raises ValueError: if the source is not the one that the fault was made for.
        """


@dataclass(frozen=True, kw_only=True, slots=True)
class Mutation(Fault):
    """A small change that a program made.

    :ivar column: of the change, from 0, in characters.
    """

    line: int
    column: int
    before: str
    after: str

    @property
    def release(self) -> Project:
        """The project's only one."""
        return BY_NAME[self.project]

    @property
    def faulty(self) -> tuple[int, ...]:
        """Always one."""
        return (self.line,)

    def _change(self) -> tuple[str, ...]:
        return str(self.line), str(self.column), self.before, self.after

    def apply(self, source: str, cache: Path | None = None) -> str:
        """The source with the fault in it.

        :raises ValueError: if the source is not the one that the fault was made for.
        """
        lines = source.split("\n")
        line = lines[self.line - 1]
        if not line.startswith(self.before, self.column):
            raise ValueError(f"{self.id}: {self.file}:{self.line} has no {self.before!r}")
        lines[self.line - 1] = line[: self.column] + self.after + line[self.column + len(self.before) :]
        return "\n".join(lines)


@dataclass(frozen=True, kw_only=True, slots=True)
class Reversal(Fault):
    """A function or statement put back to what it was in the release before: what people fixed or built since.

    :ivar version: of the release it is put into; ``older`` of the one it is taken from.
    :ivar target: what the statement binds or calls; empty for functions.
    :ivar lines: those that differ.
    """

    has_classes: ClassVar[bool] = True

    version: str
    older: str
    target: str = ""
    lines: tuple[int, ...] = ()

    @property
    def release(self) -> Project:
        """The newer one."""
        return RELEASES[self.project].of[self.version]

    @property
    def faulty(self) -> tuple[int, ...]:
        """As they are listed."""
        return self.lines

    @property
    def key(self) -> Key:
        """The unit that is put back."""
        return Key(self.kind, self.function, self.target)

    def _change(self) -> tuple[str, ...]:
        return self.version, self.older, self.function, self.target

    def apply(self, source: str, cache: Path | None = None) -> str:
        """The source with the older unit in it.

        :raises ValueError: if the source is not the one that the fault was made for.
        """
        assert cache is not None, "the older release is in the cache"
        before = tree(RELEASES[self.project].of[self.older], cache) / self.file
        changed, lines = reverted(source, before.read_bytes().decode(), self.key)
        if self.lines and lines != self.lines:
            raise ValueError(f"{self.id}: other lines differ than those that are listed")
        return changed


@contextmanager
def put(fault: Fault, root: Path, cache: Path | None = None) -> Iterator[str]:
    """The faulty source, in the tree for as long as the block runs."""
    path = root / fault.file
    before = path.read_bytes()
    changed = fault.apply(before.decode(), cache)
    path.write_bytes(changed.encode())
    try:
        yield changed
    finally:
        path.write_bytes(before)


def load(path: Path = LIST) -> list[Fault]:
    """The list, in its order."""
    return [_fault(item) for item in json.loads(path.read_text(encoding="utf-8"))]


def _fault(item: dict[str, Any]) -> Fault:
    fields = {
        key: tuple(each) if isinstance(each, list) else each for key, each in item.items() if key != "id"
    }
    return Mutation(**fields) if "column" in fields else Reversal(**fields)


def save(faults: Iterable[Fault], path: Path = LIST) -> None:
    """Write the list, a line a fault."""
    lines = [json.dumps({"id": fault.id, **asdict(fault)}, ensure_ascii=False) for fault in faults]
    path.write_text("[\n" + ",\n".join(lines) + "\n]\n", encoding="utf-8")


def halved(faults: Sequence[Fault]) -> list[Fault]:
    """Every project's faults dealt out in turns, in the order of a digest of their names: not by anyone's choice."""
    by_project: dict[str, list[Fault]] = defaultdict(list)
    for fault in sorted(faults, key=lambda f: (f.project, hashlib.sha256(f.id.encode()).hexdigest())):
        by_project[fault.project].append(fault)
    return [
        replace(fault, half=("tune", "report")[number % 2])
        for group in by_project.values()
        for number, fault in enumerate(group)
    ]
