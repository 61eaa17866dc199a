"""The readers of text in the order in which they read, each loaded when a text may be of its format."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from loop_close.readers.contract import Read, Reading

_END = 5_000


@dataclass(frozen=True, kw_only=True, slots=True)
class Reader:
    """One format of text; its module is loaded when a text may be of it.

    :ivar id: unique; the name of its corpus, too.
    :ivar marks: a text that contains none of these is not of its format.
    :ivar last_marks: nor is one that contains none of these in its last lines.
    :ivar module: the name of its module, which is loaded by :func:`_readers_of`.
    """

    id: str
    marks: tuple[str, ...]
    module: str
    last_marks: tuple[str, ...] = ()

    def load(self) -> Read:
        """The function that reads it."""
        return _readers_of(self.module)[self.id]

    def read(self, text: str, root: str) -> Reading:
        """What the reader finds in the text."""
        # a mark may be the start of a line, the first one, too
        begun = f"\n{text}" if len(text) < 4_000 else text
        end = text[-_END:]
        if any(_has(begun, mark) for mark in self.marks) or any(mark in end for mark in self.last_marks):
            return self.load()(text, root)
        return Reading()


def _has(text: str, mark: str) -> bool:
    # One character is searched for many times faster than a word, and most texts lack one of them.
    return all(map(text.__contains__, mark)) and mark in text


def _readers_of(module: str) -> Mapping[str, Read]:
    """The readers of a module by id. Loading all modules would take longer than reading most logs."""
    match module:
        case "pytest_output":
            from loop_close.readers.pytest_output import READERS
        case "type_checkers":
            from loop_close.readers.type_checkers import READERS
        case "linters":
            from loop_close.readers.linters import READERS
        case "processes":
            from loop_close.readers.processes import READERS
        case "runners":
            from loop_close.readers.runners import READERS
        case _:
            from loop_close.readers.cut_off import READERS
    return READERS


_LINTED = (".py:", ".pyi:", ".ipynb:", ".toml:", "--> ", '"noqa_row"', "Would reformat: ", "Failed to parse ")

#: What a reader has read, the later ones do not see: those of whole runs come before those of single lines.
DEFAULT_READERS: tuple[Reader, ...] = (
    Reader(
        id="pytest",
        marks=(
            *(
                "= ERRORS",
                "= FAILURES",
                "= test session",
                "short test summary",
                "INTERNALERROR>",
                "\nERROR: ",
            ),
            *(
                "while loading conftest",
                " passed",
                " failed",
                " skipped",
                "deselected",
                " xfailed",
                " xpassed",
            ),
            *("no tests ran", " error in ", " errors in ", " warnings in ", " warning in "),
        ),
        module="pytest_output",
    ),
    Reader(id="unittest", marks=("\nRan ", "=====\n"), module="runners"),
    Reader(
        id="pyright", marks=(" error", '"generalDiagnostics"', "File or directory "), module="type_checkers"
    ),
    Reader(
        id="mypy",
        marks=(": error: ", "mypy: ", " source file", "errors prevented", '"severity": "'),
        module="type_checkers",
    ),
    Reader(id="ty", marks=("error[", "fatal["), module="type_checkers"),
    Reader(id="pyrefly", marks=("ERROR ", '"concise_description"', "pyrefly"), module="type_checkers"),
    Reader(id="ruff", marks=_LINTED, module="linters"),
    Reader(id="flake8", marks=_LINTED, module="linters"),
    Reader(id="coverage", marks=("% not reached.", "Coverage failure: total of "), module="runners"),
    Reader(
        id="faulthandler",
        marks=("(most recent call first):", "Fatal Python error: ", "Windows fatal exception"),
        module="processes",
    ),
    Reader(
        id="asyncio",
        marks=("Traceback (", "Task was destroyed", "never awaited", "never retrieved", "Exception "),
        module="processes",
    ),
    Reader(
        id="traceback",
        marks=("Traceback (", '  File "', ": No module named ", "finding module spec", ": can't ", "Sorry: "),
        module="processes",
    ),
    Reader(id="pre_commit", marks=("- hook id: ",), module="runners"),
    Reader(id="tox", marks=(": FAIL", "HandledError| ", " summary ___"), module="runners"),
    Reader(
        id="shell",
        marks=(
            *("not found", "such file", "ermission denied", "cannot execute: ", "ailed to spawn: "),
            *(": line ", "zsh: ", "*** ["),
        ),
        last_marks=(
            *("egmentation fault", "bort", "us error", "loating point", "llegal ", "illed", "erminated"),
        ),
        module="runners",
    ),
    Reader(id="cut_off", marks=("",), module="cut_off"),  # any text may be a piece of an output
)
