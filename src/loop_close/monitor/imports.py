"""Executions at import: what ran for each statement of a module, and which tests use the objects it made."""

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


#: A line of a module's body, as (``co_filename``, line).
Spot = tuple[str, int]


class _Body:
    """A module's body that has not ended.

    :ivar start: the number of hits when its current statement began.
    :ivar line: the current line, 0 before the first.
    """

    __slots__ = ("line", "start")

    def __init__(self, start: int) -> None:
        self.start = start
        self.line = 0


class Imports:
    """Records what ran while modules were imported.

    Modules are identified by the ``id`` of their code objects, hits are those since the last reset.

    :ivar modules: files whose modules ran.
    :ivar functions: numbers of functions that ran while a module was imported. ``returned_none`` are those that
        returned None where a value was expected.
    :ivar statements: the functions that ran, by the line of the module's body that ran them.
    :ivar lines: the bits of the lines that ran in any of these statements, by the number of the function.
    """

    def __init__(self) -> None:
        self.modules: set[str] = set()
        self.functions: set[int] = set()
        self.returned_none: set[int] = set()
        self.statements: dict[Spot, set[int]] = {}
        self.lines: dict[int, int] = {}
        self._open: dict[int, _Body] = {}

    def begin(self, module: int, hits: int) -> None:
        """Begin a module's body.

        :param module: the id of its code object.
        :param hits: the number of hits so far.
        """
        self._open[module] = _Body(hits)

    def is_open(self, module: int) -> bool:
        """Whether the module's body has begun and no end was reported."""
        return module in self._open

    def next_line(self, module: int, line: int) -> tuple[int, int]:
        """Move on to another line; returns the number of hits when the previous line began, and that line."""
        body = self._open[module]
        last, body.line = body.line, line
        return body.start, last

    def end(self, module: int, hits: int) -> tuple[int, int]:
        """End a body; returns the same pair for its last line, or ``hits`` and 0 if its beginning was not seen."""
        body = self._open.pop(module, _Body(hits))
        return body.start, body.line

    def keep(self, modules: Collection[int]) -> None:
        """Forget all other open bodies: their imports failed."""
        for module in self._open.keys() - set(modules):
            del self._open[module]

    def forget_statements(self) -> None:
        """Discard the records by statement, because they are incomplete."""
        self.statements.clear()
        self.lines.clear()

    def add(self, ran: Execution, spot: Spot | None = None) -> None:
        """Add what ran since a module's statement began, with the statement's line if it is known."""
        self.functions |= ran.masks.keys()
        self.returned_none |= ran.returned_none
        if spot is not None and ran.masks:
            self.statements.setdefault(spot, set()).update(ran.masks)
            for number, mask in ran.masks.items():
                self.lines[number] = self.lines.get(number, 0) | mask


# --- tracking of module bodies by line

#: A ``LINE`` callback: (code object, line) to ``DISABLE`` or None.
OnLine = Callable[[CodeType, int], Any]
#: Limit of the time that tracking by statement takes: the sum over statements of the functions that each ran.
MOST_RUN = 50_000
_ID = id  # tests may patch the builtin


class ModuleBodies:
    """Tracks module bodies line by line until the first test begins; after that, only their ends.

    :param hits: the hits since the last reset.
    :param remove_since: removes the hits from this index on and returns them as an execution. Their lines are
        reported again when they run again.
    :ivar imports: what ran in these bodies.
    """

    def __init__(
        self, ownership: Ownership, hits: Sequence[Hit], remove_since: Callable[[int], Execution]
    ) -> None:
        self.imports = Imports()
        self._ownership = ownership
        self._hits = hits
        self._remove_since = remove_since
        self._is_by_line = True
        self._function_runs = 0

    def is_followed(self, code: CodeType, frame: FrameType, *, is_project: bool) -> bool:
        """Whether the code is a module body to track: of the code under test, or of tests while lines are recorded.

        :param frame: the frame that runs it.
        :param is_project: the file belongs to the code under test.
        """
        if code.co_name != "<module>" or not is_import(frame.f_globals):
            return False
        return is_project or (self._is_by_line and self._ownership.is_test(code.co_filename))

    def events(self, monitoring: Any, code: CodeType) -> int:
        """The ``sys.monitoring`` events that a body needs."""
        events, is_long = monitoring.events, len(code.co_linetable) > LONGEST_TABLE
        return int(events.PY_RETURN | events.LINE if self._is_by_line and not is_long else events.PY_RETURN)

    def on_line(self, otherwise: OnLine, disable: object, take_fault: Callable[[Exception], None]) -> OnLine:
        """The ``LINE`` callback.

        :param otherwise: the callback for the lines of functions.
        :param disable: ``sys.monitoring.DISABLE``.
        :param take_fault: called with an error of the callback itself.
        """
        id, is_open = _ID, self.imports.is_open

        def on_line(code: CodeType, line: int) -> Any:
            if not is_open(id(code)):
                return otherwise(code, line)
            try:
                self._next_line(code, line)
            except Exception as fault:  # RecursionError too: a body runs only once
                take_fault(fault)
            return disable

        return on_line

    def end_collection(self) -> None:
        """Stop recording bodies by line, as the first test is about to begin."""
        self._is_by_line = False

    def begin(self, code: CodeType) -> None:
        """Begin a body."""
        self.imports.begin(_ID(code), len(self._hits))

    def _next_line(self, code: CodeType, line: int) -> None:
        """Attribute the hits so far to the previous line. They are removed, so that this line can report them again."""
        start, last = self.imports.next_line(_ID(code), line)
        if len(self._hits) > start and self._function_runs <= MOST_RUN:
            ran = self._remove_since(start)
            self._function_runs += len(ran.masks)
            self.imports.add(ran, (code.co_filename, last))

    def end(self, code: CodeType) -> None:
        """End a body: what it ran does not belong to the test that imported it first.

        A failing import has no return event. What it ran counts for the test that fails by it.
        """
        start, line = self.imports.end(_ID(code), len(self._hits))
        self.imports.add(self._remove_since(start), (code.co_filename, line))
        if self._function_runs > MOST_RUN:
            self.imports.forget_statements()


