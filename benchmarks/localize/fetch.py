"""From a project's name and digest to its files: fetched by pip, checked, unpacked once."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

from benchmarks.localize.projects import Project


def default_cache() -> Path:
    """The user's cache folder, or the temporary one where there is no home."""
    home = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    return Path(
        home if os.path.isdir(os.path.dirname(home)) else tempfile.gettempdir(), "loop-close-localize"
    )


def tree(project: Project, cache: Path) -> Path:
    """The unpacked sdist, fetched where it is not there yet. Nobody writes into it.

    :raises RuntimeError: if what was fetched is not what was pinned.
    """
    root = cache / "trees" / project.folder
    if not root.is_dir():
        with (
            tempfile.TemporaryDirectory(dir=_made(cache / "trees")) as aside,
            tarfile.open(sdist(project, cache)) as file,
        ):
            file.extractall(aside, filter="data")
            [made] = Path(aside).iterdir()
            _put(made, root)
    return root


def _put(made: Path, root: Path) -> None:
    """Move a folder to where it belongs, unless another job was faster: it has the same files."""
    try:
        made.replace(root)
    except OSError:
        if not root.is_dir():
            raise


def sdist(project: Project, cache: Path) -> Path:
    """The file as published, its digest checked."""
    path = fetched(project, cache)
    if (found := digest(path)) != project.sha256:
        raise RuntimeError(f"{path} is not the pinned file: its SHA-256 is {found}")
    return path


def fetched(project: Project, cache: Path) -> Path:
    """The file as published.

    :raises subprocess.CalledProcessError: if there is none.
    """
    folder = _made(cache / "sdists")
    path = folder / f"{project.folder}.tar.gz"
    if not path.exists():
        pinned = f"{project.name}=={project.version}"
        command = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "--no-binary", project.name]
        with tempfile.TemporaryDirectory(dir=folder) as aside:  # another job sees it whole or not at all
            subprocess.run([*command, "-d", aside, pinned], check=True, stdout=sys.stderr)
            [file] = Path(aside).iterdir()  # older ones spell their names otherwise
            file.replace(path)
    return path


def digest(path: Path) -> str:
    """The SHA-256 of a file."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def copied(project: Project, cache: Path, folder: Path) -> Path:
    """A copy of the tree to work in."""
    return Path(shutil.copytree(tree(project, cache), folder / project.folder))


def _made(folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    return folder
