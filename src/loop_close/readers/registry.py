"""The readers of text in the order in which they read, each loaded when a text may be of its format."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from loop_close.readers.contract import Reader, Reading

_END = 5_000


@dataclass(frozen=True, kw_only=True, slots=True)
class LazyReader:
    """A reader that is not loaded yet.

    :ivar marks: a text that holds none of these is not of its format.
    :ivar last_marks: nor is one that holds none of these in its last lines.
    :ivar load: gives the reader; loading them all would take longer than reading most logs.
    """

    id: str
    marks: tuple[str, ...]
    load: Callable[[], Reader]
    last_marks: tuple[str, ...] = ()

    def read(self, text: str, root: str) -> Reading:
        """What the reader makes of the text."""
        begun = (
            f"\n{text}" if len(text) < 4_000 else text
        )  # a mark may be the start of a line, the first one, too
        end = text[-_END:]
        if any(_holds(begun, mark) for mark in self.marks) or any(mark in end for mark in self.last_marks):
            return self.load().read(text, root)
        return Reading()


def _holds(text: str, mark: str) -> bool:
    # One character is searched for many times faster than a word, and most texts lack one of them.
    return all(map(text.__contains__, mark)) and mark in text


def _pytest() -> Reader:
    from loop_close.readers.pytest_output import READER

    return READER


def _unittest() -> Reader:
    from loop_close.readers.unittest_output import READER

    return READER


def _pyright() -> Reader:
    from loop_close.readers.pyright import READER

    return READER


def _mypy() -> Reader:
    from loop_close.readers.mypy import READER

    return READER


def _ty() -> Reader:
    from loop_close.readers.ty import READER

    return READER


def _pyrefly() -> Reader:
    from loop_close.readers.pyrefly import READER

    return READER


def _ruff() -> Reader:
    from loop_close.readers.ruff import READER

    return READER


def _flake8() -> Reader:
    from loop_close.readers.flake8 import READER

    return READER


def _coverage() -> Reader:
    from loop_close.readers.coverage_output import READER

    return READER


def _faulthandler() -> Reader:
    from loop_close.readers.faulthandler import READER

    return READER


def _asyncio() -> Reader:
    from loop_close.readers.asyncio_output import READER

    return READER


def _traceback() -> Reader:
    from loop_close.readers.tracebacks import READER

    return READER


def _tox() -> Reader:
    from loop_close.readers.tox_output import READER

    return READER


def _pre_commit() -> Reader:
    from loop_close.readers.pre_commit import READER

    return READER


def _cut_off() -> Reader:
    from loop_close.readers.cut_off import READER

    return READER


def _shell() -> Reader:
    from loop_close.readers.shell import READER

    return READER


_LINTED = (".py:", ".pyi:", ".ipynb:", ".toml:", "--> ", '"noqa_row"', "Would reformat: ", "Failed to parse ")

#: What a reader has read, the later ones do not see: those of whole runs come before those of single lines.
DEFAULT_READERS: tuple[LazyReader, ...] = (
    LazyReader(
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
        load=_pytest,
    ),
    LazyReader(id="unittest", marks=("\nRan ", "=====\n"), load=_unittest),
    LazyReader(id="pyright", marks=(" error", '"generalDiagnostics"', "File or directory "), load=_pyright),
    LazyReader(
        id="mypy",
        marks=(": error: ", "mypy: ", " source file", "errors prevented", '"severity": "'),
        load=_mypy,
    ),
    LazyReader(id="ty", marks=("error[", "fatal["), load=_ty),
    LazyReader(id="pyrefly", marks=("ERROR ", '"concise_description"', "pyrefly"), load=_pyrefly),
    LazyReader(id="ruff", marks=_LINTED, load=_ruff),
    LazyReader(id="flake8", marks=_LINTED, load=_flake8),
    LazyReader(id="coverage", marks=("% not reached.", "Coverage failure: total of "), load=_coverage),
    LazyReader(
        id="faulthandler",
        marks=("(most recent call first):", "Fatal Python error: ", "Windows fatal exception"),
        load=_faulthandler,
    ),
    LazyReader(
        id="asyncio",
        marks=("Traceback (", "Task was destroyed", "never awaited", "never retrieved", "Exception "),
        load=_asyncio,
    ),
    LazyReader(
        id="traceback",
        marks=("Traceback (", '  File "', ": No module named ", "finding module spec", ": can't ", "Sorry: "),
        load=_traceback,
    ),
    LazyReader(id="pre_commit", marks=("- hook id: ",), load=_pre_commit),
    LazyReader(id="tox", marks=(": FAIL", "HandledError| ", " summary ___"), load=_tox),
    LazyReader(
        id="shell",
        marks=(
            *(
                "not found",
                "such file",
                "ermission denied",
                "cannot execute: ",
                "ailed to spawn: ",
                ": line ",
            ),
            *("zsh: ", "*** ["),
        ),
        last_marks=(
            *("egmentation fault", "bort", "us error", "loating point", "llegal ", "illed", "erminated"),
        ),
        load=_shell,
    ),
    LazyReader(id="cut_off", marks=("",), load=_cut_off),  # any text may be a piece of an output
)