# --- types shared with modules that green runs load as well


class TestCode(NamedTuple):
    """The code of a test.

    :ivar file: the file of its node id; the code itself may be in another one.
    :ivar codes: the test function, its fixtures, and the setup of its class.
    """

    file: str
    codes: tuple[CodeType, ...]


#: Returns the code of a test by its node id; None if its module cannot be collected.
FindTestCode = Callable[[str], TestCode | None]


class ImportUses(NamedTuple):
    """What ran at import, and what uses the objects made there.

    :ivar import_effects: see :class:`loop_close.calls.Calls`. The other fields refer to it by position.
    :ivar named: by the number of a function, how many passing tests name an object that it made at import.
    :ivar by_function: positions of the effects whose objects the code of a function names, by its number.
    :ivar by_failed: the same for the code of each failing test, by node id.
    """

    import_effects: tuple[ImportEffect, ...] = ()
    named: Mapping[int, int] = {}
    by_function: Mapping[int, frozenset[int]] = {}
    by_failed: Mapping[str, frozenset[int]] = {}


# --- the records of import effects

#: With more links than this between statements and functions or other statements, no import effects are reported.
MOST_LINKS = 200_000


class ImportEffects:
    """Makes the import effects of one run.

    :param known: the statements of the imported modules.
    :param count: what the tests ran.
    :param order: the index of each function in ``Calls.functions``, by its number.
    """

    def __init__(self, known: Statements, count: CallCounts, order: Mapping[int, int]) -> None:
        self._known, self._count, self._order = known, count, order
        numbers = _relevant(known)
        is_all = sum(len(known.ran[n]) + len(known.needs[n]) for n in numbers) <= MOST_LINKS
        self._numbers = sorted(numbers, key=lambda n: known.spots[n]) if is_all else []
        self._places = {number: place for place, number in enumerate(self._numbers)}
        self._needs = [self._positions(known.needs[number]) for number in self._numbers]

    def collect(self, ownership: Ownership, code_of: FindTestCode) -> ImportUses:
        """The import effects and their uses.

        :param code_of: returns the code of a test by its node id.
        """
        return ImportUses(
            self._effects(ownership), self._named(code_of), self._by_function(), self._by_failed(code_of)
        )

    def _effects(self, ownership: Ownership) -> tuple[ImportEffect, ...]:
        """One record for each group of statements, sorted by file, line and column."""
        found = []
        for number, needs in zip(self._numbers, self._needs, strict=True):
            file, line, column = self._known.spots[number]
            ran = frozenset(self._order[function] for function in self._known.ran[number])
            path = ownership.relative(file) or file
            found.append(ImportEffect(file=path, line=line, column=column, ran=ran, needs=needs))
        return tuple(found)

    def _positions(self, numbers: Iterable[int]) -> frozenset[int]:
        return frozenset(self._places[number] for number in numbers if number in self._places)

    def _named(self, code_of: FindTestCode) -> Counter[int]:
        """How many passing tests use, by names in their own code, what each function made; by its number."""
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
        """For each group, the functions that made the objects it uses, as a bit mask of their numbers."""
        own = [sum(1 << function for function in self._known.ran[number]) for number in self._numbers]
        return dict(zip(self._numbers, reach(self._needs, own), strict=True))

    def _by_function(self) -> dict[int, frozenset[int]]:
        """Positions of the effects that the code of each function names, by its number."""
        return {number: self._positions(self._known.of_function(number)) for number in self._order}

    def _by_failed(self, code_of: FindTestCode) -> dict[str, frozenset[int]]:
        """Positions of the effects that each failing test's code names; empty if its module cannot be collected."""
        codes = {nodeid: code_of(nodeid) for nodeid in sorted(self._count.failed)}
        return {
            nodeid: self._positions(self._known.of_test(code)) if code is not None else frozenset()
            for nodeid, code in codes.items()
        }


