"""The lines of each test, read from a coverage.py data file with per-test contexts, as pytest-cov writes it."""

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
from loop_close.trace.code import Ownership, Place, codes_in, lines_of
from loop_close.trace.counts import Counts
from loop_close.trace.lines import Ran, merge

if TYPE_CHECKING:
    from coverage import CoverageData


#: Limits of a data file: pairs of a line and a context, and bytes.
MAX_PAIRS = 2_000_000
MAX_BYTES = 500_000_000
_MAX_TEXT = 200
_PHASES = ("setup", "run", "teardown")


class _UnusableError(Exception):
    """The data file cannot be used; the message says why."""


def data_file(root: str, environ: Mapping[str, str]) -> Path:
    """The path of coverage.py's data file, unless its settings name another one.

    :param root: absolute path of the project's root.
    """
    return Path(root, environ.get("COVERAGE_FILE") or ".coverage")


def calls_from_contexts(path: Path, root: str, failed: Collection[str]) -> tuple[Calls | None, str]:
    """What the tests called, as the monitor would record it.

    The file does not record outcomes: all tests that did not fail are assumed to have passed.

    :param path: the data file; it is not changed.
    :param root: absolute path of the project's root.
    :param failed: node ids of the failing tests.
    :returns: the record and an empty text; or None and why the file cannot be used, in a few words.
    """
    try:
        return _read(path, root, frozenset(failed)), ""
    except _UnusableError as error:
        return None, str(error)
    except Exception as error:  # coverage may raise anything on a broken file
        text = " ".join(str(error).replace(str(path), path.name).split()) or type(error).__name__
        return None, f"{path.name} cannot be read: {text[:_MAX_TEXT]}"


def _read(path: Path, root: str, failed: frozenset[str]) -> Calls:
    if not path.is_file():
        raise _no_contexts(path)
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
        database.create_function("bits", 1, lambda blob: int.from_bytes(blob, "big").bit_count())
        ((lines,),) = database.execute("select coalesce(sum(bits(numbits)), 0) from line_bits")
        # Branch coverage records jumps instead of lines: one for each way to reach a line.
        ((jumps,),) = database.execute("select count(*) from arc where tono > 0")
    if lines + jumps > MAX_PAIRS:
        raise _UnusableError(f"{path.name} is too large: more than {MAX_PAIRS:,} lines of tests")


def _calls(data: CoverageData, path: Path, root: str, failed: frozenset[str]) -> Calls:
    tests = {context: nodeid for context in data.measured_contexts() if (nodeid := nodeid_of(context))}
    if not tests:
        raise _no_contexts(path)
    if failed and failed.isdisjoint(tests.values()):
        raise _UnusableError(f"{path.name} has no data on the failing tests")
    ownership = Ownership(root)
    files: defaultdict[str, list[str]] = defaultdict(list)
    for name in data.measured_files():
        file = ownership.file_of(str(Path(root, name)))  # with ``relative_files`` the names are relative
        if file is not None:
            files[file].append(name)
    if not files:
        raise _UnusableError(f"{path.name} has no files below the root")
    _check_age(path, root, [*sorted(files), *sorted({nodeid.partition("::")[0] for nodeid in failed})])
    ran: dict[str, Ran] = {nodeid: {} for nodeid in sorted(tests.values())}
    places: dict[Place, CodeType] = {}
    outside: set[int] = set()
    for file, names in sorted(files.items()):
        contexts = _contexts_by_line(data, names)
        for line, owner in sorted(owners_of(Path(root, file)).items()):
            function = places.setdefault(ownership.place_of(owner), owner)
            for context in contexts.get(line, ()):
                if context in tests:
                    merge(ran[tests[context]], {id(function): 1 << line - function.co_firstlineno})
                else:
                    outside.add(id(function))
    counts = Counts({id(code): code for code in places.values()})
    counts.outside |= outside
    for nodeid, lines in ran.items():
        counts.add(nodeid, lines, "failed" if nodeid in failed else "passed")
    return counts.calls(ownership)


def nodeid_of(context: str) -> str:
    """The node id that pytest-cov recorded, behind the name of a static context if there is one; else empty."""
    name, _, phase = context.rpartition("|")
    if phase not in _PHASES:
        return ""
    static, _, rest = name.partition("|")
    return rest if rest and "::" not in static else name  # parameters may hold a bar, too


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


def owners_of(path: Path) -> dict[int, CodeType]:
    """The function that each line of a source file belongs to; it is compiled, and does not run.

    Lines that also run when the module is imported are left out, such as ``def f(): return 1``: which of the two it
    was is not known. Empty if the file cannot be read, or is not valid for this Python version.
    """
    try:
        with warnings.catch_warnings(action="ignore"):  # Python shows those when the file is imported
            top = compile(path.read_bytes(), str(path), "exec", dont_inherit=True)
    except (OSError, SyntaxError, ValueError, RecursionError, MemoryError):
        return {}
    codes = [*codes_in(top)]
    at_import = {line for code, owner in codes if owner is None for line in lines_of(code)}
    inside_first = [(code, owner) for code, owner in reversed(codes) if owner is not None]
    # Of several functions it is the outer one, which certainly ran.
    return {line: owner for code, owner in inside_first for line in lines_of(code) - at_import}
