"""Modules that are loaded, and what their names are bound to, found without running anything of theirs."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping
from types import CodeType, FunctionType, ModuleType
from typing import Any

_GLOBALS: Any = vars(ModuleType)["__dict__"].__get__
_CLASS_OF: Any = vars(type)["__dict__"].__get__


class Modules:
    """The globals of every module that is loaded, by its file."""

    def __init__(self) -> None:
        self._names: dict[int, frozenset[str]] = {}
        self._globals: dict[str, Mapping[str, Any]] = {}
        for module in list(sys.modules.values()):
            if issubclass(type(module), ModuleType) and (file := self.file_of(module)):
                self._globals[file] = _GLOBALS(module)

    def file_of(self, module: ModuleType) -> str:
        """The file of a module; empty where it has none."""
        file = _GLOBALS(module).get("__file__")
        return file if type(file) is str else ""

    def bound(self, file: str, name: str) -> Any:
        """What a name is bound to in the module of a file; None for nothing."""
        return self._globals.get(file, {}).get(name)

    def is_own(self, value: Any, file: str) -> bool:
        """Whether it was made for the module, as far as can be seen: classes and functions say where they are from."""
        if issubclass(type(value), type):
            origin = _CLASS_OF(value).get("__module__")
        elif type(value) is FunctionType:
            origin = value.__module__
        else:
            return True
        return bool(type(origin) is str and origin == self.bound(file, "__name__"))

    def names_in(self, code: CodeType) -> frozenset[str]:
        """Global names and attributes that code uses, with the code inside of it."""
        if id(code) not in self._names:
            inner = (each for each in code.co_consts if isinstance(each, CodeType))
            self._names[id(code)] = frozenset(code.co_names).union(*map(self.names_in, inner))
        return self._names[id(code)]

    def with_helpers(self, codes: Iterable[CodeType]) -> Iterator[CodeType]:
        """The code, and that of the functions of the same modules that it names: what tests call is not told."""
        waiting, seen = list(codes), set()
        while waiting:
            code = waiting.pop()
            if id(code) in seen:
                continue
            seen.add(id(code))
            yield code
            for name in self.names_in(code):
                value = self.bound(code.co_filename, name)
                if type(value) is FunctionType and value.__code__.co_filename == code.co_filename:
                    waiting.append(value.__code__)
