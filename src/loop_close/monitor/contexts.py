"""Calls of each test, read from a coverage.py data file with per-test contexts."""

from __future__ import annotations

import sqlite3
import warnings
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from contextlib import closing
from pathlib import Path
from types import CodeType
from typing import TYPE_CHECKING

from loop_close.calls import Calls
from loop_close.monitor.codes import Ownership, codes_in
from loop_close.monitor.count import CallCounts, calls_of
from loop_close.monitor.executions import Execution, Function, Line
from loop_close.records import Record

if TYPE_CHECKING:
    from coverage import CoverageData


#: Limits of a data file: pairs of a line and a context, and bytes.
MAX_PAIRS = 2_000_000
MAX_BYTES = 500_000_000
_MAX_TEXT = 200


class _UnusableError(Exception):
    """The data file cannot be used; the message says why."""


def data_file(root: str, environ: Mapping[str, str]) -> Path:
    """The path of coverage.py's data file, unless its settings name another one.

    :param root: absolute path of the project's root.
    """
    return Path(root, environ.get("COVERAGE_FILE") or ".coverage")


def calls_from_contexts(path: Path, root: str, failed: Collection[str]) -> tuple[Calls | None, str]:
    """What the tests called, as the monitor would record it, but with lines in no order.

    The file does not record outcomes: all tests that did not fail are assumed to have passed.

    :param path: the data file; it is not changed.
    :param root: absolute path of the project's root.
    :param failed: node ids of the failing tests.
    :returns: the record and an empty text; or None and why the file cannot be used; no reason for no file.
    """
    try:
        return _read(path, root, frozenset(failed)), ""
    except _UnusableError as error:
        return None, str(error)
    except Exception as error:  # coverage may raise anything on a broken file
        text = " ".join(str(error).replace(str(path), path.name).split()) or type(error).__name__
        return None, f"{path.name} cannot be read: {text[:_MAX_TEXT]}"


def _read(path: Path, root: str, failed: Collection[str]) -> Calls:
    if not path.is_file():
        raise _UnusableError
    try:
        from coverage import CoverageData  # an optional dependency, slow to import
    except ImportError:
        raise _UnusableError("coverage is not installed") from None
    _check_content(path)
    data = CoverageData(str(path))
    try:
        data.read()
        return _calls(data, path, root, failed)
    finally:
        if hasattr(data, "close"):  # older versions close the database after each query
            data.close()


def _no_contexts(path: Path) -> _UnusableError:
    return _UnusableError(f"no {path.name} with per-test contexts")


def _check_content(path: Path) -> None:
    """Reject a file that is not a coverage database, that is being written, or that is too large.

    Coverage would add its tables to any other database, and wait for a locked one. The tables are documented and the
    same in all 7.x versions.

    :raises _UnusableError: with the reason.
    """
    if path.stat().st_size > MAX_BYTES:
        raise _UnusableError(f"{path.name} is too large: more than {MAX_BYTES:,} bytes")
    uri = f"{path.absolute().as_uri()}?mode=ro"
    with closing(sqlite3.connect(uri, uri=True, timeout=0)) as database:
        if database.execute("select 1 from sqlite_master where type not in ('table', 'index')").fetchone():
            raise _UnusableError(f"{path.name} has views or triggers, which coverage does not make")
        database.create_function("bits", 1, lambda blob: int.from_bytes(blob, "big").bit_count())
        ((lines,),) = database.execute("select coalesce(sum(bits(numbits)), 0) from line_bits")
        # Branch coverage records jumps instead of lines: one for each way to reach a line.
        ((jumps,),) = database.execute("select count(*) from arc where tono > 0")
    if lines + jumps > MAX_PAIRS:
        raise _UnusableError(f"{path.name} is too large: more than {MAX_PAIRS:,} lines of tests")


def _calls(data: CoverageData, path: Path, root: str, failed: Collection[str]) -> Calls:
    tests = tests_of(data.measured_contexts(), failed)
    known = {test for several in tests.values() for test in several}
    if not known:
        raise _no_contexts(path)
    if failed and known.isdisjoint(failed):
        raise _UnusableError(f"{path.name} has no data on the failing tests")
    ownership = Ownership(root)
    files = _files(data.measured_files(), root, ownership)
    if not files:
        raise _UnusableError(f"{path.name} has no files below the root")
    _check_age(path, root, [*files, *sorted({nodeid.partition("::")[0] for nodeid in failed})])
    lines = _Lines(tests, failed)
    for file, names in files.items():
        source = compiled(Path(root, file))
        if source is not None:
            lines.add(source, _contexts_by_line(data, names))
    return calls_of(lines.counted(), ownership)


