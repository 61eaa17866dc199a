"""Which code objects are functions of the code under test."""

from __future__ import annotations

import os
import sys

# By name: what tests patch must not be called from here, and calls of ours must not count as theirs.
from os import stat
from os.path import abspath, basename, dirname, isabs, join, normpath, realpath

from loop_close.conventions import is_test_file
from loop_close.monitor.faults import is_of_program

_INSTALLED = ("site-packages", "dist-packages")


class Ownership:
    """Tells the files of the code under test from all others, quickly: it is asked for every function that runs.

    It agrees with :class:`loop_close.capture.project.Project`, which takes too long to load for green runs, and
    hardly asks the file system: it works in the midst of tests.

    :param root: absolute path of the project's root.
    :ivar files: what is known of files already asked for, by the names that code objects have.
    """

    def __init__(self, root: str) -> None:
        self._roots = tuple({join(folder, "") for folder in (abspath(root), realpath(root))})
        self._root = realpath(root)
        self._start = os.getcwd()
        self._foreign = tuple(folder for folder in _python_folders() if folder.startswith(self._roots))
        self._stat = stat  # pyfakefs replaces the name in every module, but no attribute
        self.files: dict[str, str | None] = {}

    def file_of(self, filename: str) -> str | None:
        """The path of a file of the code under test, relative to the root; None for any other file, tests too."""
        if filename not in self.files:
            self.files[filename] = self._find(filename)
        return self.files[filename]

    def shown(self, filename: str) -> str:
        """The path of any file, relative to the root if it is below it."""
        return self._below_root(normpath(join(self._start, filename))) or filename

    def is_test(self, filename: str) -> bool:
        """Whether it is a file of the project's tests."""
        relative = self._below_root(normpath(join(self._start, filename))) if _is_python(filename) else None
        return relative is not None and is_test_file(relative)

    def _find(self, filename: str) -> str | None:
        if not _is_python(filename):
            return None
        path = normpath(join(self._start, filename))
        installed = _below_installed(path)
        relative = self._in_root(installed) if installed else self._below_root(path)
        if relative is None or is_test_file(relative):
            return None
        return relative if isabs(filename) or self._is_there(path) else None

    def _below_root(self, path: str) -> str | None:
        if not path.startswith(self._roots) or path.startswith(self._foreign):
            return None
        root = next(root for root in self._roots if path.startswith(root))
        return path[len(root) :].replace(os.sep, "/")

    def _in_root(self, tail: str) -> str | None:
        """Where the source of an installed file is in the root, as under tox; None for what others made."""
        return next((name for name in (tail, f"src/{tail}") if self._is_there(join(self._root, name))), None)

    def _is_there(self, path: str) -> bool:
        try:
            self._stat(path)
        except (OSError, ValueError) as error:
            if is_of_program(error):
                raise
            return False
        return True


def _python_folders() -> set[str]:
    """Where the interpreter and its library live: never project code, even inside the root."""
    folders = (sys.prefix, sys.base_prefix, dirname(os.__file__))
    return {join(each, "") for folder in folders for each in (folder, realpath(folder))}


def _is_python(filename: str) -> bool:
    """Whether it names Python source: templates and generated code have lines of another kind, or none."""
    return filename.endswith((".py", ".pyw")) or not (filename.startswith("<") or "." in basename(filename))


def _below_installed(path: str) -> str:
    """The path below the innermost folder of installed packages; empty where there is none."""
    parts = path.split(os.sep)
    places = [number for number, part in enumerate(parts[:-1]) if part in _INSTALLED]
    return "/".join(parts[places[-1] + 1 :]) if places else ""
