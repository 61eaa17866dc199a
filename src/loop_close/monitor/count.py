"""Counts of the tests that ran each function and line, and the :class:`loop_close.calls.Calls` made from them."""

from __future__ import annotations

import ast
import tokenize
import warnings
from array import array
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence, Set
from hashlib import blake2b
from types import CodeType
from typing import TYPE_CHECKING

from loop_close import lazy
from loop_close.calls import Called, Calls, Swallowed, sample, sample_key
from loop_close.monitor.codes import Ownership, codes_in, lines_of, returns_value
from loop_close.monitor.executions import RETURNED_NONE, Execution, Function, Line
from loop_close.monitor.handled import Handled, Note
from loop_close.monitor.imports import FindTestCode, Imports, ImportUses

if TYPE_CHECKING:
    from loop_close.syntax import Function as FunctionNode
    from loop_close.syntax import SourceIndex


#: Limit of failing tests whose lines are recorded.
MAX_FAILED = 300
#: Limit of different swallowed exceptions that are counted; later ones are dropped.
MAX_SWALLOWED = 10_000
# Limit of swallowed exceptions in the record.
_MOST_SWALLOWED = 1_000


class CallCounts:
    """What the tests of this process ran.

    :param functions: the functions by number; functions may be added to it later.
    :ivar passed: how many tests passed; ``passed_tests`` are their node ids, ``passing`` what they ran.
    :ivar outside: functions that ran outside of any test, or in one that neither passed nor failed.
    :ivar none_before: functions that returned None before the first test, where a value was expected.
    :ivar failed: for each failing test the lines that it ran, in order, as values of ``failed_lines``.
    :ivar failed_lines: a number for each line that a failing test ran.
    :ivar returned_none: for each failing test the functions that returned None where a value was expected.
    :ivar swallowed: for each failing test the exceptions that were handled and did not reach it.
    :ivar swallowing: how many passing tests swallowed each exception; those of failing tests are keys as well.
    :ivar cut: how many tests handled more exceptions than were examined or counted.
    :ivar passed_over: how many tests that passed or failed were not tracked.
    :ivar untracked: the failing ones of them.
    :ivar in_untracked: functions that untracked tests ran.
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
        self.untracked: set[str] = set()
        self.in_untracked: set[int] = set()
        self._omitted: set[str] = set()
        self._last = ""  # the kept failing test that is dropped next, empty until computed

    @property
    def omitted(self) -> int:
        """How many failing tests were not kept."""
        return len(self._omitted)

    def add(self, nodeid: str, ran: Execution, outcome: str, *, is_cut: bool = False) -> None:
        """Count a test. If it neither passed nor failed, only the functions that it ran are recorded.

        :param ran: what it ran, with the order of lines if it failed.
        :param outcome: as pytest names it.
        :param is_cut: some of the exceptions that it handled were not examined.
        """
        if (is_cut or ran.swallowed) and outcome in ("passed", "failed"):
            self._count_swallowed(nodeid, ran.swallowed, is_failed=outcome == "failed", is_cut=is_cut)
        if outcome == "passed":
            self.passed += 1
            self.passed_tests.append(nodeid)
            if ran.masks:
                self.passing.add(ran.masks)
        elif outcome == "failed" and (nodeid in self.failed or self._is_kept(nodeid)):
            # Thousands of lines in hundreds of tests: an array takes a tenth of the memory of a list.
            numbers = self.failed_lines
            self.failed[nodeid] = array("I", [numbers.setdefault(line, len(numbers)) for line in ran.lines])
            self.returned_none[nodeid] = ran.returned_none
        elif outcome != "failed":
            self.add_outside(ran)

    def add_untracked(self, nodeid: str, ran: Execution, outcome: str) -> None:
        """Count a test that was not tracked.

        :param ran: the lines that it was the first to run.
        """
        self.in_untracked |= ran.masks.keys()
        self.passed_over += outcome in ("passed", "failed")
        if outcome == "failed":
            self._omitted.add(nodeid)
            self.untracked.add(nodeid)

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

    def _is_kept(self, nodeid: str) -> bool:
        """Whether to keep one more failing test; beyond the limit, the one with the greatest sample key is dropped."""
        if len(self.failed) < MAX_FAILED:
            return True
        last = self._last or max(self.failed, key=sample_key)
        dropped = max(last, nodeid, key=sample_key)
        self._omitted.add(dropped)
        self.failed.pop(dropped, None)
        self.returned_none.pop(dropped, None)
        self.swallowed.pop(dropped, None)
        self._last = last if dropped == nodeid else ""
        return dropped != nodeid

    def ran_in_failed(self) -> set[int]:
        """The functions that the kept failing tests ran."""
        kept = set().union(*self.failed.values()) if self._omitted else None
        lines = enumerate(self.failed_lines)
        ran = {number for place, (number, _) in lines if kept is None or place in kept}
        return ran.union(
            *self.returned_none.values()
        )  # a call may begin before the test, so that only its return is in the test

    def add_before(self, ran: Execution) -> None:
        """Add what ran before the first test."""
        self.add_outside(ran)
        self.none_before |= ran.returned_none

    def add_outside(self, ran: Execution) -> None:
        """Add what ran between tests."""
        self.outside |= ran.masks.keys()


def chosen(failed: Iterable[str]) -> list[str]:
    """The failing tests to keep, sorted; independent of their order and of the distribution over processes."""
    return sorted(sample(failed, MAX_FAILED))


def traces(failed: Mapping[str, Iterable[int]], lines: Sequence[Line]) -> dict[str, tuple[Line, ...]]:
    """The lines that each failing test ran.

    :param failed: by node id, indexes in ``lines``.
    :param lines: the lines; the tests share these tuples, as there may be millions of references.
    """
    return {nodeid: tuple(map(lines.__getitem__, places)) for nodeid, places in sorted(failed.items())}


def most_raised(found: Iterable[Swallowed]) -> tuple[Swallowed, ...]:
    """The exceptions that failing tests swallowed, in the given order.

    Beyond the limit, those that most failing tests raised are kept.
    """
    some = [each for each in found if each.failed]
    likely = sorted(range(len(some)), key=lambda n: (-len(some[n].failed), some[n].passed, n))
    return tuple(some[n] for n in sorted(likely[:_MOST_SWALLOWED]))


# --- counts of passing tests by function and line

# With more different masks than this they are converted to counts by line, which bounds the memory.
_MOST = 50_000


class PassingTests:
    """Numbers of passing tests for one function.

    :ivar tests: how many ran the function.
    :ivar lines: how many ran each line. The count under ``RETURNED_NONE`` is of tests in which it returned None where
        a value was expected.
    """

    __slots__ = ("lines", "tests")

    def __init__(self) -> None:
        self.tests = 0
        self.lines: Counter[int] = Counter()


class PassingCounts:
    """Counts equal masks first and lines later: most functions run in few ways, each of many lines.

    :param functions: the functions by number; functions may be added to it later.
    """

    def __init__(self, functions: Mapping[int, Function]) -> None:
        self._functions = functions
        self._masks: Counter[tuple[int, int]] = Counter()
        self._found: dict[int, PassingTests] = {}

    def add(self, masks: Mapping[int, int]) -> None:
        """Count a passing test.

        :param masks: the bits of the lines that it ran, by the number of the function.
        """
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
        """The counts of the functions that passing tests ran, by the number of the function."""
        self._add_up()
        return self._found


# --- conversion to records that do not depend on the process

#: Identifies a function: (file, first line, qualified name).
Place = tuple[str, int, str]


def calls_of(
    count: CallCounts,
    ownership: Ownership,
    imports: Imports | None = None,
    code_of: FindTestCode | None = None,
    *,
    is_part: bool = False,
) -> Calls:
    """The counts as a record.

    :param count: the counts; each of its functions has a different place.
    :param ownership: maps code objects to files.
    :param imports: what ran while modules were imported.
    :param code_of: returns the code of a test by its node id, None if its module cannot be collected. Without it no
        import effects are reported.
    :param is_part: other processes run other tests, which may fail.
    """
    imports = imports or Imports()
    none_before = count.none_before | imports.returned_none
    passed, failed = count.passing.by_function(), count.ran_in_failed()
    outside = count.outside | imports.functions | (count.in_untracked - passed.keys() - failed)
    ran = {*passed, *outside, *failed}
    places = sorted((_place(count.functions[number].code, ownership), number) for number in ran)
    order = {number: index for index, (_, number) in enumerate(places)}
    is_green = count.passed and not (count.failed or count.omitted)  # then no sources need to be read
    before = () if is_green else none_before
    must_return, may_be_none = _by_return_type(
        {*before}.union(*count.returned_none.values()), before, count.functions
    )
    import_uses = _import_uses(count, ownership, imports, order, code_of if count.failed or is_part else None)
    return Calls(
        passed=count.passed,
        functions=tuple(
            _called(
                place,
                count.functions[number],
                passed.get(number, PassingTests()),
                in_import=number in outside,
                returns_value=number in must_return,
                none_before=number in none_before and number not in may_be_none,
                at_import=imports.lines.get(number, 0) if import_uses.import_effects else 0,
                named=import_uses.named.get(number, 0),
                uses=import_uses.by_function.get(number, frozenset()),
            )
            for place, number in places
        ),
        failed=_failed(count, order),
        omitted=count.omitted,
        modules=frozenset(imports.modules) | {file for (file, _, _), _ in places},
        returned_none=_returned_none(count, order),
        import_effects=import_uses.import_effects,
        uses=import_uses.by_failed,
        swallowed=_swallowed(count, is_part=is_part),
        like_tests={},  # found where sources are read; the default of the field cannot be pickled
        cut=count.cut,
        passed_over=count.passed_over,
    )


def _swallowed(count: CallCounts, *, is_part: bool) -> tuple[Swallowed, ...]:
    """The exceptions of failing tests; all exceptions if other processes may have failing tests with the same."""
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
    """The lines of failing tests as (index in ``Calls.functions``, line); index -1 if the function was dropped."""
    lines = [(order.get(number, -1), line) for number, line in count.failed_lines]
    return traces(count.failed, lines)


def _returned_none(count: CallCounts, order: Mapping[int, int]) -> dict[str, frozenset[int]]:
    return {nodeid: frozenset(order[n] for n in each) for nodeid, each in count.returned_none.items() if each}


def _import_uses(
    count: CallCounts,
    ownership: Ownership,
    imports: Imports,
    order: Mapping[int, int],
    code_of: FindTestCode | None,
) -> ImportUses:
    if code_of is None or not imports.statements:
        return ImportUses()
    from loop_close.monitor.imports import (
        ImportEffects,  # imported late, as it parses source
        Statements,
    )

    with warnings.catch_warnings(action="ignore"):  # warnings of the parser, such as for invalid escapes
        known = Statements(imports, count.functions)
    return ImportEffects(known, count, order).collect(ownership, code_of)


def _by_return_type(
    numbers: Collection[int], before: Iterable[int], functions: Mapping[int, Function]
) -> tuple[frozenset[int], frozenset[int]]:
    """Look up the return types of functions in their source.

    :param numbers: the functions that returned None.
    :param before: those that did so before the first test.
    :returns: the numbers that must return a value, and those of ``before`` whose annotation allows None.
    """
    if not numbers:
        return frozenset(), frozenset()

    return_types = ReturnTypeIndex()
    with warnings.catch_warnings(action="ignore"):  # warnings of the parser, such as for invalid escapes
        must_return = frozenset(
            number for number in numbers if return_types.must_return_value(functions[number].code)
        )
        return must_return, frozenset(
            number for number in before if return_types.may_return_none(functions[number].code)
        )


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
    """A digest of what the function does; independent of its name, its position and its file."""
    digest = blake2b(digest_size=8)
    left: list[object] = [code]
    places: dict[int, int] = {}  # by id: in hand-made code, one object may occur in several places
    while left:
        each = left.pop()
        if not isinstance(each, CodeType):
            text = _constant(each)
        elif id(each) in places:
            text = f"code {places[id(each)]}"
        else:
            places[id(each)] = len(places)
            digest.update(each.co_code)
            text = repr((each.co_names, each.co_varnames, each.co_freevars, each.co_flags))
            left += reversed(each.co_consts)
        digest.update(text.encode("utf-8", "replace"))
    return digest.hexdigest()


def _constant(value: object) -> str:
    """The literal of a constant; a frozenset is sorted, as its order depends on the hash seed."""
    if type(value) is int:
        return hex(value)  # a long one has no decimal literal
    if isinstance(value, frozenset):
        return repr(sorted(map(_constant, value)))
    return repr(list(map(_constant, value))) if isinstance(value, tuple) else repr(value)


# --- expected return values, from annotations and source

# Annotations that allow None, or functions that never return. Single capitals are type variables.
_FITS = lazy.pattern(r"\b(None|Optional|Any|object|NoReturn|Never|_?[A-Z]|_?[A-Z][A-Za-z]*T)\b")


class ReturnTypeIndex:
    """Finds out from source whether functions must return a value; each file is read once."""

    def __init__(self) -> None:
        self._files: dict[str, SourceIndex | None] = {}

    def must_return_value(self, code: CodeType) -> bool:
        """Whether the function should not return None; False if its source cannot be read.

        Its annotation excludes None. Or it has no annotation, is not empty, and never returns a value.
        """
        node = self._node(code)
        return node is not None and _must_return_value(node, code)

    def may_return_none(self, code: CodeType) -> bool:
        """Whether the return annotation allows None; False if there is none."""
        node = self._node(code)
        try:
            return node is not None and node.returns is not None and _has_none(node.returns)
        except (SyntaxError, ValueError, RecursionError, MemoryError):  # a string that is not an annotation
            return False

    def _node(self, code: CodeType) -> FunctionNode | None:
        if code.co_filename not in self._files:
            self._files[code.co_filename] = _index(code.co_filename)
        index = self._files[code.co_filename]
        return index.functions.get(code.co_firstlineno) if index is not None else None


def _index(file: str) -> SourceIndex | None:
    from loop_close.syntax import index_source  # imported late, as green runs do not need it

    try:
        with tokenize.open(file) as source:
            return index_source(source.read())
    except (OSError, SyntaxError, ValueError):
        return None


def _must_return_value(node: FunctionNode, code: CodeType) -> bool:
    if node.returns is None:
        return not returns_value(code) and not all(map(_does_nothing, node.body))
    return not _FITS.search(ast.unparse(node.returns))


def _does_nothing(statement: ast.stmt) -> bool:
    """Whether the statement is ``pass`` or a constant, as in a method that is meant to be overridden."""
    return isinstance(statement, ast.Pass) or (
        isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)
    )


def _has_none(annotation: ast.expr) -> bool:
    """Whether the annotation is None or a union with None; ``Callable[[], None]`` is neither."""
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