def _files(names: Iterable[str], root: str, ownership: Ownership) -> dict[str, list[str]]:
    """The files of the code under test, sorted, each with its names in the coverage data."""
    files = defaultdict(list)
    for name in names:
        file = ownership.file_of(str(Path(root, name)))  # with ``relative_files`` the names are relative
        if file is not None:
            files[file].append(name)
    return dict(sorted(files.items()))


def _check_age(path: Path, root: str, files: Iterable[str]) -> None:
    """Reject data that is older than a file, as its line numbers may be those of other code.

    :raises _UnusableError: with the name of the newer file.
    """
    written = path.stat().st_mtime_ns
    for file in files:
        try:
            changed = Path(root, file).stat().st_mtime_ns
        except (OSError, ValueError):
            continue  # deleted, or not a file name
        if changed > written:
            raise _UnusableError(f"{path.name} is older than {file}")


def _contexts_by_line(data: CoverageData, names: Iterable[str]) -> dict[int, set[str]]:
    found: dict[int, set[str]] = {}
    for name in names:
        for line, contexts in data.contexts_by_lineno(name).items():
            found.setdefault(line, set()).update(contexts)
    return found


class _Lines:
    """The lines that ran, collected file by file.

    :param tests: the tests of each context, as by :func:`tests_of`.
    :param failed: node ids of the failing tests.
    """

    def __init__(self, tests: Mapping[str, tuple[str, ...]], failed: Collection[str]) -> None:
        self._functions: dict[int, Function] = {}
        self._numbers: dict[int, int] = {}
        self._tests = tests
        self._outside: dict[int, int] = {}
        known = sorted({test for several in tests.values() for test in several})
        self._masks: dict[str, dict[int, int]] = {test: {} for test in known}
        self._lines: dict[str, dict[Line, None]] = {test: {} for test in known if test in failed}

    def add(self, source: Compiled, contexts: Mapping[int, set[str]]) -> None:
        """Add the lines of a file that ran.

        :param contexts: the contexts in which each line ran.
        """
        import_contexts = {context for line in source.module & contexts.keys() for context in contexts[line]}
        for line in sorted(source.owners.keys() & contexts.keys()):
            number = self._number(source.owners[line])
            if line in source.shared:  # it also runs when the function is defined, which is not a call
                self._add_line(number, line, contexts[line] & self._tests.keys() - import_contexts)
            else:
                self._add_line(number, line, contexts[line])

    def _number(self, owner: CodeType) -> int:
        if id(owner) not in self._numbers:
            self._numbers[id(owner)] = len(self._functions)
            self._functions[len(self._functions)] = Function(
                owner
            )  # keeps the code object alive, so that its id is not reused
        return self._numbers[id(owner)]

    def _add_line(self, number: int, line: int, contexts: Collection[str]) -> None:
        bit = self._functions[number].bit(line)
        for test in {test for context in contexts for test in self._tests.get(context, ())}:
            _add(self._masks[test], number, bit)
            if test in self._lines:
                self._lines[test][number, line] = None
        if any(context not in self._tests for context in contexts):
            _add(self._outside, number, bit)

    def counted(self) -> CallCounts:
        """The counts, as the monitor makes them."""
        count = CallCounts(self._functions)
        count.add_outside(Execution(self._outside))
        for test, masks in self._masks.items():
            ran = Execution(masks, self._lines.get(test, {}))
            count.add(test, ran, "failed" if test in self._lines else "passed")
        return count


def _add(masks: dict[int, int], number: int, bit: int) -> None:
    masks[number] = masks.get(number, 0) | bit


# --- tests by the names of coverage contexts

_PHASES = ("setup", "run", "teardown")
# Modules in which functions named "test…" are fixtures.
_FIXTURE_MODULES = ("conftest", "fixtures")


def tests_of(contexts: Collection[str], failed: Collection[str]) -> dict[str, tuple[str, ...]]:
    """The tests of each context, by its name.

    pytest-cov names the node id and the phase; coverage's own ``test_function`` names module, class and function.
    Both follow a static context, if there is one.

    :param failed: node ids of failing tests.
    :returns: for each context the node ids of failing tests, or one name of a passing test. There are several if the
        context is the same for all parameters, and none if the test is ambiguous. Contexts outside of tests are
        left out.
    """
    nodeids = {context: _nodeid(context) for context in contexts}
    tests: dict[str, tuple[str, ...]] = {context: (nodeid,) for context, nodeid in nodeids.items() if nodeid}
    functions = {context: _function(context) for context, nodeid in nodeids.items() if not nodeid}
    functions = {context: name for context, name in functions.items() if name}
    return tests | _by_function(functions, failed) if functions else tests


