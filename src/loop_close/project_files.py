"""Files of the project, and their paths relative to pytest's root directory."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from functools import lru_cache
from os import stat
from os.path import abspath, dirname, exists, expanduser, isabs, join, normpath, realpath, relpath
from pathlib import PurePath

_INSTALLED = ("site-packages", "dist-packages")
_REPOSITORY = (".git", ".hg")
_PACKAGING = ("pyproject.toml", "setup.py", "setup.cfg")
_OURS = join(dirname(realpath(__file__)), "")
_WRITABLE_BY_ALL = 0o002


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
        self._roots = tuple(join(folder, "") for folder in dict.fromkeys((given, self.root)))
        # A link to the root may be in another project: its top counts only if it is the same folder.
        tops = [top for top in dict.fromkeys((self.top, top_of(given))) if realpath(top) == self.top]
        self._tops = tuple(join(folder, "") for folder in tops) if self.top != self.root else ()
        try:
            self._start = os.getcwd()
        except OSError:  # the folder does not exist any more
            self._start = self.root
        # Our own code belongs only to a project that contains it, also where our repository is the top.
        self._ours = () if _OURS.startswith(self._roots) else (_OURS,)
        pythons = (folder for folder in _python_folders() if not self._roots[-1].startswith(folder))
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
        below = self._below_root(path)
        installed = _below_installed((below or path).replace(os.sep, "/"))
        if installed:
            return self._in_project(installed)
        if below is None:
            below = self._below_top(path)
        return below if isabs(filename) or self._exists(path) else None  # C code names its own source

    def shown(self, filename: str) -> str:
        """The path of any file, relative to the root if it belongs to the project."""
        path = normpath(join(self._start, filename))
        return self._below_root(path) or self._below_top(path) or filename

    def _below_root(self, path: str) -> str | None:
        if path.startswith(self._foreign):
            return None
        root = next((root for root in self._roots if path.startswith(root)), "")
        return path[len(root) :].replace(os.sep, "/") if root else None

    def _below_top(self, path: str) -> str | None:
        if path.startswith(self._foreign):
            return None
        top = next((top for top in self._tops if path.startswith(top)), "")
        return self._from_top(path[len(top) :]) if top else None

    def _from_top(self, tail: str) -> str:
        return relpath(join(self.top, tail), self.root).replace(os.sep, "/")

    def _in_project(self, tail: str) -> str | None:
        """Where the source of an installed file is; None for what others made."""
        names = (tail, f"src/{tail}")
        for name in names:
            if self._exists(join(self.root, name)):
                return name
        if not self._tops or "/" not in tail:
            return None
        return next((self._from_top(name) for name in names if self._exists(join(self.top, name))), None)

    def _exists(self, path: str) -> bool:
        try:
            self._stat(path)
        except (OSError, ValueError):
            return False
        return True


@lru_cache(maxsize=64)
def top_of(root: str, *, anywhere: bool = False) -> str:
    """The top folder of the project that a folder is in.

    It is the folder with the repository. Without one it is the folder itself if that can be packaged, else the nearest
    one above that can. The home folder, folders that every user may write to, and the file system's root are never the
    top, unless they are given. The answer is kept, as a test may change the home folder.

    :param anywhere: a repository counts also in the home folder and in those that every user may write to.
    """
    above = [*_parents(root)]
    folders = map(str, PurePath(root).parents) if anywhere else above
    repository = next((folder for folder in (root, *folders) if _has(folder, _REPOSITORY)), "")
    if repository or _has(root, _PACKAGING):
        return repository or root
    return next((folder for folder in above if _has(folder, _PACKAGING)), root)


def _parents(folder: str) -> Iterator[str]:
    home = expanduser("~")
    ends = {home, realpath(home)}
    while (above := dirname(folder)) not in {folder, *ends} and dirname(above) != above:
        folder = above
        if not _is_writable_by_all(folder):
            yield folder


def _is_writable_by_all(folder: str) -> bool:
    try:
        return bool(stat(folder).st_mode & _WRITABLE_BY_ALL)
    except OSError:
        return True


def _has(folder: str, names: tuple[str, ...]) -> bool:
    return any(exists(join(folder, name)) for name in names)


def _python_folders() -> set[str]:
    folders = (sys.prefix, sys.base_prefix, dirname(os.__file__))
    return {join(each, "") for folder in folders for each in (folder, realpath(folder))}


def _below_installed(path: str) -> str:
    """The path below the innermost folder of installed packages; empty if there is none."""
    parts = path.split("/")
    places = [number for number, part in enumerate(parts[:-1]) if part in _INSTALLED]
    return "/".join(parts[places[-1] + 1 :]) if places else ""