def _relevant(known: Statements) -> set[int]:
    """The groups that ran functions, and those that need such a group, directly or not."""
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
    """Each code with its number of tests; compared by ``id``, because hashing code hashes all its contents."""
    found: dict[int, tuple[TestCode, int]] = {}
    for code in codes:
        if code is not None:
            found[id(code)] = code, found.get(id(code), (code, 0))[1] + 1
    return found.values()


# --- statements of the imported modules: the names they bind, the functions they ran, and what uses them

#: (file, line, column).
SourcePosition = tuple[str, int, int]
# At most this many files are parsed, in the order in which they ran.
_MOST_FILES = 500
# An object that more statements bind is shared by all, and links none of them.
_MOST_PLACES = 8
# Equal values of these types may be one object, so that identity shows no link.
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
    """Numbered groups of statements: statements of one file that bind a common name are one group.

    :param imports: what ran while modules were imported.
    :param functions: functions by number.
    :ivar spots: the position of the first statement of each group, with ``co_filename`` as the file.
    :ivar ran: the numbers of the functions that each group ran.
    :ivar needs: the groups whose objects each group uses, directly or in the functions that it ran.
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
        """The groups that bind the objects to which these names refer in the module of the file."""
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
        """The groups whose objects a function uses, and the group that defines the function."""
        return self._of_code(self._functions[number].code)

    def of_test(self, test: TestCode) -> set[int]:
        """The same for a test with its fixtures and helpers.

        If none of the code is in the test's file, all groups of that file count.
        """
        found: set[int] = set().union(*map(self._of_code, self._modules.with_helpers(test.codes)))
        if all(code.co_filename != test.file for code in test.codes):
            found.update(number for number, (file, _, _) in enumerate(self.spots) if file == test.file)
        return found


def _grouped(statements: Iterable[Statement]) -> Iterable[list[Statement]]:
    """Group the statements that bind a common name or begin on the same line (union-find)."""
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
    from loop_close.syntax.uses import statements_of  # imported late, as green runs do not need it

    try:
        with tokenize.open(file) as source:
            return statements_of(source.read())
    except (OSError, SyntaxError, ValueError):
        return []


# --- loaded modules, read without running code of theirs

_GLOBALS: Any = vars(ModuleType)["__dict__"].__get__
_CLASS_OF: Any = vars(type)["__dict__"].__get__


class Modules:
    """The globals of every loaded module, by its file."""

    def __init__(self) -> None:
        self._names: dict[int, frozenset[str]] = {}
        self._globals: dict[str, Mapping[str, Any]] = {}
        for module in list(sys.modules.values()):
            if issubclass(type(module), ModuleType) and (file := self.file_of(module)):
                self._globals[file] = _GLOBALS(module)

    def file_of(self, module: ModuleType) -> str:
        """The ``__file__`` of a module; empty if it has none."""
        file = _GLOBALS(module).get("__file__")
        return file if type(file) is str else ""

    def bound(self, file: str, name: str) -> Any:
        """The object that a global name of the file's module is bound to; None if there is none."""
        return self._globals.get(file, {}).get(name)

    def is_own(self, value: Any, file: str) -> bool:
        """Whether the object was made in the module of the file; True for types that do not record their module."""
        if issubclass(type(value), type):
            origin = _CLASS_OF(value).get("__module__")
        elif type(value) is FunctionType:
            origin = value.__module__
        else:
            return True
        return bool(type(origin) is str and origin == self.bound(file, "__name__"))

    def names_in(self, code: CodeType) -> frozenset[str]:
        """Global names and attributes that the code uses, including the code objects inside it."""
        if id(code) not in self._names:
            inner = (each for each in code.co_consts if isinstance(each, CodeType))
            self._names[id(code)] = frozenset(code.co_names).union(*map(self.names_in, inner))
        return self._names[id(code)]

    def with_helpers(self, codes: Iterable[CodeType]) -> Iterator[CodeType]:
        """The code, and that of functions it names in the same modules, as calls of test code are not recorded."""
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
