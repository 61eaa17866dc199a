"""Which files belong to a suite although their names do not say so: by its configuration, and as plugins."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Collection, Iterator, Mapping
from fnmatch import fnmatch

from loop_close.conventions import is_of_tests
from loop_close.testcode.nodes import constant, parse
from loop_close.testcode.selection import Selection, selections
from loop_close.testcode.suite import Patterns, matches

_DEFINED = re.compile(r"^[ \t]*(?:(?:async[ \t]+)?def|class)[ \t]+(\w+)", re.MULTILINE)
_PROGRAM = ("src", "lib", ".", "")


def belonging(texts: Mapping[str, str], paths: Collection[str], text_of: Callable[[str], str]) -> set[str]:
    """The files beside the texts.

    :param texts: configuration and conftest files.
    :param paths: all files of the project; ``text_of`` reads one.
    """
    known = selections(texts)
    selection = known[0] if known else Selection()
    found = {*_collected(selection, paths, text_of), *_helpers(selection, paths)}
    waiting = [*_plugins(selection), *(name for path in texts for name in _named(path, texts[path]))]
    while waiting:
        path = f"{waiting.pop()}.py"
        if path in paths and path not in found and not is_of_tests(path):
            found.add(path)
            waiting += _named("conftest.py", text_of(path))
    return {path for path in found if not is_of_tests(path)}


def _below(selection: Selection, path: str) -> bool:
    roots = [
        f"{selection.folder}/{root}".strip("/").removeprefix("./") for root in selection.listed("testpaths")
    ]
    return not roots or any(
        root in _PROGRAM[2:] or path == root or path.startswith(f"{root}/") for root in roots
    )


def _collected(selection: Selection, paths: Collection[str], text_of: Callable[[str], str]) -> Iterator[str]:
    """Modules that the configuration makes test modules, and texts with doctests."""
    patterns = selection.patterns
    is_own = patterns.files != Patterns().files
    globs = [value for name, value in selection.options if name == "--doctest-glob"]
    for path in paths if is_own or globs else ():
        name = path.rpartition("/")[2]
        if any(fnmatch(name, glob) for glob in globs):
            yield path
        elif is_own and path.endswith(".py") and any(fnmatch(name, pattern) for pattern in patterns.files):
            wanted = (*patterns.functions, *patterns.classes)
            if _below(selection, path) and any(
                matches(each, wanted) for each in _DEFINED.findall(text_of(path))
            ):
                yield path


def _helpers(selection: Selection, paths: Collection[str]) -> Iterator[str]:
    """Modules beside tests, in a folder that the configuration names: at least half of what is in it are tests."""
    for root in selection.listed("testpaths"):
        folder = f"{selection.folder}/{root}".strip("/").removeprefix("./")
        if folder in _PROGRAM:
            continue
        below = [path for path in paths if path.endswith(".py") and path.startswith(f"{folder}/")]
        modules = [path for path in below if not path.endswith("/__init__.py")]
        tests = [
            p
            for p in modules
            if is_of_tests(p) or any(fnmatch(p, f"*/{g}") for g in selection.patterns.files)
        ]
        if 2 * len(tests) >= len(modules) > 0:
            yield from (path for path in below if not is_of_tests(path))


def _plugins(selection: Selection) -> Iterator[str]:
    for name, value in selection.options:
        if name == "-p" and not value.startswith("no:"):
            yield value


def _named(path: str, text: str) -> Iterator[str]:
    """Modules of the root that a conftest or plugin names as plugins, or imports hooks from.

    A module in a package is code under test, as far as is known: the project may be a plugin itself.
    """
    if not path.endswith("conftest.py") or not ("pytest_" in text or "import *" in text):
        return
    tree = parse(text)
    for node in ast.walk(tree) if isinstance(tree, ast.Module) else ():
        match node:
            case ast.Assign(targets=[ast.Name(id="pytest_plugins")], value=value):
                names = constant(value)
                yield from (str(each) for each in (names if isinstance(names, (list, tuple)) else [names]))
            case ast.ImportFrom(module=str(module), names=names, level=0) if "." not in module:
                if any(alias.name == "*" or alias.name.startswith("pytest_") for alias in names):
                    yield module
