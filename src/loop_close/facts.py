"""Questions asked of a failure, answered from its record alone."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import TypeVar

from loop_close.model import (
    Difference,
    Failure,
    Frame,
    Origin,
    Raised,
    Report,
    RootCause,
    Source,
    SourceResult,
)

#: Of the frames of a traceback these many are kept: where it began, and where it ended.
MAX_OUTER = 4
MAX_INNER = 12
#: The phases of a test that runs.
TEST_PHASES = ("setup", "call", "teardown")
#: A recursion without end ends wherever the stack does: of so many of its last frames any might have been the last.
TURNING = 6
#: So many packages are named; where more differ, it is two worlds.
_MOST_PACKAGES = 4
#: Packages that tools bring along and programs do not use.
_TOOLS = frozenset(("pip", "setuptools", "wheel", "uv", "virtualenv"))
_RUNNERS = ("tox", "nox", "pre-commit")
_Frame = TypeVar("_Frame")
#: How Python says that a module is not loaded to its end (3.11 to 3.14: Objects/moduleobject.c, Python/ceval.c).
PARTIAL = re.compile(
    r"(?:cannot import name '[^'\n]{1,300}' from )?partially initialized module '"
    r"|(?P<submodule>cannot access submodule ')"
)
# How unittest says it, with or without a message of the test.
_NOT_RAISED = re.compile(r"\A(?:\w[\w.]*|\(<class [^\n]{1,300}\)) not raised(?: by |$|\n| :)")


def is_a(raised: Raised | None, *names: str) -> bool:
    """Whether the exception is, or derives from, a class of one of these names."""
    return raised is not None and not {raised.type, *raised.bases}.isdisjoint(names)


def is_assertion(raised: Raised | None) -> bool:
    """Whether it is a verdict of a test: ``assert``, ``unittest``, ``pytest.fail`` or ``pytest.raises``."""
    return _is_of_pytest(raised) or is_a(raised, "AssertionError")


def is_about_no_exception(raised: Raised | None) -> bool:
    """Whether an exception was expected and none came: no value was compared."""
    if raised is None or not is_assertion(raised):
        return False
    if _is_of_pytest(raised):
        return raised.message.startswith("DID NOT RAISE")
    return _NOT_RAISED.search(raised.message) is not None


def _is_of_pytest(raised: Raised | None) -> bool:
    """Whether it is pytest's own verdict, which calls itself a builtin."""
    return raised is not None and raised.type == "Failed" and not raised.module


def is_misuse(failure: Failure) -> bool:
    """Whether pytest itself was called wrongly, such as with a file that does not exist."""
    raised = (
        failure.raised
    )  # by its module, too: the command lines of programs under test have a UsageError of theirs
    is_of_pytest = raised is not None and raised.module.partition(".")[0] in ("_pytest", "pytest")
    return failure.phase == "session" and is_of_pytest and is_a(raised, "UsageError")


def is_only_counted(failure: Failure) -> bool:
    """Whether the output tells that a test failed and not which."""
    return not failure.nodeid and failure.phase in TEST_PHASES


def is_environment(failure: Failure) -> bool:
    """Whether an environment of a runner, or a hook, failed: it could not be made, or a command in it says no more."""
    return failure.phase == "process" and failure.tool in _RUNNERS


def failure_order(failure: Failure) -> tuple[str, ...]:
    """The order in which failures are reported, whatever order they came in. Equal for one failure seen twice."""
    return failure.nodeid, failure.phase, failure.subtest, failure.message


def links(raised: Raised | None) -> Iterator[Raised]:
    """The exception, then what it was raised from or during, to the first of the chain."""
    while raised is not None:
        yield raised
        raised = raised.cause or raised.context


def leaves(raised: Raised) -> Iterator[Raised]:
    """The exceptions inside an exception group that are no groups themselves, in order."""
    for member in raised.members:
        if member.members:
            yield from leaves(member)
        else:
            yield member


def innermost(raised: Raised | None) -> Frame | None:
    """The project frame nearest to the ``raise``, passing over those that hide themselves or only hand it on."""
    if raised is None or not raised.frames:
        return None
    return next((f for f in reversed(raised.frames) if is_shown(f)), raised.frames[-1])


def is_shown(frame: Frame) -> bool:
    """Whether the frame can be where an exception was made."""
    return not (frame.is_hidden or frame.is_handing_on)


def is_about_import_cycle(raised: Raised | None) -> bool:
    """Whether a module was used that is not loaded to its end, by Python's own words.

    Python also says so of a name that the module's source does not have at all: that is a missing name.
    """
    return (
        raised is not None
        and "home" not in raised.details
        and is_a(raised, "ImportError", "AttributeError")
        and PARTIAL.match(raised.message) is not None
    )


