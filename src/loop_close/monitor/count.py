"""Count the tests that ran each function and each of its lines, and make the records of it."""

from __future__ import annotations

import ast
import re
import tokenize
import warnings
from array import array
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence, Set
from hashlib import blake2b
from types import CodeType
from typing import TYPE_CHECKING

from loop_close.calls import Called, Calls, Swallowed, sample, sample_key
from loop_close.monitor.codes import Ownership, codes_in, lines_of, returns_value
from loop_close.monitor.executions import RETURNED_NONE, Execution, Function, Line
from loop_close.monitor.handled import Handled, Note
from loop_close.monitor.imports import FindTestCode, Imports, ImportUses

if TYPE_CHECKING:
    from loop_close.syntax import index as syntax_index


#: How many failing tests are kept; of the others, nothing is.
MAX_FAILED = 300
#: How many exceptions that were swallowed are counted; of others that come later, nothing is kept.
MAX_SWALLOWED = 10_000
# Of those that failing tests swallowed, these many are reported.
_MOST_SWALLOWED = 1_000


class CallCounts:
    """What the tests of this process ran.

    :param functions: what the numbers stand for; more may come.
    :ivar passed: how many tests passed; ``passed_tests`` are their node ids, ``passing`` what they ran.
    :ivar outside: functions that ran outside of any test, or in one that neither passed nor failed;
        ``none_before``: those that gave None before the first one where a value was wanted.
    :ivar failed: of each failing test the lines that it ran, in order, as numbers in the order of ``failed_lines``;
        ``nothing``: the functions that gave it None where a value was wanted; ``swallowed``: exceptions that were
        handled and did not reach it.
    :ivar swallowing: how many passing tests swallowed each exception, those of failing tests as well.
    :ivar cut: in how many tests there were more of them than are looked at.
    :ivar passed_over: how many tests that passed or failed were not tracked; ``over`` functions that they ran.
    """

    def __init__(self, functions: Mapping[int, Function]) -> None:
        self.functions = functions
        self.passed = 0
        self.passed_tests: list[str] = []
        self.passing = PassingCounts(functions)
        self.outside: set[int] = set()
        self.none_before: set[int] = set()
        self.failed: dict[str, array[int]] = {}
        self.failed_lines: dict[Line, int] = {}
        self.returned_none: dict[str, Set[int]] = {}
        self.swallowed: dict[str, Mapping[Handled, Note]] = {}
        self.swallowing: dict[Handled, int] = {}
        self.cut = 0
        self.passed_over = 0
        self.over: set[int] = set()
        self._omitted: set[str] = set()
        self._last = ""  # of those that are kept the next to go

    @property
    def omitted(self) -> int:
        """How many failing tests were not kept."""
        return len(self._omitted)

    def add(self, nodeid: str, ran: Execution, outcome: str, *, is_cut: bool = False) -> None:
        """Count a test; one that was skipped or expected to fail says nothing but that it ran these functions.

        :param ran: in order if it failed.
        :param is_cut: not all exceptions that it handled were looked at.
        """
        if (is_cut or ran.swallowed) and outcome in ("passed", "failed"):
            self._count_swallowed(nodeid, ran.swallowed, is_failed=outcome == "failed", is_cut=is_cut)
        if outcome == "passed":
            self.passed += 1
            self.passed_tests.append(nodeid)
            if ran.masks:
                self.passing.add(ran.masks)
        elif outcome == "failed" and (nodeid in self.failed or self._is_chosen(nodeid)):
            # Thousands of lines in hundreds of tests: small numbers take a tenth of the room.
            numbers = self.failed_lines
            self.failed[nodeid] = array("I", [numbers.setdefault(line, len(numbers)) for line in ran.lines])
            self.returned_none[nodeid] = ran.returned_none
        elif outcome != "failed":
            self.add_outside(ran)

    def pass_over(self, nodeid: str, ran: Execution, outcome: str) -> None:
        """Take down a test that was not tracked.

        :param ran: what no test ran before it.
        """
        self.over |= ran.masks.keys()
        self.passed_over += outcome in ("passed", "failed")
        if outcome == "failed":
            self._omitted.add(nodeid)

    def _count_swallowed(
        self, nodeid: str, swallowed: Mapping[Handled, Note], *, is_failed: bool, is_cut: bool
    ) -> None:
        known = self.swallowing
        kept = {each: note for each, note in swallowed.items() if each in known or len(known) < MAX_SWALLOWED}
        for each in kept:
            known[each] = known.get(each, 0) + (not is_failed)
        if is_failed and kept:
            self.swallowed[nodeid] = kept
        self.cut += is_cut or len(kept) < len(swallowed)

    def _is_chosen(self, nodeid: str) -> bool:
        """Whether to keep one more failing test; where that is one too many, the last one goes."""
        if len(self.failed) < MAX_FAILED:
            return True
        last = self._last or max(self.failed, key=sample_key)
        goes = max(last, nodeid, key=sample_key)
        self._omitted.add(goes)
        self.failed.pop(goes, None)
        self.returned_none.pop(goes, None)
        self.swallowed.pop(goes, None)
        self._last = last if goes == nodeid else ""
        return goes != nodeid

    def ran_in_failed(self) -> set[int]:
        """The functions that failing tests ran, of those that are kept."""
        kept = set().union(*self.failed.values()) if self._omitted else None
        lines = enumerate(self.failed_lines)
        ran = {number for place, (number, _) in lines if kept is None or place in kept}
        return ran.union(
            *self.returned_none.values()
        )  # of one that ran before the test, only the end may be the test's

    def add_before(self, ran: Execution) -> None:
        """Take down what ran before the first test."""
        self.add_outside(ran)
        self.none_before |= ran.returned_none

    def add_outside(self, ran: Execution) -> None:
        """Take down what ran between tests."""
        self.outside |= ran.masks.keys()


