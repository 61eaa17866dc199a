"""The readers of text: what a reader returns, which paths belong to the project, and the readers in their order."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from importlib import import_module
from typing import get_args

from loop_close.model import Counts, Failure, Phase, Warned
from loop_close.records import Record

#: Why a run is incomplete whose end is missing in the text.
CUT = "its output ends before the run does"
#: Replaces the whole output of a tool that was read. No text contains it, because sanitizing removes it.
MARK = "\0"
#: The phases by their names, as reports and headings have them.
PHASES: dict[str, Phase] = {each: each for each in get_args(Phase)}


class Reading(Record, frozen=True, kw_only=True):
    """What a reader found in one text.

    :ivar spans: the parts of the text that were read, as sorted (start, end) offsets without overlaps. Later readers
        do not see them.
    :ivar is_certain: the tool's own summary was read: without failures, the text is good news.
    :ivar counts: tests by outcome, None if they are unknown.
    :ivar incomplete: why the run ended early; empty if it did not.
    """

    failures: tuple[Failure, ...] = ()
    warnings: tuple[Warned, ...] = ()
    counts: Counts | None = None
    spans: tuple[tuple[int, int], ...] = ()
    is_certain: bool = False
    incomplete: str = ""


#: A reader of one format: a pure function of the text and the project's root (a path with forward slashes, empty if
#: it is unknown). The text is sanitized: no escape sequences, line feeds as the only line breaks. A reader takes time
#: linear in the text, never raises, and returns ``Reading()`` for text of another format.
Read = Callable[[str, str], Reading]


def line_end(text: str, at: int) -> int:
    """The offset of the line break at or after another offset, or of the end of the text."""
    end = text.find("\n", at)
    return end if end >= 0 else len(text)


def merged(spans: Iterable[tuple[int, int]]) -> tuple[tuple[int, int], ...]:
    """Spans of a text in order, those that overlap or touch as one. None is empty."""
    found: list[tuple[int, int]] = []
    for start, end in sorted(spans):
        if found and start <= found[-1][1]:
            found[-1] = found[-1][0], max(found[-1][1], end)
        else:
            found.append((start, end))
    return tuple(found)


def sum_of(counts: Sequence[Counts]) -> Counts:
    """The tests of several runs together, such as one for each interpreter."""
    return Counts(**{name: sum(getattr(c, name) for c in counts) for name in Counts.__struct_fields__})


def joined(readings: Iterable[Reading]) -> Reading:
    """What several runs or texts say together: each failure once, their tests added up."""
    found = [*readings]
    counts = [each.counts for each in found if each.counts is not None]
    return Reading(
        failures=once(failure for each in found for failure in each.failures),
        warnings=tuple(dict.fromkeys(warned for each in found for warned in each.warnings)),
        counts=sum_of(counts) if counts else None,
        spans=merged(span for each in found for span in each.spans),
        is_certain=any(each.is_certain for each in found),
        incomplete=next((each.incomplete for each in found if each.incomplete), ""),
    )


def once(failures: Iterable[Failure]) -> tuple[Failure, ...]:
    """Each failure once, although two streams or summaries may have it. The one with an exception is kept."""
    kept: dict[tuple[object, ...], Failure] = {}
    for failure in failures:
        known = kept.setdefault(_identity(failure), failure)
        if known.raised is None and failure.raised is not None:
            kept[_identity(failure)] = failure
    return tuple(kept.values())


def _identity(failure: Failure) -> tuple[object, ...]:
    """The key by which a failure counts once: a test fails once a phase."""
    if failure.nodeid:
        return failure.nodeid, failure.phase, failure.subtest
    if failure.phase == "process" and failure.tool and failure.code:  # an environment fails once
        return failure.phase, failure.tool, failure.code
    return failure.phase, failure.tool, failure.code, failure.file, failure.line, failure.message


_FOREIGN = re.compile(
    r"(?:^|/)(?:site-packages|dist-packages)/|(?:^|/)lib(?:64)?/python3(?:\.\d+)?t?/|/Lib/|^<|(?:^|/)\.(?:venv|tox|nox)/"
    r"|^(?:\.\./|sys\Z|\Z)"
)
_HERE = re.compile(r"\A(?:\./)+")
_ABSOLUTE = re.compile(r"/|[A-Za-z]:/")


def project_path(path: str, root: str = "") -> str:
    """The path as it counts from the root, with forward slashes; empty for a file that is not the project's.

    :param root: the project's root, empty if it is unknown: then an absolute path outside of any
        interpreter is taken for the project's and stays as it is.
    """
    path = path.replace("\\", "/")
    root = root.replace("\\", "/").rstrip("/")
    if root and path.startswith(f"{root}/"):
        path = path[len(root) + 1 :]
    elif root and _ABSOLUTE.match(path):
        return ""
    path = _HERE.sub("", path)
    return "" if _FOREIGN.search(path) else path


def warning_at(category: str, message: str, path: str, line: str, root: str) -> Warned:
    """A warning at a place as it is printed; without it where the file is not the project's."""
    file = project_path(path, root)
    return Warned(category=category, message=message, file=file, line=int(line) if file else 0)


