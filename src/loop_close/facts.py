"""Facts derived from the records of failures, root causes and reports, without other sources."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from typing import TypeVar

from loop_close.model import (
    Difference,
    Failure,
    Frame,
    Observation,
    Raised,
    Report,
    RootCause,
    Site,
    SourceLines,
    SourceResult,
)

#: Limits of the frames of a traceback that are kept: at its beginning and at its end.
MAX_OUTER = 4
MAX_INNER = 12
#: The phases of a running test.
TEST_PHASES = ("setup", "call", "teardown")
#: Tools whose rules are about form: each place is put right by the same edit, most of them by a ``--fix``.
LINTERS = ("ruff", "flake8")
#: An infinite recursion ends wherever the stack does: any of this many last frames might have been the last.
TURNING = 6
_RUNNERS = ("tox", "nox", "pre-commit")
_Frame = TypeVar("_Frame")
#: Python's message for a partially loaded module (3.11 to 3.14: Objects/moduleobject.c, Python/ceval.c).
PARTIAL = re.compile(
    r"(?:cannot import name '[^'\n]{1,300}' from )?partially initialized module '"
    r"|(?P<submodule>cannot access submodule ')"
)
#: The message of pytest-xdist (xdist/report.py) where the order or the ids of tests differ between workers.
COLLECTIONS_DIFFER = "Different tests were collected between "


def is_a(raised: Raised | None, *names: str) -> bool:
    """Whether the exception's class, or one of its bases, has one of these names."""
    return raised is not None and not {raised.type, *raised.bases}.isdisjoint(names)


def is_assertion(raised: Raised | None) -> bool:
    """Whether a test failed by an assertion: ``assert``, ``unittest``, ``pytest.fail`` or ``pytest.raises``."""
    # pytest's ``Failed`` names the builtins as its module.
    is_of_pytest = raised is not None and raised.type == "Failed" and not raised.module
    return is_of_pytest or is_a(raised, "AssertionError")


def is_misuse(failure: Failure) -> bool:
    """Whether pytest itself was called with wrong arguments, such as a file that does not exist."""
    raised = failure.raised
    # The module is checked too, as programs under test may have a UsageError of their own.
    is_of_pytest = raised is not None and raised.module.partition(".")[0] in ("_pytest", "pytest")
    return failure.phase == "session" and is_of_pytest and is_a(raised, "UsageError")


def is_only_counted(failure: Failure) -> bool:
    """Whether the output only counts the failing test and does not name it."""
    return not failure.nodeid and failure.phase in TEST_PHASES


def is_environment(failure: Failure) -> bool:
    """Whether an environment of a runner, or a hook, failed to be created, or its command failed without details."""
    return failure.phase == "process" and failure.tool in _RUNNERS


def failure_order(failure: Failure) -> tuple[str, str, str, str, str, int, str, str]:
    """The order in which failures are reported, whatever order they came in. Equal for one failure seen twice.

    A test fails once; of what is no test, such as a checker's finding, equal words at two places are two failures.
    """
    place = ("", 0) if failure.nodeid else (failure.file, failure.line)
    return failure.nodeid, failure.phase, failure.subtest, failure.message, *place, failure.tool, failure.code


def links(raised: Raised | None) -> Iterator[Raised]:
    """The exception, then those that it was raised from or during, up to the first of the chain."""
    while raised is not None:
        yield raised
        raised = raised.cause or raised.context


def every(raised: Raised | None) -> Iterator[Raised]:
    """The same, each followed by those inside it, if it is an exception group."""
    for link in links(raised):
        yield from (link, *chain.from_iterable(map(every, link.members)))


def leaves(raised: Raised) -> Iterator[Raised]:
    """The exceptions inside an exception group that are not groups themselves, in order; of another it alone."""
    yield from chain.from_iterable(map(leaves, raised.members)) if raised.members else (raised,)


def innermost(raised: Raised | None) -> Frame | None:
    """The project frame nearest to the ``raise``, without frames that are hidden or only re-raise."""
    if raised is None or not raised.frames:
        return None
    return next((f for f in reversed(raised.frames) if is_shown(f)), raised.frames[-1])


def failing_frame(raised: Raised | None) -> Frame | None:
    """The frame of the statement that failed; where that is not known, the innermost one."""
    return raised.site.frame if raised is not None and raised.site is not None else innermost(raised)


def sites(found: Iterable[Raised]) -> Iterator[Site]:
    """The statements that exceptions are about, of those for which it is known."""
    return (each.site for each in found if each.site is not None)


def is_shown(frame: Frame) -> bool:
    """Whether the exception may have been created in the frame."""
    return not (frame.is_hidden or frame.is_handing_on)


_RAISE = re.compile(r"(?:^|[:;]\s*)raise\b")


def is_made(raised: Raised | None) -> bool:
    """Whether a ``raise`` statement of the project made the exception."""
    frame = innermost(raised)
    return frame is not None and bool(_RAISE.search(running_line(frame))) and not frame.is_handing_on


def raise_line(raised: Raised) -> str:
    """The ``raise`` statement of the project that made the exception, without what changes with its values.

    Empty if it was made elsewhere, or if the statement has several lines.
    """
    line = running_line(innermost(raised)) if is_made(raised) else ""
    return "" if line.endswith(("(", ",")) else line


def running_line(frame: Frame | None) -> str:
    """The line of source that ran, stripped; empty where the source is not known."""
    if frame is None or frame.line not in frame.source.numbers:
        return ""
    return frame.source.lines[frame.line - frame.source.start].strip()


