"""Files of the project, and their paths relative to pytest's root directory."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Mapping
from functools import lru_cache
from os import stat
from os.path import abspath, dirname, exists, expanduser, isabs, join, normpath, realpath

# A path, with what is below the innermost folder of installed packages.
_INSTALLED = re.compile(r"(?:.*/)?(?:site|dist)-packages/(.+)", re.DOTALL)
_REPOSITORY = (".git", ".hg")
_OURS = join(dirname(realpath(__file__)), "")


class ProjectFiles:
    """Tells the project's files from all others.

    The project is everything below its top folder (:func:`top_of`), without what is installed there. It is asked for
    every function that runs, in the midst of tests. So it hardly asks the file system, follows no links, and calls
    nothing under a name that tests patch.

    :param root: pytest's root directory. Files outside of it have paths that begin with ``../``.
    :ivar root: absolute path of the root without links; ``top`` that of the project's top folder.
    """

    def __init__(self, root: str) -> None:
        given = abspath(root)
        self.root = realpath(root)
        self.top = top_of(self.root)
        #: What the paths of files may begin with, and the way there from the root.
        self._roots = {join(each, ""): "" for each in (given, self.root)}
        self._tops = {**self._roots}
        for folder in (given, self.root):
            top, way = top_of(folder), ""
            # A link to the root may be in another project: its top counts only if it is the same folder.
            while folder != top and realpath(top) == self.top:
                folder, way = dirname(folder), f"../{way}"
                self._tops[join(folder, "")] = way
        try:
            self._start = os.getcwd()
        except OSError:  # the folder does not exist any more
            self._start = self.root
        # Our own code belongs only to a project that contains it, also where our repository is the top.
        self._ours = () if _OURS.startswith(tuple(self._roots)) else (_OURS,)
        pythons = (folder for folder in _python_folders() if not join(self.root, "").startswith(folder))
        self._foreign = (*pythons, *self._ours)
        self._stat = stat  # pyfakefs replaces the name in every module, but no attribute

    def relative(self, filename: str) -> str | None:
        """The path of a file of the project relative to the root, with ``/``; None for any other file.

        A project that is tested as installed (tox) runs from site-packages: its files are named as they are in the
        root, so that the fix goes to the right place.
        """
        if not filename or filename.startswith("<"):
            return None
        path = normpath(join(self._start, filename))
        if path.startswith(self._ours):
            return None
        below = self._below(self._roots, path)
        installed = _INSTALLED.match((below or path).replace(os.sep, "/"))
        if installed:
            return self._in_project(installed[1])
        found = below or self._below(self._tops, path)
        return found if isabs(filename) or self._exists(path) else None  # C code names its own source

    def _below(self, folders: Mapping[str, str], path: str) -> str | None:
        """The path relative to the root, of a file below one of the folders."""
        folder = max(filter(path.startswith, folders), key=len, default="")
        if not folder or path.startswith(self._foreign):
            return None
        return f"{folders[folder]}{path[len(folder) :]}".replace(os.sep, "/")

    def _in_project(self, tail: str) -> str | None:
        """Where the source of an installed file is; None for what others made."""
        folders = (self.root, self.top) if "/" in tail else (self.root,)
        places = [join(folder, name) for folder in dict.fromkeys(folders) for name in (tail, f"src/{tail}")]
        found = next(filter(self._exists, places), None)
        return found and self._below(self._tops, normpath(found))

    def _exists(self, path: str) -> bool:
        try:
            self._stat(path)
        except (OSError, ValueError):
            return False
        return True


@lru_cache(maxsize=64)
def top_of(root: str) -> str:
    """The top folder of the project that a folder is in: the one with the repository, else the folder itself.

    The home folder is never the top, unless it is given. The answer is kept, as a test may change the home folder.
    """
    home = expanduser("~")
    folder = root
    while not any(exists(join(folder, name)) for name in _REPOSITORY):
        folder, below = dirname(folder), folder
        if folder in (below, home, realpath(home)):
            return root
    return folder


def _python_folders() -> set[str]:
    folders = (sys.prefix, sys.base_prefix, dirname(os.__file__))
    return {join(each, "") for folder in folders for each in (folder, realpath(folder))}