# --- the registry


class Reader(Record, frozen=True, kw_only=True):
    """One format of text; its module is loaded when a text may be of it.

    :ivar id: unique; the name of its corpus, too.
    :ivar triggers: a text that contains none of these is not of its format.
    :ivar module: the name of its module, whose ``READERS`` has its function.
    """

    id: str
    triggers: tuple[str, ...]
    module: str

    def load(self) -> Read:
        """The function that reads it. Loading all modules would take longer than reading most logs."""
        readers: Mapping[str, Read] = import_module(f"loop_close.readers.{self.module}").READERS
        return readers[self.id]

    def read(self, text: str, root: str) -> Reading:
        """What the reader finds in the text."""
        is_like = any(_has(text, word) for word in self.triggers)
        return self.load()(text, root) if is_like else Reading()


def _has(text: str, trigger: str) -> bool:
    # One character is searched for many times faster than a word, and most texts lack one of them.
    return all(map(text.__contains__, trigger)) and trigger in text


_LINTED = (
    *(".py:", ".pyi:", ".ipynb:", ".toml:", "--> ", '"noqa_row"', "/ruff/rules/", "Would reformat: "),
    *("Failed to parse ", " would be reformatted", "Found ", " fixable with ", "title=", "logissue "),
)

#: What a reader has read, the later ones do not see: those of whole runs come before those of single lines.
DEFAULT_READERS: tuple[Reader, ...] = (
    Reader(
        id="pytest",
        triggers=(
            *("= ERRORS", "= FAILURES", "= test session", "Test session starts", "―― ", "short test summary"),
            *("INTERNALERROR>", "ERROR: ", "while loading conftest", "Results (", " passed", " failed"),
            *(" skipped", "deselected", " xfailed", " xpassed", "no tests ran", " error in ", " errors in "),
            *(" warnings in ", " warning in "),
        ),
        module="pytest_output",
    ),
    Reader(id="unittest", triggers=("Ran ", "=====\n", "FAIL", "ERROR", " failed:\n"), module="runners"),
    Reader(
        id="pyright",
        triggers=(" - error: ", " errors, ", " error, ", '"generalDiagnostics"', "File or directory "),
        module="checkers",
    ),
    Reader(
        id="mypy",
        triggers=(": error: ", "mypy: ", " source file", "errors prevented", '"severity": "', "--show"),
        module="checkers",
    ),
    Reader(id="ty", triggers=("error[", "fatal[", " diagnostic"), module="checkers"),
    Reader(id="pyrefly", triggers=("ERROR ", '"concise_description"', "INFO "), module="checkers"),
    Reader(id="ruff", triggers=_LINTED, module="checkers"),
    Reader(id="flake8", triggers=_LINTED, module="checkers"),
    Reader(id="coverage", triggers=("% not reached.", "Coverage failure: total of "), module="runners"),
    Reader(
        id="faulthandler",
        triggers=("(most recent call first):", "Fatal Python error: ", "Windows fatal exception"),
        module="processes",
    ),
    Reader(
        id="asyncio",
        triggers=("Traceback (", "Task was destroyed", "never awaited", "never retrieved", "Exception "),
        module="processes",
    ),
    Reader(
        id="traceback",
        triggers=(
            *("Traceback (", '  File "', "Error: ", "TODO", "FIXME", ": No module named "),
            *("finding module spec", ": can't ", "Sorry: "),
        ),
        module="processes",
    ),
    Reader(id="pre_commit", triggers=("- hook id: ",), module="runners"),
    Reader(
        id="tox",
        triggers=(": FAIL", "HandledError| ", "evaluation failed", "ERROR:   ", ": exit "),
        module="runners",
    ),
    Reader(
        id="shell",
        triggers=(
            *("not found", "such file", "ermission denied", "cannot execute: ", "ailed to spawn: "),
            *(": line ", "zsh: ", "*** [", "egmentation fault", "bort", "us error", "loating point"),
            *("llegal ", "illed", "erminated"),
        ),
        module="runners",
    ),
    Reader(id="cut_off", triggers=("",), module="logs"),  # any text may be a piece of an output
)