def is_about_import_cycle(raised: Raised | None) -> bool:
    """Whether Python reports the use of a partially loaded module."""
    said = raised.message if raised is not None else ""
    return is_a(raised, "ImportError", "AttributeError") and PARTIAL.match(said) is not None


def import_cycle(raised: Raised | None) -> tuple[str, ...]:
    """The files that import each other, in the order in which they were imported; empty if they form no cycle.

    The first one is the partially loaded module, which the last one imports again.
    """
    partial = PARTIAL.match(raised.message) if raised is not None and is_about_import_cycle(raised) else None
    if raised is None or partial is None:
        return ()
    module = raised.details.get("owner", "").removeprefix("module ")
    module += f".{raised.details.get('name', '')}" if partial["submodule"] else ""
    files = [f.file for f in raised.frames if f.function == "<module>" and not f.is_test]
    names = ["/" + file.removesuffix(".py").removesuffix("/__init__") for file in files]
    path = "/" + module.replace(".", "/")
    first = next((i for i, name in enumerate(names) if name.endswith(path)), len(files))
    return tuple(dict.fromkeys(files[first:]))


def is_about_a_file(raised: Raised | None) -> bool:
    """Whether the exception names a file, and not code without a file, such as ``<string>``."""
    return raised is not None and not raised.details.get("path", "<").startswith("<")


def is_syntax_error(raised: Raised | None) -> bool:
    """Whether a file cannot be parsed. A test that parses a string of its own and fails is a test failure."""
    return is_a(raised, "SyntaxError") and is_about_a_file(raised)


#: pytest's words for a run that ended with its collection: the other files were collected whole.
DURING_COLLECTION = "during collection"


def bounded(frames: Sequence[_Frame]) -> Sequence[_Frame]:
    """The frames, without those in the middle if there are more than the limits allow."""
    return [*frames[:MAX_OUTER], *frames[max(MAX_OUTER, len(frames) - MAX_INNER) :]]


def failure_place(failure: Failure) -> tuple[str, int, str]:
    """Where to look first, as (file, line, function): the failing statement, else the test."""
    raised = failure.raised
    if is_about_a_file(raised) and raised is not None and raised.details.get("line", "").isdecimal():
        return raised.details["path"], int(raised.details["line"]), ""
    for each in every(raised):
        if frame := failing_frame(each):
            return frame.file, frame.line, frame.function
    return failure.file, failure.line, ""


def values(failure: Failure) -> tuple[tuple[str, str], ...]:
    """The names in the failing statement with their values, as (name, text)."""
    return next((site.values for site in sites(links(failure.raised))), ())


def differences(failure: Failure) -> tuple[Difference, ...]:
    """The differences between the two values that the failing assertion compared."""
    return next((link.differences for link in links(failure.raised) if link.differences), ())


def test_function(nodeid: str) -> str:
    """The node id without the parameters: ``a.py::test_x[1]`` is a case of ``a.py::test_x``."""
    path, separator, names = nodeid.partition("::")  # parameters may contain "::" and "[", names may not
    function = names.split("[", 1)[0]
    return f"{path}{separator}{function}" if function else nodeid


def file_of(test: str) -> str:
    """The file of a node id."""
    return test.partition("::")[0]


def qualname(test: str) -> str:
    """The qualified name of the test function: that of ``a.py::TestX::test_y[1]`` is ``TestX.test_y``."""
    return test_function(test).partition("::")[2].replace("::", ".")


def origins(failure: Failure) -> Iterator[Frame]:
    """The origins of the values in the failing statement, for every exception."""
    for site in sites(every(failure.raised)):
        yield from site.origins


def reached(failure: Failure) -> Iterator[tuple[str, str, SourceLines]]:
    """Source of the code under test that the failure reached, as (file, function, lines)."""
    frames = (frame for each in every(failure.raised) for frame in each.frames)
    for frame in (*frames, *origins(failure)):
        if frame.source.lines and not frame.is_test:
            yield frame.file, frame.function, frame.source


def sides(cause: RootCause, report: Report) -> tuple[list[SourceResult], list[SourceResult]]:
    """The sources in which the cause fails, and those in which its tests ran and passed.

    Skipped tests and expected failures are ignored. All other tests of the cause must have passed, at least one. A
    source whose run is incomplete is left out, as its passing tests are unknown.
    """
    tests = {failure.nodeid for failure in cause.failures} - {""}
    failing = [each for each in report.sources if cause.id in each.causes]
    return failing, [each for each in report.sources if each not in failing and _passes(each, tests)]


def _passes(source: SourceResult, tests: set[str]) -> bool:
    seen = source.observation
    meant = {test for test in tests if seen.outcomes.get(test) not in ("skipped", "xfailed")}
    return bool(meant) and not seen.incomplete and meant <= passing_tests(seen)


def passing_tests(observation: Observation) -> set[str]:
    """The tests that passed; empty if they are not known by name."""
    passed = {test for test, outcome in observation.outcomes.items() if outcome in ("passed", "xpassed")}
    return passed - {failure.nodeid for failure in observation.failures}


#: File and qualified name.
Name = tuple[str, str]


def base_name(function: str) -> str:
    """The function that a lambda or a comprehension is part of."""
    return function.partition(".<locals>.<")[0]


def last_name(name: str) -> str:
    """The last part of a dotted name."""
    return name.rpartition(".")[2]
