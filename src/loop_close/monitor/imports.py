"""What ran while modules were imported, and what uses the objects that it made."""

from __future__ import annotations

import sys
import tokenize
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from types import BuiltinFunctionType, CodeType, FrameType, FunctionType, ModuleType
from typing import TYPE_CHECKING, Any, NamedTuple

from loop_close.calls import ImportEffect, bits_of, reach
from loop_close.monitor.codes import LONGEST_TABLE, Ownership, is_import
from loop_close.monitor.executions import Execution, Function, Hit

if TYPE_CHECKING:
    from loop_close.monitor.count import CallCounts
    from loop_close.syntax.uses import Statement


#: Where a module's body was: its file, as its code object has it, and the line.
Spot = tuple[str, int]


class _Body:
    """A module's body that is not over.

    :ivar begun: how many lines had run when its statement began.
    :ivar line: the line that it is at, 0 before the first.
    """

    __slots__ = ("begun", "line")

    def __init__(self, begun: int) -> None:
        self.begun = begun
        self.line = 0


class Imports:
    """Remembers what had run before a module's first line did, and before each of its statements.

    :ivar modules: files whose modules ran.
    :ivar functions: those that ran while a module was imported; ``nothing``: those of them that gave None where a value
        was wanted.
    :ivar statements: by where the module's body was, the functions that ran then; ``lines``: of each function the bits
        of the lines that ran in any of them.
    """

    def __init__(self) -> None:
        self.modules: set[str] = set()
        self.functions: set[int] = set()
        self.returned_none: set[int] = set()
        self.statements: dict[Spot, set[int]] = {}
        self.lines: dict[int, int] = {}
        self._open: dict[int, _Body] = {}

    def begin(self, module: int, ran: int) -> None:
        """A module's body begins.

        :param module: the id of its code object.
        :param ran: how many lines ran until now.
        """
        self._open[module] = _Body(ran)

    def is_open(self, module: int) -> bool:
        """Whether its body has not ended, as far as is known."""
        return module in self._open

    def turn(self, module: int, line: int) -> tuple[int, int]:
        """Its body goes on to another line: how many lines had run before the last one, and which that was."""
        body = self._open[module]
        last, body.line = body.line, line
        return body.begun, last

    def end(self, module: int, ran: int) -> tuple[int, int]:
        """Its body is over: the same; ``ran`` and 0 where that is not known."""
        body = self._open.pop(module, _Body(ran))
        return body.begun, body.line

    def keep(self, modules: Collection[int]) -> None:
        """Forget all others: they failed to be imported."""
        for module in self._open.keys() - set(modules):
            del self._open[module]

    def forget_statements(self) -> None:
        """What is known of them is not all."""
        self.statements.clear()
        self.lines.clear()

    def add(self, ran: Execution, spot: Spot | None = None) -> None:
        """Note what ran since a module's statement began, and where that is, if it is known."""
        self.functions |= ran.masks.keys()
        self.returned_none |= ran.returned_none
        if spot is not None and ran.masks:
            self.statements.setdefault(spot, set()).update(ran.masks)
            for number, mask in ran.masks.items():
                self.lines[number] = self.lines.get(number, 0) | mask


# Bodies of modules while they are imported: what ran for each of their statements.

#: Called for a line of a code object.
OnLine = Callable[[CodeType, int], Any]
#: With more functions run than these, each counted once for every line of a module that ran it, it takes too long.
MOST_RUN = 50_000
_ID = id  # tests may put another one in its place