def chosen(failed: Iterable[str]) -> list[str]:
    """The failing tests to keep, sorted: the same ones whichever comes first and whichever process runs them."""
    return sorted(sample(failed, MAX_FAILED))


def traces(failed: Mapping[str, Iterable[int]], lines: Sequence[Line]) -> dict[str, tuple[Line, ...]]:
    """The lines that each failing test ran, from their places; tests share the pairs, for there may be millions."""
    return {nodeid: tuple(map(lines.__getitem__, places)) for nodeid, places in sorted(failed.items())}


def most_raised(found: Iterable[Swallowed]) -> tuple[Swallowed, ...]:
    """Those that failing tests swallowed, in the order given. Of too many the ones that most such tests raised."""
    some = [each for each in found if each.failed]
    likely = sorted(range(len(some)), key=lambda n: (-len(some[n].failed), some[n].passed, n))
    return tuple(some[n] for n in sorted(likely[:_MOST_SWALLOWED]))


# How many passing tests ran each function and each of its lines.

# With more different masks than this they are added up line by line, to keep the room that they take bounded.
_MOST = 50_000


class PassingTests:
    """Numbers of passing tests.

    :ivar tests: those that ran the function.
    :ivar lines: those that ran each line, and for which it gave None where a value was wanted.
    """

    __slots__ = ("lines", "tests")

    def __init__(self) -> None:
        self.tests = 0
        self.lines: Counter[int] = Counter()


class PassingCounts:
    """Adds up masks as they are: tests run most functions in few ways, each of many lines.

    :param functions: what the numbers stand for; more may come.
    """

    def __init__(self, functions: Mapping[int, Function]) -> None:
        self._functions = functions
        self._masks: Counter[tuple[int, int]] = Counter()
        self._found: dict[int, PassingTests] = {}

    def add(self, masks: Mapping[int, int]) -> None:
        """Count a test."""
        self._masks.update(iter(masks.items()))
        if len(self._masks) > _MOST:
            self._add_up()

    def _add_up(self) -> None:
        for (number, mask), tests in self._masks.items():
            passed = self._found.setdefault(number, PassingTests())
            passed.tests += tests
            for line in self._functions[number].lines(mask):
                passed.lines[line] += tests
        self._masks.clear()

    def by_function(self) -> Mapping[int, PassingTests]:
        """The functions that passing tests ran, by their numbers."""
        self._add_up()
        return self._found


# From code objects and counts to records that mean the same in every process.

#: What tells a function from others: file, first line, qualified name.
Place = tuple[str, int, str]


