"""Files of the project, and their paths relative to pytest's root directory."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from os import stat
from os.path import abspath, dirname, exists, expanduser, isabs, join, normpath, realpath, relpath

from loop_close.conventions import is_test_file

_INSTALLED = ("site-packages", "dist-packages")
_REPOSITORY = (".git", ".hg")
_PACKAGING = ("pyproject.toml", "setup.py", "setup.cfg")
_OURS = join(dirname(realpath(__file__)), "")


class ProjectFiles:
    """Decides which files belong to the project.

    The project is everything below its top folder (:func:`top_of`), except for installed packages. The call monitor
    asks about every function that runs during the tests. So the class rarely accesses the file system, and calls
    nothing under a name that tests patch.

    :param root: pytest's root directory. Paths of files outside of it begin with ``../``.
    :ivar top: absolute path of the project's top folder.
    """

    def __init__(self, root: str) -> None:
        self.root = realpath(root)
        self.top = top_of(self.root)
        given = abspath(root)
        roots = dict.fromkeys((given, self.root))
        self._roots = tuple(join(folder, "") for folder in roots)
        self._tops = tuple((join(top_of(folder), ""), folder) for folder in roots)
        self._start = os.getcwd()
        self._foreign = tuple(self._foreign_folders())
        # A root that is not a project of its own, such as `tests`, is judged by its place in the project.
        self._place = "" if _has(self.root, _PACKAGING) else relpath(self.root, self.top).replace(os.sep, "/")
        self._stat = stat  # pyfakefs replaces the name in every module, but not an attribute

    def _foreign_folders(self) -> Iterator[str]:
        """Folders without code of the project, even if they are inside of it."""
        yield from (folder for folder in _python_folders() if not self._roots[-1].startswith(folder))
        if not _OURS.startswith(self._roots):
            yield _OURS

    def relative(self, filename: str) -> str | None:
        """The path of a file of the project relative to the root, with ``/``; None for any other file.

        A project that is tested as installed (tox) runs from site-packages. Its files get the paths of their sources
        below the root, where a fix has to be made.
        """
        if not filename or filename.startswith("<"):
            return None
        path = normpath(join(self._start, filename))
        below = self._below(path)
        installed = _below_installed((below or path).replace(os.sep, "/"))
        if installed:
            return self._in_project(installed)
        if below is None:
            below = self._below(self._resolved(path))
        return below if isabs(filename) or self._exists(path) else None  # C code names its own source

    def is_test_code(self, relative: str) -> bool:
        """Whether a file of the project is test code, by its path relative to the root."""
        return is_test_file(normpath(join(self._place, relative)).replace(os.sep, "/"))

    def shown(self, filename: str) -> str:
        """The path of any file, relative to the root if it belongs to the project."""
        return self._below(normpath(join(self._start, filename))) or filename

    def _below(self, path: str) -> str | None:
        if path.startswith(self._foreign):
            return None
        for root in self._roots:
            if path.startswith(root):
                return path[len(root) :].replace(os.sep, "/")
        for top, root in self._tops:
            if path.startswith(top):
                return relpath(path, root).replace(os.sep, "/")
        return None

    def _resolved(self, path: str) -> str:
        """The path with symbolic links resolved."""
        try:
            return realpath(path)
        except (OSError, ValueError):
            return path

    def _in_project(self, tail: str) -> str | None:
        """The relative path of the source of an installed file; None if it is not from the project."""
        for folder in dict.fromkeys((self.root, self.top)):
            for name in (tail, f"src/{tail}"):
                if self._exists(join(folder, name)):
                    return relpath(join(folder, name), self.root).replace(os.sep, "/")
        return None

    def _exists(self, path: str) -> bool:
        try:
            self._stat(path)
        except (OSError, ValueError):
            return False
        return True


def top_of(root: str) -> str:
    """The top folder of the project that contains a folder.

    It is the folder with the repository. Without a repository it is the folder itself if it can be packaged, else the
    nearest parent that can. The home folder and the file system's root are never the top, unless they are passed.
    """
    above = [*_parents(root)]
    repository = next((folder for folder in (root, *above) if _has(folder, _REPOSITORY)), "")
    if repository or _has(root, _PACKAGING):
        return repository or root
    return next((folder for folder in above if _has(folder, _PACKAGING)), root)


def _parents(folder: str) -> Iterator[str]:
    """The parent folders up to the home folder or the file system's root, without these."""
    home = expanduser("~")
    while (above := dirname(folder)) not in (folder, home) and dirname(above) != above:
        folder = above
        yield folder


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
