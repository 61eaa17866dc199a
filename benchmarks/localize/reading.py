"""References to places in what a tool says: every ``file:line``, and whether a file or a line of it is shown."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.localize.faults import Fault
from benchmarks.localize.projects import Project
from benchmarks.localize.spans import MODULE, Resolver

NEAR = 3  # lines
_FILE = re.compile(r"[\w./\\~-]*\w\.py\b")
_PLACE = re.compile(rf"({_FILE.pattern})(?:\"?`?,? line |:)(\d+)")
# cost() in src/shop/shipping.py; `cost` (`src/shop/shipping.py`); a place with the name of what is there
_MENTION = re.compile(
    rf"(?P<called>[\w.<>]+)\(\)`? in `?(?P<of>{_FILE.pattern})(?!`?,? line |:\d)"
    rf"|`(?P<named>[\w.<>]+)(?:\(\))?` \(`?(?P<there>{_FILE.pattern})(?!:\d)"
    rf"|{_PLACE.pattern}(?P<module>`? `<module>`)?"
)
# a place in the file of the place before it: `:12`
_AGAIN = re.compile(r"`:(?=\d+`)")
_MARGIN = re.compile(r"^(?:[\s>|E+]|\d+(?=[\s:|>]))*")
_TELLING = 6  # characters; a shorter line of code stands anywhere


@dataclass(frozen=True, slots=True)
class Named:
    """A function that a tool names.

    :ivar line: the line by which it was named.
    """

    file: str
    line: int
    function: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Said:
    """What a tool says of one red run.

    :ivar text: what its reader gets.
    :ivar named: functions of the code under test, the one to look at first in front; each once.
    :ivar groups: into how many it sorts the failures; None where it does not.
    :ivar read: the functions as the text names them, from its top; None where only ``named`` is compared.
    :ivar chances: the probability that each was stated to have, where the tool states any.
    """

    text: str
    named: tuple[Named, ...]
    groups: int | None
    read: tuple[Named, ...] | None = None
    chances: tuple[tuple[float, Named], ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class Scene:
    """Where a run took place.

    :ivar root: of the project's tree.
    :ivar resolver: knows the functions of the faulty source.
    """

    project: Project
    root: Path
    resolver: Resolver

    def relative(self, path: str) -> str:
        """A path as the tree has it, with forward slashes; as it is where it lies elsewhere."""
        path = path.replace("\\", "/")
        root = str(self.root.resolve()).replace(os.sep, "/") + "/"
        return path.removeprefix(root).removeprefix("./")


def scene_of(fault: Fault, root: Path, changed: str) -> Scene:
    """Where a fault is put in.

    :param changed: the faulty file's text.
    """
    resolver = Resolver(root, {fault.file: changed}, has_classes=fault.has_classes)
    return Scene(project=fault.release, root=root, resolver=resolver)


def places(scene: Scene, text: str) -> list[tuple[str, int]]:
    """Every ``file:line`` and ``File "…", line N`` of a text, in order."""
    text = _completed(text)
    return [(scene.relative(found[1]), int(found[2])) for found in _PLACE.finditer(text)]


def _completed(text: str) -> str:
    """The text with its file in front of every ```:12```, which has that of the place before it."""
    parts = _AGAIN.split(text)
    for number, part in enumerate(parts[1:], 1):
        before = _PLACE.findall(parts[number - 1])
        parts[number] = f"`{before[-1][0] if before else ''}:{part}"
    return "".join(parts)


def functions(scene: Scene, found: Iterable[tuple[str, int]]) -> Iterator[Named]:
    """The functions around places in the code under test."""
    for file, line in found:
        if scene.project.is_source(file):
            yield Named(file, line, scene.resolver.function(file, line))


def mentions(scene: Scene, text: str) -> tuple[Named, ...]:
    """The functions of the code under test that a text names, as its reader meets them; each once.

    Every ``file:line`` counts, and every function that is named with its file.
    """
    text = _completed(text)
    return once(each for found in _MENTION.finditer(text) for each in _mentioned(scene, found))


def _mentioned(scene: Scene, found: re.Match[str]) -> Iterator[Named]:
    name, file = found["called"] or found["named"], found["of"] or found["there"]
    if not name:
        for named in functions(scene, places(scene, found[0])):
            yield Named(named.file, named.line, MODULE) if found["module"] else named
        return
    file = scene.relative(file)
    if scene.project.is_source(file):
        same = [f for f in scene.resolver.functions(file) if f".{f.name}".endswith(f".{name}")]
        yield from (Named(file, f.start, f.name) for f in same[:1])


def once(named: Iterable[Named]) -> tuple[Named, ...]:
    """Each function where it is named first."""
    first: dict[tuple[str, str], Named] = {}
    for one in named:
        first.setdefault((one.file, one.function), one)
    return tuple(first.values())


def names_file(scene: Scene, text: str, file: str) -> bool:
    """Whether a file is named, by its path or as much of the path's end as there is."""
    return any(_is_same(file, scene.relative(found[0])) for found in _FILE.finditer(text))


def shows_line(scene: Scene, text: str, file: str, wanted: Sequence[int]) -> bool:
    """Whether one of some lines, or one near it, is named with its file, or quoted where the file is named at all."""
    around = {near for line in wanted for near in range(line - NEAR, line + NEAR + 1)}
    if any(_is_same(file, named) and line in around for named, line in places(scene, text)):
        return True
    lines = [line.strip() for line in scene.resolver.source(file).split("\n")]
    elsewhere = {line for number, line in enumerate(lines, 1) if number not in around}
    near = {line for number, line in enumerate(lines, 1) if number in around and len(line) >= _TELLING}
    return names_file(scene, text, file) and any(
        _MARGIN.sub("", said).strip() in near - elsewhere for said in text.split("\n")
    )


def _is_same(file: str, named: str) -> bool:
    return file == named or file.endswith(f"/{named}") or named.endswith(f"/{file}")
