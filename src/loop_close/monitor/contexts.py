"""Calls of each test from a data file of coverage.py with a context for each test."""

from __future__ import annotations

import sqlite3
import warnings
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from types import CodeType
from typing import TYPE_CHECKING

from loop_close.calls import Calls
from loop_close.monitor.codes import Ownership, codes_in
from loop_close.monitor.count import CallCounts, calls_of
from loop_close.monitor.executions import Execution, Function, Line

if TYPE_CHECKING:
    from coverage import CoverageData


#: A file with more pairs of a line and a context is not read; one with more bytes not even looked into.
MAX_PAIRS = 2_000_000
MAX_BYTES = 500_000_000
_MAX_TEXT = 200


class _UnusableError(Exception):
    """The text says why a data file is of no use."""


def data_file(root: str, environ: Mapping[str, str]) -> Path:
    """Where coverage.py leaves its data, unless its settings say otherwise.

    :param root: absolute path of the project's root.
    """
    return Path(root, environ.get("COVERAGE_FILE") or ".coverage")


def calls_from_contexts(path: Path, root: str, failed: Collection[str]) -> tuple[Calls | None, str]:
    """What the tests called, as the monitor would tell it, but for the order of lines, which is not known.

    The file does not tell which tests passed: all that did not fail are taken to have done so.

    :param path: the data file; it is not changed.
    :param root: absolute path of the project's root.
    :param failed: node ids of the failing tests.
    :returns: the record, or None and in a few words why the file is of no use.
    """
    try:
        return _read(path, root, frozenset(failed)), ""
    except _UnusableError as error:
        return None, str(error)
    except Exception as error:  # what a broken file makes coverage raise is anybody's guess
        text = " ".join(str(error).replace(str(path), path.name).split()) or type(error).__name__
        return None, f"{path.name} cannot be read: {text[:_MAX_TEXT]}"


def _read(path: Path, root: str, failed: Collection[str]) -> Calls:
    if not path.is_file():
        raise _no_contexts(path)
    try:
        from coverage import CoverageData  # late, and maybe not there
    except ImportError:
        raise _UnusableError("coverage is not installed") from None
    _check_content(path)
    data = CoverageData(str(path))
    try:
        data.read()
        return _calls(data, path, root, failed)
    finally:
        if hasattr(data, "close"):  # older ones close what they opened after each query
            data.close()


def _no_contexts(path: Path) -> _UnusableError:
    return _UnusableError(f"no {path.name} with per-test contexts")


def _check_content(path: Path) -> None:
    """Refuse a file of something else, one that is being written, and one that is too big.

    Coverage would make a database without its tables its own, and wait for one that is locked. Its tables are
    documented; all of 7.x has the same.
    """
    if path.stat().st_size > MAX_BYTES:
        raise _UnusableError(f"{path.name} is too large: more than {MAX_BYTES:,} bytes")
    uri = f"{path.absolute().as_uri()}?mode=ro"
    with closing(sqlite3.connect(uri, uri=True, timeout=0)) as database:
        if database.execute("select 1 from sqlite_master where type not in ('table', 'index')").fetchone():
            raise _UnusableError(f"{path.name} has views or triggers, which coverage does not make")
        database.create_function("bits", 1, lambda blob: int.from_bytes(blob, "big").bit_count())
        ((lines,),) = database.execute("select coalesce(sum(bits(numbits)), 0) from line_bits")
        # With branches there are jumps in place of lines, one for each way to get to a line.
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
    """The files of the code under test, sorted, with the names that coverage has for them."""
    files = defaultdict(list)
    for name in names:
        file = ownership.file_of(str(Path(root, name)))  # those of a run with relative_files are relative
        if file is not None:
            files[file].append(name)
    return dict(sorted(files.items()))


def _check_age(path: Path, root: str, files: Iterable[str]) -> None:
    """Refuse what was written before the code came to be what it is; lines would be those of other code."""
    written = path.stat().st_mtime_ns
    for file in files:
        try:
            changed = Path(root, file).stat().st_mtime_ns
        except (OSError, ValueError):
            continue  # gone, or no file
        if changed > written:
            raise _UnusableError(f"{path.name} is older than {file}")


def _contexts_by_line(data: CoverageData, names: Iterable[str]) -> dict[int, set[str]]:
    found: dict[int, set[str]] = {}
    for name in names:
        for line, contexts in data.contexts_by_lineno(name).items():
            found.setdefault(line, set()).update(contexts)
    return found


