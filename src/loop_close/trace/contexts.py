"""The lines of each test, read from a coverage.py data file with per-test contexts, as pytest-cov writes it.

Its tables are documented, and the same in all 7.x versions. A set of lines is stored as a mask, as it is kept here.
"""

from __future__ import annotations

import sqlite3
import warnings
from collections import defaultdict
from collections.abc import Collection, Mapping
from contextlib import closing
from pathlib import Path
from types import CodeType

from loop_close.calls import Calls
from loop_close.trace.code import Ownership, codes_in, lines_of
from loop_close.trace.counts import Counts
from loop_close.trace.lines import Ran, merge

#: A larger data file is not read.
MAX_BYTES = 100_000_000
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
        return None, f"{path.name} {error}"
    except Exception as error:  # a broken file may hold anything
        text = " ".join(str(error).split()) or type(error).__name__
        return None, f"{path.name} cannot be read: {text[:_MAX_TEXT]}"


def _read(path: Path, root: str, failed: frozenset[str]) -> Calls:
    if path.stat().st_size > MAX_BYTES:
        raise _UnusableError(f"is too large: more than {MAX_BYTES:,} bytes")
    ran: defaultdict[tuple[int, int], int] = defaultdict(int)
    with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True, timeout=0)) as database:
        names = dict(database.execute("select id, path from file"))
        contexts = dict(database.execute("select id, context from context"))
        for file, context, mask in database.execute("select file_id, context_id, numbits from line_bits"):
            ran[file, context] |= int.from_bytes(mask, "little")
        # Branch coverage records jumps instead of lines.
        jumps = "select file_id, context_id, tono from arc where tono between 1 and 1000000"
        for file, context, line in database.execute(jumps):
            ran[file, context] |= 1 << line
    tests = {number: nodeid for number, context in contexts.items() if (nodeid := nodeid_of(context))}
    if not tests:
        raise _UnusableError("has no contexts of tests")
    if failed and failed.isdisjoint(tests.values()):
        raise _UnusableError("has no data on the failing tests")
    ownership = Ownership(root)  # with ``relative_files`` the names are relative
    files = {number: ownership.file_of(str(Path(root, name))) or "" for number, name in names.items()}
    measured = sorted({*files.values()} - {""})
    if not measured:
        raise _UnusableError("has no files below the root")
    for file in (*measured, *sorted({nodeid.partition("::")[0] for nodeid in failed})):
        if _written(Path(root, file)) > _written(path):  # then its lines may be those of other code
            raise _UnusableError(f"is older than {file}")
    functions = {file: functions_in(Path(root, file)) for file in measured}
    counts = Counts({id(function): function for own in functions.values() for function in own})
    by_test: dict[str, Ran] = {nodeid: {} for nodeid in sorted(tests.values())}
    for (number, context), mask in ran.items():
        for function, own in functions.get(files[number], {}).items():
            if lines := mask & own:
                if context in tests:
                    merge(by_test[tests[context]], {id(function): lines >> function.co_firstlineno})
                else:
                    counts.outside.add(id(function))
    for nodeid, found in by_test.items():
        counts.add(nodeid, found, "failed" if nodeid in failed else "passed")
    return counts.calls(ownership)


def nodeid_of(context: str) -> str:
    """The node id that pytest-cov recorded, behind the name of a static context if there is one; else empty."""
    name, _, phase = context.rpartition("|")
    if phase not in _PHASES:
        return ""
    static, _, rest = name.partition("|")
    return rest if rest and "::" not in static else name  # parameters may hold a bar, too


def _written(path: Path) -> int:
    """When a file was written; 0 if it is gone, or no file has such a name."""
    try:
        return path.stat().st_mtime_ns
    except (OSError, ValueError):
        return 0


def functions_in(path: Path) -> dict[CodeType, int]:
    """The functions of a source file, each with a mask of its lines; the file is compiled, and does not run.

    Lines that also run when the module is imported are left out, such as ``def f(): return 1``: which of the two it
    was is not known. Empty if the file cannot be read, or is not valid for this Python version.
    """
    try:
        with warnings.catch_warnings(action="ignore"):  # Python shows those when the file is imported
            top = compile(path.read_bytes(), str(path), "exec", dont_inherit=True)
    except (OSError, SyntaxError, ValueError, RecursionError, MemoryError):
        return {}
    codes = [*codes_in(top)]
    taken = {line for code, owner in codes if owner is None for line in lines_of(code)}
    found: dict[CodeType, int] = {}
    for code, owner in codes:  # the outer one first: of several functions of a line it certainly ran
        if owner is not None:
            own = lines_of(code) - taken
            taken |= own
            found[owner] = found.get(owner, 0) | sum(1 << line for line in own)
    return found
