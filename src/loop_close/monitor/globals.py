"""Modules that are loaded, and their global names, found without running anything of theirs."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping
from types import CodeType, FunctionType, ModuleType
from typing import Any

_GLOBALS: Any = vars(ModuleType)["__dict__"].__get__


def modules() -> dict[str, Mapping[str, Any]]:
    """The globals of every module that is loaded, by its file."""
    found: dict[str, Mapping[str, Any]] = {}
    for module in list(sys.modules.values()):
        if isinstance(module, ModuleType) and (file := file_of(module)):
            found[file] = _GLOBALS(module)
    return found


def file_of(module: ModuleType) -> str:
    """Its file; empty where it has none."""
    file = _GLOBALS(module).get("__file__")
    return file if type(file) is str else ""


def names_in(code: CodeType) -> set[str]:
    """Global names and attributes that code uses, with the code inside of it."""
    found = set(code.co_names)
    for each in code.co_consts:
        if isinstance(each, CodeType):
            found |= names_in(each)
    return found


def with_helpers(codes: Iterable[CodeType], loaded: Mapping[str, Mapping[str, Any]]) -> Iterator[CodeType]:
    """The code, and that of the functions of the same modules that it names: what tests call is not told."""
    waiting, seen = list(codes), set()
    while waiting:
        code = waiting.pop()
        if id(code) in seen:
            continue
        seen.add(id(code))
        yield code
        names = loaded.get(code.co_filename, {})
        for value in map(names.get, sorted(names_in(code))):
            if type(value) is FunctionType and value.__code__.co_filename == code.co_filename:
                waiting.append(value.__code__)