class _Lines:
    """What ran, put together file by file.

    :param tests: the tests that each context stands for.
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
        """Take down the lines of a file that ran."""
        importing = {context for line in source.module & contexts.keys() for context in contexts[line]}
        for line in sorted(source.owners.keys() & contexts.keys()):
            number = self._number(source.owners[line])
            if line in source.shared:  # that it was made does not say that it was called
                self._add_line(number, line, contexts[line] & self._tests.keys() - importing)
            else:
                self._add_line(number, line, contexts[line])

    def _number(self, owner: CodeType) -> int:
        if id(owner) not in self._numbers:
            self._numbers[id(owner)] = len(self._functions)
            self._functions[len(self._functions)] = Function(
                owner
            )  # which keeps it alive, and its id its own
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
        """The same as the monitor counts."""
        count = CallCounts(self._functions)
        count.add_outside(Execution(self._outside))
        for test, masks in self._masks.items():
            ran = Execution(masks, self._lines.get(test, {}))
            count.add(test, ran, "failed" if test in self._lines else "passed")
        return count


def _add(masks: dict[int, int], number: int, bit: int) -> None:
    masks[number] = masks.get(number, 0) | bit


# Which test a context of coverage.py stands for, by its name.

_PHASES = ("setup", "run", "teardown")
# Where functions may be called "test" and are no tests: fixtures.
_NO_TESTS = ("conftest", "fixtures")


def tests_of(contexts: Collection[str], failed: Collection[str]) -> dict[str, tuple[str, ...]]:
    """The tests that each context stands for.

    pytest-cov names the node id and the phase; coverage's own ``test_function`` names module, class and function.
    Both come after a static context, where there is one.

    :param failed: node ids of failing tests.
    :returns: of each context of a test, the node ids; of a passing test, a name of it. Several where the context
        does not tell parameters apart, none where it cannot be said which test it is. Contexts of what ran outside
        of tests are left out.
    """
    nodeids = {context: _nodeid(context) for context in contexts}
    tests: dict[str, tuple[str, ...]] = {context: (nodeid,) for context, nodeid in nodeids.items() if nodeid}
    functions = {context: _function(context) for context, nodeid in nodeids.items() if not nodeid}
    functions = {context: name for context, name in functions.items() if name}
    return tests | _by_function(functions, failed) if functions else tests


def _nodeid(context: str) -> str:
    """What pytest-cov was given; empty for other contexts."""
    name, _, phase = context.rpartition("|")
    if phase not in _PHASES:
        return ""
    static, _, rest = name.partition("|")
    return rest if rest and "::" not in static else name  # parameters may hold a bar, too


def _function(context: str) -> str:
    """The qualified name of a function that coverage takes for a test; empty for other contexts."""
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
    return not set(_NO_TESTS).isdisjoint(name.split(".")[:-1])


def _failing(names: Iterable[str], failed: Iterable[str]) -> dict[str, list[str]]:
    """Failing tests by the function that is theirs."""
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
    """What a test may be called at most and at least: from the root on, and from its module on."""
    path, _, rest = nodeid.partition("::")
    module = path.removesuffix(".py").replace("/", ".")
    names = ".".join(rest.partition("[")[0].split("::"))
    return f"{module}.{names}", f"{module.rpartition('.')[2]}.{names}"


def _fits(name: str, dotted: str, least: str) -> bool:
    """Modules are named from anywhere on: from the root, from a folder below it, from one above it."""
    return _ends(name, least) and (_ends(dotted, name) or _ends(name, dotted))


def _ends(name: str, tail: str) -> bool:
    return name == tail or name.endswith(f".{tail}")


# Which function each line of a source file belongs to, by the code that Python makes of it.


@dataclass(frozen=True, kw_only=True, slots=True)
class Compiled:
    """A source file as it is now.

    :ivar owners: the function that each line belongs to; lines outside of functions are left out.
    :ivar module: lines that run when the module is imported, and at no other time.
    :ivar shared: lines of ``owners`` that run when the function is made as well, as in ``def f(): return 1``.
    """

    owners: Mapping[int, CodeType]
    module: frozenset[int]
    shared: frozenset[int]


def compiled(path: Path) -> Compiled | None:
    """Look at a file, without running it; None where it cannot be read, or is not Python (of this version)."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of invalid escapes: whoever runs the file is told
            code = compile(path.read_bytes(), str(path), "exec", dont_inherit=True)
    except (OSError, SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    return _looked_into(code)


def _looked_into(top: CodeType) -> Compiled:
    owners: dict[int, CodeType] = {}
    # Two lambdas of one line are one function, as for the monitor.
    functions: dict[tuple[int, str], CodeType] = {}
    module = _lines(top)
    making = set(module)
    for code, owner in codes_in(top):
        if owner is None:
            making |= _own_lines(code)
        else:
            function = functions.setdefault((owner.co_firstlineno, owner.co_qualname), owner)
            for line in _own_lines(code):
                owners.setdefault(line, function)  # of several functions the outer one: it runs for certain
    return Compiled(
        owners=owners, module=frozenset(module - owners.keys()), shared=frozenset(making & owners.keys())
    )


def _lines(code: CodeType) -> set[int]:
    return {line for _, _, line in code.co_lines() if line}


def _own_lines(code: CodeType) -> set[int]:
    """Without the first line, that of the ``def`` or a decorator, unless it is all: it runs where it is made."""
    lines = _lines(code)
    return lines - {code.co_firstlineno} or lines
