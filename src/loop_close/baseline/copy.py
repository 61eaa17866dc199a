"""A copy of the project in which the tests are as they were."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

from loop_close.baseline import tables
from loop_close.baseline.keep import Baseline, is_of_tests, old_content, read, real, text_of
from loop_close.tree import Tree, is_loaded

#: A file that is larger than this is linked: data, and not what tests write.
_LARGE = 64_000_000
_MOST = 300_000
_LEFT_OUT = frozenset((".git", ".hg", ".svn", ".jj", ".loop-close", "__pycache__"))


class CannotIsolateError(Exception):
    """The tests as they were cannot be run apart from the present ones; the text says why."""


def make(root: Path, baseline: Baseline | None, tree: Tree, target: Path) -> list[str]:
    """Copy the project, with what git ignores, but without caches and bytecode. Environments are linked.

    :param baseline: its test files take the place of the present ones; None for the present ones.
    :returns: the folders of environments.
    :raises CannotIsolateError: when a file of the baseline cannot be put there.
    """
    try:
        environments = _copy(root, baseline, tree, target)
        if baseline is None:
            return environments
        for path in sorted({*tree.files, *baseline.files}):
            if tables.is_shared(path):
                _put_back(root, baseline, path, target)
            elif path in baseline.files:
                _restore(root, baseline, tree, path, target)
    except (OSError, shutil.Error, tables.SpliceError) as error:
        raise CannotIsolateError(str(error)) from None
    return environments


def _copy(root: Path, baseline: Baseline | None, tree: Tree, target: Path) -> list[str]:
    environments, folders, count = [], [""], 0
    of_project = {parent for path in tree.files for parent in _folders(path)}
    while folders:
        folder = folders.pop()
        (target / folder).mkdir(parents=True, exist_ok=True)
        try:
            entries = list(os.scandir(root / folder))
        except OSError:
            continue  # it may be private, or gone by now
        for entry in entries:
            path = f"{folder}{entry.name}"
            count += 1
            if entry.is_dir(follow_symlinks=False):
                # What holds a file of the project is copied: through a link the copy would write into it.
                if path not in of_project and _is_environment(entry.path):
                    environments.append(entry.path)
                    (target / path).symlink_to(entry.path)
                elif os.path.exists(os.path.join(entry.path, "CACHEDIR.TAG")):
                    environments += _link_environments(entry.path, target / path)
                elif entry.name not in _LEFT_OUT:
                    folders.append(f"{path}/")
            elif not _is_replaced(path, baseline, tree):
                _put(Path(entry.path), target / path, root)
        if count > _MOST:
            raise CannotIsolateError(f"the project has more than {_MOST:,} files")
    return environments


def _folders(path: str) -> Iterator[str]:
    """The folders above a file."""
    while (path := path.rpartition("/")[0]) != "":
        yield path


def _link_environments(folder: str, target: Path) -> list[str]:
    """Link the environments in a cache, such as those of tox; its other content is left out."""
    found = [entry.path for entry in os.scandir(folder) if entry.is_dir() and _is_environment(entry.path)]
    for path in found:
        target.mkdir(exist_ok=True)
        (target / os.path.basename(path)).symlink_to(path)
    return found


def _is_environment(path: str) -> bool:
    is_node = os.path.basename(path) == "node_modules"
    return is_node or any(os.path.exists(os.path.join(path, name)) for name in ("pyvenv.cfg", "conda-meta"))


def _is_replaced(path: str, baseline: Baseline | None, tree: Tree) -> bool:
    """Whether the present file has no place in the copy: what the baseline has is put there later."""
    is_known = path in tree.files
    if baseline is None or path in baseline.files:
        return baseline is not None or (path.endswith(".pyc") and not is_known)
    return is_of_tests(path, baseline.patterns) if is_known else is_loaded(path) or path.endswith(".pyc")


def _put(source: Path, target: Path, root: Path) -> None:
    """Copy a file with its time, as build tools look at it; a link leads to the copy of what it led to."""
    if source.is_symlink():
        full = Path(os.path.normpath(source.parent / os.readlink(source)))
        target.symlink_to(os.path.relpath(full, source.parent) if full.is_relative_to(root) else full)
    elif source.is_file():
        if source.stat().st_size > _LARGE:
            target.symlink_to(source)
        else:
            shutil.copy2(source, target)


def _restore(root: Path, baseline: Baseline, tree: Tree, path: str, target: Path) -> None:
    digest, place = baseline.files[path], real(target, path)
    if any(parent.is_symlink() for parent in place.parents if parent.is_relative_to(target)):
        raise CannotIsolateError(f"{path} lies in a folder that is linked")
    place.parent.mkdir(parents=True, exist_ok=True)
    if tree.files.get(path) == digest:
        _put(real(root, path), place, root)
    else:
        place.write_bytes(_old(root, baseline, path))
        place.chmod(0o755 if digest.endswith("+x") else 0o644)


def _old(root: Path, baseline: Baseline, path: str) -> bytes:
    content = old_content(root, baseline, path)
    if content is None and path in baseline.files:
        raise CannotIsolateError(f"the content that {path} had is not kept")
    return content or b""


def _put_back(root: Path, baseline: Baseline, path: str, target: Path) -> None:
    present, old = read(root, path), text_of(_old(root, baseline, path))
    content = present or b""
    if tables.of(path, text_of(present)) != tables.of(path, old):
        content = tables.put_back(path, text_of(present), old).encode()
    elif present is None:
        return
    place = real(target, path)
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_bytes(content)
