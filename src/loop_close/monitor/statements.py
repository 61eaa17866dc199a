"""What the statements of the modules that were imported made, what each ran, and what uses it, by its names."""

from __future__ import annotations

import tokenize
from collections import defaultdict
from collections.abc import Iterable, Mapping
from types import BuiltinFunctionType, CodeType, ModuleType

from loop_close.monitor.globals import Modules
from loop_close.monitor.imports import Imports
from loop_close.monitor.made import CodeOfTest
from loop_close.monitor.ran import Function
from loop_close.syntax.statements import Statement, statements_of

#: File, line and column.
Spot = tuple[str, int, int]
# Parsed at most, those first that ran first.
_MOST_FILES = 500
# An object that is bound in more places than these is common property.
_MOST_PLACES = 8
# Objects of these types may be the same wherever they are made.
_ALIKE = (
    int,
    bool,
    float,
    complex,
    str,
    bytes,
    tuple,
    frozenset,
    type(None),
    BuiltinFunctionType,
    ModuleType,
)


class Statements:
    """Groups of statements, by number: those of one file that bind a name in common are one.

    :param functions: by their numbers.
    :ivar spots: where the first of each begins; the file as code objects have it.
    :ivar ran: the functions that each ran, by their numbers.
    :ivar needs: the groups whose objects each uses, itself or by what it ran.
    """

    def __init__(self, imports: Imports, functions: Mapping[int, Function]) -> None:
        self.spots: list[Spot] = []
        self.ran: list[set[int]] = []
        self._functions = functions
        self._modules = Modules()
        self._reads: list[set[str]] = []
        self._at: dict[tuple[str, int], int] = {}
        self._binds: dict[tuple[str, str], int] = {}
        self._by_id: defaultdict[int, set[int]] = defaultdict(set)
        self._codes: dict[int, frozenset[int]] = {}
        for file in [*dict.fromkeys(file for file, _ in imports.statements)][:_MOST_FILES]:
            self._add(file)
        for spot, masks in imports.statements.items():
            if spot in self._at:
                self.ran[self._at[spot]].update(masks)
        self.needs = [self._needed_by(number) for number in range(len(self.spots))]

    def _add(self, file: str) -> None:
        for group in _grouped(_parsed(file)):
            number = len(self.spots)
            first = min(group, key=lambda each: (each.first, each.column))
            self.spots.append((file, first.first, first.column))
            self.ran.append(set())
            self._reads.append({name for each in group for name in each.reads})
            for each in group:
                for line in range(each.first, each.last + 1):
                    self._at.setdefault((file, line), number)
                for name in each.binds:
                    self._bind(file, name, number)

    def _bind(self, file: str, name: str, number: int) -> None:
        self._binds[file, name] = number
        bound = self._modules.bound(file, name)
        if type(bound) not in _ALIKE and self._modules.is_own(bound, file):
            self._by_id[id(bound)].add(number)

    def _needed_by(self, number: int) -> set[int]:
        found = self._named(self._reads[number], self.spots[number][0])
        return found.union(*map(self.of_function, self.ran[number])) - {number}

    def _named(self, names: Iterable[str], file: str) -> set[int]:
        """The groups that bind what the code of a module means by these names."""
        names = list(names)
        found: set[int] = set()
        for name in names:
            own = self._binds.get((file, name))
            if own is not None:
                found.add(own)
                continue
            value = self._modules.bound(file, name)
            if type(value) is ModuleType:
                other = self._modules.file_of(value)
                found.update(self._binds[other, each] for each in names if (other, each) in self._binds)
            elif len(places := self._by_id.get(id(value), ())) <= _MOST_PLACES:
                found.update(places)
        return found

    def _of_code(self, code: CodeType) -> frozenset[int]:
        if id(code) not in self._codes:
            found = self._named(self._modules.names_in(code), code.co_filename)
            own = self._at.get((code.co_filename, code.co_firstlineno))
            self._codes[id(code)] = frozenset(found if own is None else found | {own})
        return self._codes[id(code)]

    def of_function(self, number: int) -> frozenset[int]:
        """Those whose objects a function uses, with the one that it stands in."""
        return self._of_code(self._functions[number].code)

    def of_test(self, test: CodeOfTest) -> set[int]:
        """The same of a test, with its fixtures and helpers; of one whose code is not in its file, all of the file."""
        found: set[int] = set().union(*map(self._of_code, self._modules.with_helpers(test.codes)))
        if all(code.co_filename != test.file for code in test.codes):
            found.update(number for number, (file, _, _) in enumerate(self.spots) if file == test.file)
        return found


def _grouped(statements: Iterable[Statement]) -> Iterable[list[Statement]]:
    """Those that bind a name in common, or begin on one line, together."""
    above: dict[str | int, str | int] = {}

    def top(key: str | int) -> str | int:
        while above[key] != key:
            above[key] = above[above[key]]
            key = above[key]
        return key

    statements = list(statements)
    for each in statements:
        keys: tuple[str | int, ...] = (each.first, *each.binds)
        for key in keys:
            above.setdefault(key, key)
            above[top(key)] = top(each.first)
    groups: defaultdict[str | int, list[Statement]] = defaultdict(list)
    for each in statements:
        groups[top(each.first)].append(each)
    return groups.values()


def _parsed(file: str) -> list[Statement]:
    try:
        with tokenize.open(file) as source:
            return statements_of(source.read())
    except (OSError, SyntaxError, ValueError):
        return []
