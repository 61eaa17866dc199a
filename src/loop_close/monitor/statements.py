"""The statements of the modules that were imported, what each ran, and what uses what they bound, by its names."""

from __future__ import annotations

import tokenize
from collections.abc import Iterable, Mapping
from types import CodeType, ModuleType

from loop_close.monitor.code_of_test import CodeOfTest
from loop_close.monitor.globals import file_of, modules, names_in, with_helpers
from loop_close.monitor.imports import Imports
from loop_close.monitor.ran import Function
from loop_close.syntax.statements import Statement, statements_of

# Parsed at most, those first that ran first.
_MOST_FILES = 500
_NOTHING, _EMPTY = object(), ()
# Objects of these types are the same wherever they are made.
_ALIKE = (int, bool, float, type(None), ModuleType)


class Statements:
    """Statements by number.

    :param functions: by their numbers.
    :ivar places: the file of each, as code objects have it, and its first line.
    :ivar masks: what each ran: the bits of the lines, by the number of the function.
    :ivar needs: the statements whose objects each uses, itself or by what it ran.
    """

    def __init__(self, imports: Imports, functions: Mapping[int, Function]) -> None:
        self.places: list[tuple[str, int]] = []
        self.masks: list[dict[int, int]] = []
        self._functions = functions
        self._modules = modules()
        self._reads: list[frozenset[str]] = []
        self._at: dict[tuple[str, int], int] = {}
        self._binds: dict[tuple[str, str], set[int]] = {}
        self._by_id: dict[int, set[int]] = {}
        self._codes: dict[int, frozenset[int]] = {}
        for file in [*dict.fromkeys(file for file, _ in imports.statements)][:_MOST_FILES]:
            for statement in _parsed(file):
                self._add(file, statement)
        self._take(imports)
        self.needs = [self._needed_by(number) for number in range(len(self.places))]

    def _add(self, file: str, statement: Statement) -> None:
        number = len(self.places)
        self.places.append((file, statement.first))
        self.masks.append({})
        self._reads.append(statement.reads)
        for line in range(statement.first, statement.last + 1):
            self._at.setdefault((file, line), number)
        names = self._modules.get(file, {})
        for name in statement.binds:
            self._binds.setdefault((file, name), set()).add(number)
            bound = names.get(name, _NOTHING)
            if bound is not _NOTHING and bound is not _EMPTY and type(bound) not in _ALIKE:
                self._by_id.setdefault(id(bound), set()).add(number)

    def _take(self, imports: Imports) -> None:
        for spot, ran in imports.statements.items():
            number = self._at.get(spot)
            if number is not None:
                masks = self.masks[number]
                for function, mask in ran.items():
                    masks[function] = masks.get(function, 0) | mask

    def _needed_by(self, number: int) -> set[int]:
        found = self._named(self._reads[number], self.places[number][0])
        return found.union(*map(self.of_function, self.masks[number])) - {number}

    def _named(self, names: Iterable[str], file: str) -> set[int]:
        """The statements that bind what the code of a module means by these names."""
        names = list(names)
        known = self._modules.get(file, {})
        found: set[int] = set()
        for name in names:
            value = known.get(name, _NOTHING)
            if (file, name) in self._binds:
                found |= self._binds[file, name]
            elif type(value) is ModuleType:
                other = file_of(value)
                found.update(*(self._binds.get((other, each), ()) for each in names))
            elif value is not _NOTHING:
                found |= self._by_id.get(id(value), set())
        return found

    def _of_code(self, code: CodeType) -> frozenset[int]:
        if id(code) not in self._codes:
            found = self._named(names_in(code), code.co_filename)
            own = self._at.get((code.co_filename, code.co_firstlineno))
            self._codes[id(code)] = frozenset(found if own is None else found | {own})
        return self._codes[id(code)]

    def of_function(self, number: int) -> frozenset[int]:
        """Those whose objects a function uses, with the one that it stands in."""
        return self._of_code(self._functions[number].code)

    def of_test(self, test: CodeOfTest) -> set[int]:
        """The same of a test, with its fixtures and helpers; of one whose code is not in its file, all of the file."""
        found: set[int] = set().union(*map(self._of_code, with_helpers(test.codes, self._modules)))
        if all(code.co_filename != test.file for code in test.codes):
            found.update(n for n, (file, _) in enumerate(self.places) if file == test.file)
        return found

    def telling(self) -> list[int]:
        """Those that ran functions, and those that need such ones, sorted by file and line."""
        needed_by: list[set[int]] = [set() for _ in self.places]
        for number, needs in enumerate(self.needs):
            for each in needs:
                needed_by[each].add(number)
        waiting, found = [number for number, masks in enumerate(self.masks) if masks], set[int]()
        while waiting:
            number = waiting.pop()
            if number not in found:
                found.add(number)
                waiting += needed_by[number] - found
        return sorted(found, key=lambda number: (self.places[number], number))


def _parsed(file: str) -> list[Statement]:
    try:
        with tokenize.open(file) as source:
            return statements_of(source.read())
    except (OSError, SyntaxError, ValueError):
        return []
