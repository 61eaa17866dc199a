"""Which files belong to the project, and which of those are test code."""

from __future__ import annotations

import os
import sys
import sysconfig
from types import CodeType

from loop_close.model import Origin
from loop_close.text.normalize import relativize

#: Where the Python of a system lives beside everything else.
_SHARED = ("/", "/usr", "/usr/local")
_INSTALLED = ("site-packages", "dist-packages")


class Project:
    """The files below one root.

    :param root: absolute path of the root (pytest's ``rootpath``).
    """

    def __init__(self, root: str) -> None:
        self.root = os.path.realpath(root)
        self._given = os.path.abspath(root)
        self._known: dict[str, str | None] = {}
        #: What is known of functions already looked up, by their file and code.
        self.origins: dict[tuple[str, CodeType], Origin] = {}
        #: The same of attributes, by their name and those of the classes that may give it.
        self.attributes: dict[tuple[str, ...], Origin | None] = {}
        self._foreign = _interpreter_folders()
        pythons = [folder for folder in (sys.prefix, sys.base_prefix) if folder not in _SHARED]
        self._shorter = [(self._given, ""), (self.root, ""), *((folder, "<python>") for folder in pythons)]

    def relative(self, filename: str) -> str | None:
        """The path of a project file relative to the root, with ``/``; None for any other file.

        A project that is tested as installed (tox) runs from site-packages: its files are named as they stand
        in the root, so that the fix goes to the right place.
        """
        if filename not in self._known:
            self._known[filename] = self._find(filename)
        return self._known[filename]

    def _find(self, filename: str) -> str | None:
        if filename.startswith("<"):
            return None
        if not os.path.isabs(filename) and not os.path.isfile(filename):
            return None  # C code names its own source: Modules/pyexpat.c
        path = os.path.abspath(filename)
        below = self._below_root(path) or self._below_root(os.path.realpath(path))
        parts = (below or path).replace("\\", "/").split("/")
        for folder in _INSTALLED:
            if folder in parts:
                tail = parts[len(parts) - parts[::-1].index(folder) :]
                return self._in_root("/".join(tail))
        return below

    def _in_root(self, tail: str) -> str | None:
        for candidate in (tail, f"src/{tail}"):
            if os.path.isfile(os.path.join(self.root, candidate)):
                return candidate
        return None

    def _below_root(self, path: str) -> str | None:
        if any(_is_below(path, folder) and not _is_below(self.root, folder) for folder in self._foreign):
            return None
        for root in (self._given, self.root):
            if _is_below(path, root):
                return os.path.relpath(path, root).replace("\\", "/")
        return None

    def tidy(self, text: str) -> str:
        """The text with paths below the root made relative, and those of the environment shortened."""
        return relativize(text, self._shorter)


def _is_below(path: str, folder: str) -> bool:
    return path.startswith(folder.rstrip(os.sep) + os.sep)


def _interpreter_folders() -> list[str]:
    """Where the interpreter and its library live: never project code, even inside the root."""
    names = [sysconfig.get_path("stdlib"), sysconfig.get_path("platstdlib")]
    inside = [sys.prefix] if sys.prefix != sys.base_prefix else []
    return sorted({os.path.realpath(n) for n in [*names, *inside] if n} | {n for n in [*names, *inside] if n})