class ModuleBodies:
    """Follows each body line by line until the first test begins, after that only to its end.

    :param hits: what ran since the last time.
    :param set_aside: takes out of these what came after so many, which is told again when it runs again.
    :ivar imports: what ran meanwhile.
    """

    def __init__(
        self, ownership: Ownership, hits: Sequence[Hit], set_aside: Callable[[int], Execution]
    ) -> None:
        self.imports = Imports()
        self._ownership = ownership
        self._hits = hits
        self._set_aside = set_aside
        self._is_by_line = True
        self._run = 0

    def is_one(self, code: CodeType, frame: FrameType, *, is_ours: bool) -> bool:
        """Whether it is a body to follow: of the code under test, or of tests while its lines are told."""
        if code.co_name != "<module>" or not is_import(frame.f_globals):
            return False
        return is_ours or (self._is_by_line and self._ownership.is_test(code.co_filename))

    def events(self, monitoring: Any, code: CodeType) -> int:
        """The events of ``sys.monitoring`` that one of them needs."""
        events, is_long = monitoring.events, len(code.co_linetable) > LONGEST_TABLE
        return int(events.PY_RETURN | events.LINE if self._is_by_line and not is_long else events.PY_RETURN)

    def on_line(self, otherwise: OnLine, disable: object, take_fault: Callable[[Exception], None]) -> OnLine:
        """What to call for each line.

        :param otherwise: what to call for the lines of functions.
        """
        id, is_open = _ID, self.imports.is_open

        def on_line(code: CodeType, line: int) -> Any:
            if not is_open(id(code)):
                return otherwise(code, line)
            try:
                self._turn(code, line)
            except Exception as fault:  # at the end of the stack as well: a body runs but once
                take_fault(fault)
            return disable

        return on_line

    def end_collection(self) -> None:
        """The first test is about to begin: the bodies of what is imported from now on are not told by line."""
        self._is_by_line = False

    def begin(self, code: CodeType) -> None:
        """A body begins."""
        self.imports.begin(_ID(code), len(self._hits))

    def _turn(self, code: CodeType, line: int) -> None:
        """It goes on to another line: set aside what ran for the last one, so that it is told for this one again."""
        begun, last = self.imports.turn(_ID(code), line)
        if len(self._hits) > begun and self._run <= MOST_RUN:
            ran = self._set_aside(begun)
            self._run += len(ran.masks)
            self.imports.add(ran, (code.co_filename, last))

    def end(self, code: CodeType) -> None:
        """It is over: what ran is no matter of the test that imported it first.

        An import that fails is not heard of again: what it ran counts for the test that fails by it.
        """
        begun, line = self.imports.end(_ID(code), len(self._hits))
        self.imports.add(self._set_aside(begun), (code.co_filename, line))
        if self._run > MOST_RUN:
            self.imports.forget_statements()


# What is asked and told of what ran at import: light, as green runs load it as well.


class TestCode(NamedTuple):
    """What a test is made of.

    :ivar file: of the test; its code may stand elsewhere.
    :ivar codes: of the test, its fixtures, and what sets up its class.
    """

    file: str
    codes: tuple[CodeType, ...]


#: Gives the code of a test by its node id, None for a module that cannot be collected.
FindTestCode = Callable[[str], TestCode | None]


class ImportUses(NamedTuple):
    """What ran at import, and what uses what it made.

    :ivar import_effects: see :class:`loop_close.calls.Calls`.
    :ivar named: how many passing tests name what a function made, by its number.
    :ivar by_function: positions of what the code of a function names, by its number.
    :ivar by_failed: those of what the code of a failing test names, by its node id.
    """

    import_effects: tuple[ImportEffect, ...] = ()
    named: Mapping[int, int] = {}
    by_function: Mapping[int, frozenset[int]] = {}
    by_failed: Mapping[str, frozenset[int]] = {}


# What ran while modules were imported, as records, and what uses what it made.

#: With more links than these, of statements with functions and with each other, nothing is told of imports.
MOST_LINKS = 200_000


class ImportEffects:
    """Makes the records of one run.

    :param order: the index of each function in the records, by its number.
    """

    def __init__(self, known: Statements, count: CallCounts, order: Mapping[int, int]) -> None:
        self._known, self._count, self._order = known, count, order
        numbers = _telling(known)
        is_all = sum(len(known.ran[n]) + len(known.needs[n]) for n in numbers) <= MOST_LINKS
        self._numbers = sorted(numbers, key=lambda n: known.spots[n]) if is_all else []
        self._places = {number: place for place, number in enumerate(self._numbers)}
        self._needs = [self._placed(known.needs[number]) for number in self._numbers]

    def made(self, ownership: Ownership, code_of: FindTestCode) -> ImportUses:
        """All of it."""
        return ImportUses(
            self._all(ownership), self._named(code_of), self._by_function(), self._by_failed(code_of)
        )

    def _all(self, ownership: Ownership) -> tuple[ImportEffect, ...]:
        """A record for each group of statements, sorted by place."""
        found = []
        for number, needs in zip(self._numbers, self._needs, strict=True):
            file, line, column = self._known.spots[number]
            ran = frozenset(self._order[function] for function in self._known.ran[number])
            found.append(
                ImportEffect(file=ownership.shown(file), line=line, column=column, ran=ran, needs=needs)
            )
        return tuple(found)

    def _placed(self, numbers: Iterable[int]) -> frozenset[int]:
        return frozenset(self._places[number] for number in numbers if number in self._places)

    def _named(self, code_of: FindTestCode) -> Counter[int]:
        """How many passing tests use what each function made, by the names in their own code; by its number."""
        by_bits: Counter[int] = Counter()
        bits = self._bits()
        for code, tests in _by_code(map(code_of, self._count.passed_tests)):
            used = 0
            for number in self._known.of_test(code):
                used |= bits.get(number, 0)
            by_bits[used] += tests
        found: Counter[int] = Counter()
        for used, tests in by_bits.items():
            found.update(dict.fromkeys(bits_of(used), tests))
        return found

    def _bits(self) -> dict[int, int]:
        """Of each group the functions that made what it uses, a bit each."""
        own = [sum(1 << function for function in self._known.ran[number]) for number in self._numbers]
        return dict(zip(self._numbers, reach(self._needs, own), strict=True))

    def _by_function(self) -> dict[int, frozenset[int]]:
        """What the code of each function names, by its number."""
        return {number: self._placed(self._known.of_function(number)) for number in self._order}

    def _by_failed(self, code_of: FindTestCode) -> dict[str, frozenset[int]]:
        """What the code of each failing test names; of a module that cannot be collected that is not known."""
        codes = {nodeid: code_of(nodeid) for nodeid in sorted(self._count.failed)}
        return {
            nodeid: self._placed(self._known.of_test(code)) if code is not None else frozenset()
            for nodeid, code in codes.items()
        }


