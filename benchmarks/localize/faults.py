"""The faults: records, their checked-in list, and putting one into a tree."""

from __future__ import annotations

import hashlib
import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path

LIST = Path(__file__).with_name("faults.json")


@dataclass(frozen=True, kw_only=True, slots=True)
class Fault:
    """One small change that makes tests fail.

    :ivar column: of the change, from 0, in characters.
    :ivar function: as ``__qualname__`` spells it; ``<module>`` for what runs at import.
    :ivar half: ``tune`` for those to adjust rules by, ``report`` for those to measure with.
    :ivar hidden: the function is on no traceback of any failing test.
    :ivar failing: how many tests fail (or modules that cannot be collected).
    """

    project: str
    kind: str
    file: str
    line: int
    column: int
    function: str
    before: str
    after: str
    half: str = ""
    hidden: bool = False
    failing: int = 0

    @property
    def id(self) -> str:
        """The project, the kind, and eight digits of what is changed where."""
        what = (self.project, self.file, str(self.line), str(self.column), self.before, self.after)
        return f"{self.project}-{self.kind}-{hashlib.sha256(chr(0).join(what).encode()).hexdigest()[:8]}"

    def apply(self, source: str) -> str:
        """The source with the fault in it.

        :raises ValueError: if the source is not the one that the fault was made for.
        """
        lines = source.split("\n")
        line = lines[self.line - 1]
        if not line.startswith(self.before, self.column):
            raise ValueError(f"{self.id}: {self.file}:{self.line} has no {self.before!r}")
        lines[self.line - 1] = line[: self.column] + self.after + line[self.column + len(self.before) :]
        return "\n".join(lines)


@contextmanager
def put(fault: Fault, root: Path) -> Iterator[str]:
    """The faulty source, in the tree for as long as the block runs."""
    path = root / fault.file
    before = path.read_bytes()
    changed = fault.apply(before.decode())
    path.write_bytes(changed.encode())
    try:
        yield changed
    finally:
        path.write_bytes(before)


def load(path: Path = LIST) -> list[Fault]:
    """The list, in its order."""
    items = json.loads(path.read_text(encoding="utf-8"))
    return [Fault(**{key: value for key, value in item.items() if key != "id"}) for item in items]


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