def calls_of(
    count: CallCounts,
    ownership: Ownership,
    imports: Imports | None = None,
    code_of: FindTestCode | None = None,
    *,
    is_part: bool = False,
) -> Calls:
    """What was counted, as a record.

    :param count: no two of its functions are at the same place.
    :param imports: what ran while modules were imported.
    :param code_of: gives the code of a test by its node id, None for a module that cannot be collected; without it
        nothing is told of what ran at import.
    :param is_part: other processes run other tests, which may fail.
    """
    imports = imports or Imports()
    none_before = count.none_before | imports.returned_none
    passed, failed = count.passing.by_function(), count.ran_in_failed()
    outside = count.outside | imports.functions | (count.over - passed.keys() - failed)
    ran = {*passed, *outside, *failed}
    places = sorted((_place(count.functions[number].code, ownership), number) for number in ran)
    order = {number: index for index, (_, number) in enumerate(places)}
    is_green = count.passed and not count.failed  # then sources need not be read
    before = () if is_green else none_before
    owing, meant = _by_source({*before}.union(*count.returned_none.values()), before, count.functions)
    made = _made(count, ownership, imports, order, code_of if count.failed or is_part else None)
    return Calls(
        passed=count.passed,
        functions=tuple(
            _called(
                place,
                count.functions[number],
                passed.get(number, PassingTests()),
                in_import=number in outside,
                returns_value=number in owing,
                none_before=number in none_before and number not in meant,
                at_import=imports.lines.get(number, 0) if made.import_effects else 0,
                named=made.named.get(number, 0),
                uses=made.by_function.get(number, frozenset()),
            )
            for place, number in places
        ),
        failed=_failed(count, order),
        omitted=count.omitted,
        modules=frozenset(imports.modules) | {file for (file, _, _), _ in places},
        returned_none=_returned_none(count, order),
        import_effects=made.import_effects,
        uses=made.by_failed,
        swallowed=_swallowed(count, is_part=is_part),
        cut=count.cut,
        passed_over=count.passed_over,
    )


def _swallowed(count: CallCounts, *, is_part: bool) -> tuple[Swallowed, ...]:
    """Those of failing tests; of a part of the run all, as other processes may have failing tests with the same."""
    failed: dict[Handled, list[str]] = {}
    for nodeid, each in sorted(count.swallowed.items()):
        for handled in each:
            failed.setdefault(handled, []).append(nodeid)
    found = []
    for handled in sorted(count.swallowing if is_part else failed):
        tests = failed.get(handled, [])
        note = count.swallowed[tests[0]][handled] if tests else Note("", "")
        passed = count.swallowing[handled]
        found.append(Swallowed(**handled._asdict(), **note._asdict(), failed=frozenset(tests), passed=passed))
    return tuple(found) if is_part else most_raised(found)


def _failed(count: CallCounts, order: Mapping[int, int]) -> dict[str, tuple[tuple[int, int], ...]]:
    """The lines of failing tests by the indexes of functions; -1 is in none that is kept."""
    lines = [(order.get(number, -1), line) for number, line in count.failed_lines]
    return traces(count.failed, lines)


def _returned_none(count: CallCounts, order: Mapping[int, int]) -> dict[str, frozenset[int]]:
    return {nodeid: frozenset(order[n] for n in each) for nodeid, each in count.returned_none.items() if each}


def _made(
    count: CallCounts,
    ownership: Ownership,
    imports: Imports,
    order: Mapping[int, int],
    code_of: FindTestCode | None,
) -> ImportUses:
    if code_of is None or not imports.statements:
        return ImportUses()
    from loop_close.monitor.imports import (
        ImportEffects,  # late: it parses source
        Statements,
    )

    with warnings.catch_warnings(action="ignore"):  # the parser's, of odd escapes
        known = Statements(imports, count.functions)
    return ImportEffects(known, count, order).made(ownership, code_of)


def _by_source(
    numbers: Collection[int], before: Iterable[int], functions: Mapping[int, Function]
) -> tuple[frozenset[int], frozenset[int]]:
    """Those that are to give a value; of those before the tests, the ones that are annotated to give None as well."""
    if not numbers:
        return frozenset(), frozenset()

    owed = ReturnTypeIndex()
    with warnings.catch_warnings(action="ignore"):  # the parser's, of odd escapes
        owing = frozenset(number for number in numbers if owed.must_return_value(functions[number].code))
        return owing, frozenset(number for number in before if owed.may_return_none(functions[number].code))


def _place(function: CodeType, ownership: Ownership) -> Place:
    return ownership.file_of(function.co_filename) or "", function.co_firstlineno, function.co_qualname