def _telling(known: Statements) -> set[int]:
    """Those that ran functions, and those that need such ones."""
    needed_by: list[list[int]] = [[] for _ in known.spots]
    for number, needs in enumerate(known.needs):
        for each in needs:
            needed_by[each].append(number)
    waiting, found = [number for number, ran in enumerate(known.ran) if ran], set[int]()
    while waiting:
        number = waiting.pop()
        if number not in found:
            found.add(number)
            waiting += needed_by[number]
    return found


def _by_code(codes: Iterable[TestCode | None]) -> Iterable[tuple[TestCode, int]]:
    """Each with the number of its tests: by identity, as the hash of code is that of all it holds."""
    found: dict[int, tuple[TestCode, int]] = {}
    for code in codes:
        if code is not None:
            found[id(code)] = code, found.get(id(code), (code, 0))[1] + 1
    return found.values()


# What the statements of the modules that were imported made, what each ran, and what uses it, by its names.

#: File, line and column.
SourcePosition = tuple[str, int, int]
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
        self.spots: list[SourcePosition] = []
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

    def of_test(self, test: TestCode) -> set[int]:
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
    from loop_close.syntax.uses import statements_of  # late: a green run does without

    try:
        with tokenize.open(file) as source:
            return statements_of(source.read())
    except (OSError, SyntaxError, ValueError):
        return []


# Modules that are loaded, and what their names are bound to, found without running anything of theirs.

_GLOBALS: Any = vars(ModuleType)["__dict__"].__get__
_CLASS_OF: Any = vars(type)["__dict__"].__get__


class Modules:
    """The globals of every module that is loaded, by its file."""

    def __init__(self) -> None:
        self._names: dict[int, frozenset[str]] = {}
        self._globals: dict[str, Mapping[str, Any]] = {}
        for module in list(sys.modules.values()):
            if issubclass(type(module), ModuleType) and (file := self.file_of(module)):
                self._globals[file] = _GLOBALS(module)

    def file_of(self, module: ModuleType) -> str:
        """The file of a module; empty where it has none."""
        file = _GLOBALS(module).get("__file__")
        return file if type(file) is str else ""

    def bound(self, file: str, name: str) -> Any:
        """What a name is bound to in the module of a file; None for nothing."""
        return self._globals.get(file, {}).get(name)

    def is_own(self, value: Any, file: str) -> bool:
        """Whether it was made for the module, as far as can be seen: classes and functions say where they are from."""
        if issubclass(type(value), type):
            origin = _CLASS_OF(value).get("__module__")
        elif type(value) is FunctionType:
            origin = value.__module__
        else:
            return True
        return bool(type(origin) is str and origin == self.bound(file, "__name__"))

    def names_in(self, code: CodeType) -> frozenset[str]:
        """Global names and attributes that code uses, with the code inside of it."""
        if id(code) not in self._names:
            inner = (each for each in code.co_consts if isinstance(each, CodeType))
            self._names[id(code)] = frozenset(code.co_names).union(*map(self.names_in, inner))
        return self._names[id(code)]

    def with_helpers(self, codes: Iterable[CodeType]) -> Iterator[CodeType]:
        """The code, and that of the functions of the same modules that it names: what tests call is not told."""
        waiting, seen = list(codes), set()
        while waiting:
            code = waiting.pop()
            if id(code) in seen:
                continue
            seen.add(id(code))
            yield code
            for name in self.names_in(code):
                value = self.bound(code.co_filename, name)
                if type(value) is FunctionType and value.__code__.co_filename == code.co_filename:
                    waiting.append(value.__code__)