def _nodeid(context: str) -> str:
    """The node id that pytest-cov recorded; empty for other contexts."""
    name, _, phase = context.rpartition("|")
    if phase not in _PHASES:
        return ""
    static, _, rest = name.partition("|")
    return rest if rest and "::" not in static else name  # parameters may hold a bar, too


def _function(context: str) -> str:
    """The qualified name of a test function that coverage recorded; empty for other contexts."""
    name = context.rpartition("|")[2]
    module, _, function = name.rpartition(".")
    return name if module and (function.startswith("test") or function == "runTest") else ""


def _by_function(functions: Mapping[str, str], failed: Iterable[str]) -> dict[str, tuple[str, ...]]:
    failing = _failing(set(functions.values()), failed)
    tests: dict[str, tuple[str, ...]] = {}
    for context, name in functions.items():
        if name in failing:
            is_clear = len({nodeid.partition("::")[0] for nodeid in failing[name]}) == 1
            tests[context] = tuple(failing[name]) if is_clear else ()
        else:
            tests[context] = () if _is_fixture(name) else (name,)
    return tests


def _is_fixture(name: str) -> bool:
    return not set(_FIXTURE_MODULES).isdisjoint(name.split(".")[:-1])


def _failing(names: Iterable[str], failed: Iterable[str]) -> dict[str, list[str]]:
    """Node ids of failing tests by the recorded name of their function."""
    by_end = defaultdict(list)
    for name in sorted(names):
        by_end[name.rpartition(".")[2]].append(name)
    found = defaultdict(list)
    for nodeid in sorted(failed):
        dotted, least = _dotted(nodeid)
        fitting = [name for name in by_end[dotted.rpartition(".")[2]] if _fits(name, dotted, least)]
        if fitting:
            found[max(fitting, key=len)].append(nodeid)
    return found


def _dotted(nodeid: str) -> tuple[str, str]:
    """The longest and the shortest dotted name of a test: from the root on, and from its module on."""
    path, _, rest = nodeid.partition("::")
    module = path.removesuffix(".py").replace("/", ".")
    names = ".".join(rest.partition("[")[0].split("::"))
    return f"{module}.{names}", f"{module.rpartition('.')[2]}.{names}"


def _fits(name: str, dotted: str, least: str) -> bool:
    """Whether the name is that of the test: it may begin at the root, at a folder below it or at one above it."""
    return _ends(name, least) and (_ends(dotted, name) or _ends(name, dotted))


def _ends(name: str, tail: str) -> bool:
    return name == tail or name.endswith(f".{tail}")


# --- the function that each line of a source file belongs to


class Compiled(Record, frozen=True, kw_only=True):
    """The lines of a source file.

    :ivar owners: the function that each line belongs to; lines outside of functions are left out.
    :ivar module: lines that run only when the module is imported.
    :ivar shared: lines of ``owners`` that also run when the function is defined, as in ``def f(): return 1``.
    """

    owners: Mapping[int, CodeType]
    module: frozenset[int]
    shared: frozenset[int]


def compiled(path: Path) -> Compiled | None:
    """Compile a file without running it; None if it cannot be read, or is not valid for this Python version."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter(
                "ignore"
            )  # for invalid escapes; Python shows them when the file is imported
            code = compile(path.read_bytes(), str(path), "exec", dont_inherit=True)
    except (OSError, SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    return _compiled(code)


def _compiled(top: CodeType) -> Compiled:
    owners: dict[int, CodeType] = {}
    # Two lambdas on one line are one function, as in the monitor.
    functions: dict[tuple[int, str], CodeType] = {}
    module = _lines(top)
    at_definition = set(module)
    for code, owner in codes_in(top):
        if owner is None:
            at_definition |= _own_lines(code)
        else:
            function = functions.setdefault((owner.co_firstlineno, owner.co_qualname), owner)
            for line in _own_lines(code):
                owners.setdefault(line, function)  # the outer one of several: it certainly ran
    return Compiled(
        owners=owners,
        module=frozenset(module - owners.keys()),
        shared=frozenset(at_definition & owners.keys()),
    )


def _lines(code: CodeType) -> set[int]:
    return {line for _, _, line in code.co_lines() if line}


def _own_lines(code: CodeType) -> set[int]:
    """The lines without that of the ``def`` or its first decorator, which runs at definition, unless it is the only."""
    lines = _lines(code)
    return lines - {code.co_firstlineno} or lines