def _called(
    place: Place,
    function: Function,
    passed: PassingTests,
    *,
    in_import: bool,
    returns_value: bool,
    none_before: bool,
    at_import: int,
    named: int,
    uses: frozenset[int],
) -> Called:
    file, line, name = place
    return Called(
        file=file,
        line=line,
        function=name,
        end_line=_last_line(function.code),
        digest=digest_of(function.code),
        passed=passed.tests,
        lines={line: tests for line, tests in sorted(passed.lines.items()) if line != RETURNED_NONE},
        in_import=in_import,
        returned_none=passed.lines[RETURNED_NONE],
        returns_value=returns_value,
        none_before=none_before,
        at_import=tuple(sorted(line for line in function.lines(at_import) if line != RETURNED_NONE)),
        named=named,
        uses=uses,
    )


def _last_line(code: CodeType) -> int:
    return max([code.co_firstlineno, *(line for inner, _ in codes_in(code) for line in lines_of(inner))])


def digest_of(code: CodeType) -> str:
    """Equal while the function does the same: neither its name nor where it stands counts, nor which file it is in."""
    made = blake2b(digest_size=8)
    left: list[object] = [code]
    places: dict[int, int] = {}  # of code objects: made by hand, one may be in many
    while left:
        each = left.pop()
        if not isinstance(each, CodeType):
            text = _constant(each)
        elif id(each) in places:
            text = f"code {places[id(each)]}"
        else:
            places[id(each)] = len(places)
            made.update(each.co_code)
            text = repr((each.co_names, each.co_varnames, each.co_freevars, each.co_flags))
            left += reversed(each.co_consts)
        made.update(text.encode("utf-8", "replace"))
    return made.hexdigest()


def _constant(value: object) -> str:
    """Its literal; the order of a frozenset is that of the run's hash seed."""
    if type(value) is int:
        return hex(value)  # a long one has no decimal literal
    if isinstance(value, frozenset):
        return repr(sorted(map(_constant, value)))
    return repr(list(map(_constant, value))) if isinstance(value, tuple) else repr(value)


# Whether a function owes a value, by its source: its annotation says so, or it never gives what it works out.
# Or whether it may give None, as the annotation says as well.

# Annotations that None fits, or that end no call; single capitals are type variables.
_FITS = re.compile(r"\b(None|Optional|Any|object|NoReturn|Never|_?[A-Z]|_?[A-Z][A-Za-z]*T)\b")


class ReturnTypeIndex:
    """Looks functions up in their files, each of which is read once."""

    def __init__(self) -> None:
        self._files: dict[str, syntax_index.SourceIndex | None] = {}

    def must_return_value(self, code: CodeType) -> bool:
        """Whether None out of a function is odd; not so where its source cannot be read."""
        node = self._node(code)
        return node is not None and _owes(node, code)

    def may_return_none(self, code: CodeType) -> bool:
        """Whether None is one of the values that it is annotated with."""
        node = self._node(code)
        try:
            return node is not None and node.returns is not None and _has_none(node.returns)
        except (SyntaxError, ValueError, RecursionError, MemoryError):  # of a text that is no annotation
            return False

    def _node(self, code: CodeType) -> syntax_index.Function | None:
        if code.co_filename not in self._files:
            self._files[code.co_filename] = _index(code.co_filename)
        index = self._files[code.co_filename]
        return index.functions.get(code.co_firstlineno) if index is not None else None


def _index(file: str) -> syntax_index.SourceIndex | None:
    from loop_close.syntax.index import index_source  # late: a green run does without

    try:
        with tokenize.open(file) as source:
            return index_source(source.read())
    except (OSError, SyntaxError, ValueError):
        return None


def _owes(node: syntax_index.Function, code: CodeType) -> bool:
    if node.returns is None:
        return not returns_value(code) and not all(map(_does_nothing, node.body))
    return not _FITS.search(ast.unparse(node.returns))


def _does_nothing(statement: ast.stmt) -> bool:
    """As in a method that is there to be overridden."""
    return isinstance(statement, ast.Pass) or (
        isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)
    )


def _has_none(annotation: ast.expr) -> bool:
    """Whether it is None, or a union with it: ``Callable[[], None]`` is neither."""
    match annotation:
        case ast.Constant(value=str(text)):
            return _has_none(ast.parse(text.strip(), mode="eval").body)
        case ast.Constant(value=value):
            return value is None
        case ast.BinOp(left=left, op=ast.BitOr(), right=right):
            return _has_none(left) or _has_none(right)
        case ast.Subscript(value=ast.Name(id=name) | ast.Attribute(attr=name), slice=inner):
            members = inner.elts if isinstance(inner, ast.Tuple) else [inner]
            return name == "Optional" or (name == "Union" and any(map(_has_none, members)))
    return False