def import_cycle(raised: Raised | None) -> tuple[str, ...]:
    """The files that import each other, in the order in which they were imported; empty when it is no cycle.

    The first is that of the module that is not loaded to its end; the last one imports it again.
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
    """Whether it names a file, and not code without one, as ``<string>``."""
    return raised is not None and not raised.details.get("path", "<").startswith("<")


def bounded(frames: Sequence[_Frame]) -> Sequence[_Frame]:
    """The outermost and innermost frames, where there are more than are kept."""
    if len(frames) <= MAX_OUTER + MAX_INNER:
        return frames
    return [*frames[:MAX_OUTER], *frames[-MAX_INNER:]]


def place(failure: Failure) -> tuple[str, int, str]:
    """Where to look first, as (file, line, function): the statement at fault, else where the test stands."""
    raised = failure.raised
    if is_about_a_file(raised) and raised is not None and raised.details.get("line", "").isdecimal():
        return raised.details["path"], int(raised.details["line"]), ""
    for link in links(raised):
        frame = link.site.frame if link.site else innermost(link)
        if frame is not None:
            return frame.file, frame.line, frame.function
    for leaf in leaves(raised) if raised is not None else ():
        frame = innermost(leaf)
        if frame is not None:
            return frame.file, frame.line, frame.function
    return failure.file, failure.line, ""


def values(failure: Failure) -> tuple[tuple[str, str], ...]:
    """The names in the failing statement with their values, as (name, text)."""
    return next((link.site.values for link in links(failure.raised) if link.site is not None), ())


def differences(failure: Failure) -> tuple[Difference, ...]:
    """Where the two values differ that the failing assertion compared."""
    return next((link.differences for link in links(failure.raised) if link.differences), ())


def test_function(nodeid: str) -> str:
    """The node id without the parameters: ``a.py::test_x[1]`` is a case of ``a.py::test_x``."""
    path, separator, names = nodeid.partition("::")  # parameters may hold "::" and "[", names do not
    function = names.split("[", 1)[0]
    return f"{path}{separator}{function}" if function else nodeid


def file_of(test: str) -> str:
    """The file of a node id."""
    return test.partition("::")[0]


def qualname(test: str) -> str:
    """The function of a node id as Python qualifies it: ``a.py::TestX::test_y[1]`` is ``TestX.test_y``."""
    return test_function(test).partition("::")[2].replace("::", ".")


def origins(failure: Failure) -> Iterator[Origin]:
    """What produced the values that the failure judged, in every link of its chain."""
    for link in links(failure.raised):
        if link.site is not None:
            yield from link.site.origins


def reached(failure: Failure) -> Iterator[tuple[str, str, Source]]:
    """Source of the code under test that the failure shows, as (file, function, lines)."""
    for link in links(failure.raised):
        yield from (
            (f.file, f.function, f.source) for f in link.frames if f.source is not None and not f.is_test
        )
    for origin in origins(failure):
        for source in (origin.source, origin.body):
            if source is not None and not origin.is_test:
                yield origin.file, origin.function, source


def sides(cause: RootCause, report: Report) -> tuple[list[SourceResult], list[SourceResult]]:
    """Of several sources, those in which the cause fails, and those in which its tests ran and passed.

    Tests that were skipped or expected to fail did not pass; one of the cause's tests has to. Of a run that ended
    before its end it is not known which passed.
    """
    tests = {e.failure.nodeid for e in cause.evidence if e.failure is not None} - {""}
    failing = [each for each in report.sources if cause.id in each.causes]
    return failing, [each for each in report.sources if each not in failing and _passes(each, tests)]


def _passes(source: SourceResult, tests: set[str]) -> bool:
    seen = source.observation
    meant = tests - {*seen.spared} - {known.test for known in seen.known_failing}
    return (
        bool(meant)
        and not seen.incomplete
        and meant <= {*seen.tests} - {failure.nodeid for failure in seen.failures}
    )


def package_differences(failing: Sequence[SourceResult], passing: Sequence[SourceResult]) -> list[str]:
    """Packages that all failing sources have in another version than all passing ones: ``attrs 23.1, not 24.2``."""
    here, there = _packages(failing), _packages(passing)
    if here is None or there is None:
        return []
    found = []
    for name in sorted({*here, *there} - _TOOLS):
        ours, theirs = here.get(name, frozenset({""})), there.get(name, frozenset({""}))
        if not ours & theirs and len(ours) == len(theirs) == 1:
            (one,), (other,) = ours, theirs
            found.append(f"{name} {one}, not {other or 'installed'}" if one else f"no {name}, there {other}")
    return found if len(found) <= _MOST_PACKAGES else []


def _packages(sources: Sequence[SourceResult]) -> dict[str, frozenset[str]] | None:
    """The versions of each package over the sources, empty for none; None where they are not known for all."""
    tables = [dict(each.observation.provenance.packages) for each in sources]
    if not all(tables):
        return None
    names = {name for table in tables for name in table}
    return {name: frozenset(table.get(name, "") for table in tables) for name in names}
