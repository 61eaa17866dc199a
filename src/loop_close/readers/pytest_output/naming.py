"""Find the node id of a failure whose heading leaves out the file: ``TestCart.test_total[1]``."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from heapq import merge

from loop_close.model import Phase
from loop_close.readers.pytest_output.summary import Entry

_PHASED = re.compile(r"ERROR (?:at (?P<phase>setup|teardown) of|(?P<collect>collecting)) (?P<name>[^\n]+)\Z")
_SUBTEST = re.compile(
    r"(?P<name>[\w.]{1,500}(?:\[[^\n]{0,1000}\])?) "
    r"(?P<subtest>(?:\[[^\n]{0,500}\] )?\([^\n]{0,500}\)|\[[^\n]{0,500}\])\Z"
)
_WHILE = re.compile(r"worker '[^'\n]{1,60}' crashed while running '(?P<id>[^\n]{1,2000})'\s*\Z")
_DOCTEST = "[doctest] "
_MAX_KEYS = 40
_ANY = ""


@dataclass(frozen=True, slots=True)
class Heading:
    """What the heading of a failure says.

    :ivar name: the node id below the file, with ``::``; the whole node id where collecting failed.
    """

    phase: Phase
    name: str
    subtest: str = ""
    is_doctest: bool = False


def heading(title: str) -> Heading:
    """Read the title of a heading."""
    phased = _PHASED.match(title)
    if phased is None:
        return _named("call", title)
    if phased["collect"]:
        return Heading("collect", phased["name"])
    return _named("setup" if phased["phase"] == "setup" else "teardown", phased["name"])


def _named(phase: Phase, title: str) -> Heading:
    if title.startswith(_DOCTEST):
        return Heading(phase, title.removeprefix(_DOCTEST), is_doctest=True)
    return Heading(phase, _with_colons(title))


def _with_colons(name: str) -> str:
    """``TestCart.test_total[1.5]`` as a part of a node id."""
    names, bracket, parameters = name.partition("[")
    return names.replace(".", "::") + bracket + parameters


def worker_crash(body: str) -> str:
    """The node id that a worker of xdist ran when it died; empty for other text."""
    found = _WHILE.search(body.rstrip())
    return found["id"] if found else ""


@dataclass(slots=True)
class Names:
    """Node ids known from the summary, taken in the order in which pytest prints both.

    :ivar is_complete: every failure of the run is among the entries.
    """

    entries: list[Entry]
    is_complete: bool = False
    _titles: dict[str, bool] = field(default_factory=dict)
    _places: dict[str, list[int]] = field(default_factory=dict)
    _indexed: int = 0

    def knows(self, title: str) -> bool:
        """Whether a heading may be that of a failure."""
        if not self.is_complete:
            return True
        if title not in self._titles:
            found = heading(title)
            self._titles[title] = any(_nodeid(e, found, title) for e in self._candidates(found, title))
        return self._titles[title]

    def take(self, title: str) -> tuple[str, Entry | None]:
        """The node id that belongs to the next heading with this title, and its line of the summary."""
        found = heading(title)
        word = "FAILED" if found.phase == "call" else "ERROR"
        for entry in self._candidates(found, title):
            if not entry.is_used and entry.word == word:
                nodeid = _nodeid(entry, found, title)
                if nodeid:
                    entry.is_used = True
                    return nodeid, entry
        return "", None

    def _candidates(self, found: Heading, title: str) -> Iterator[Entry]:
        """The lines that may name it, in order: to try them all takes time with the square of their number."""
        for index in range(self._indexed, len(self.entries)):
            for key in _keys(self.entries[index]):
                self._places.setdefault(key, []).append(index)
        self._indexed = len(self.entries)
        keys = {_folded(found.name), _folded(title), _ANY}
        return (self.entries[i] for i in merge(*(self._places.get(key, ()) for key in keys)))


def _keys(entry: Entry) -> set[str]:
    """What the name in a heading may be; ``_ANY`` where that is too much to list."""
    rest = entry.rest
    after = rest[rest.find("::") + 2 :].lstrip(":") if "::" in rest else rest
    if rest.count(" - ") + rest.count("::") > _MAX_KEYS:
        return {_ANY}
    names = [text[:end] for text in (rest, after) for end in _ends(text, " - ")]
    names += [f"{name} {entry.subtest}" for name in names] if entry.subtest else []
    return {_folded(name) for name in (*names, *(rest[:end] for end in _ends(rest, "::")))}


def _ends(text: str, separator: str) -> Iterator[int]:
    """Where the text may end: at each of the separators, and at its end."""
    at = text.find(separator)
    while at >= 0:
        yield at
        at = text.find(separator, at + 1)
    yield len(text)


def _folded(name: str) -> str:
    return name.replace(".", "::")


def _nodeid(entry: Entry, found: Heading, title: str) -> str:
    if found.phase == "collect":
        return found.name if entry.is_of(found.name) else ""
    if entry.subtest:
        name = title.removesuffix(f" {entry.subtest}")
        return entry.id_of(_with_colons(name)) if name != title else ""
    return entry.id_of(found.name) or (entry.split()[0] if entry.rest.startswith(f"{title}::") else "")


def without_summary(title: str) -> Heading:
    """The heading, a subtest's description told apart by its looks."""
    found = heading(title)
    match = _SUBTEST.match(title) if found.phase == "call" and not found.is_doctest else None
    return Heading("call", _with_colons(match["name"]), match["subtest"]) if match else found
