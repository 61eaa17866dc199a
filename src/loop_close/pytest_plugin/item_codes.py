"""The code of tests with that of their fixtures, found without calling anything."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cached_property
from types import CodeType, FunctionType, ModuleType
from typing import Any

import pytest

from loop_close.monitor.made import CodeOfTest

#: What sets up the tests of a class.
_SETUPS = ("setUp", "setUpClass", "asyncSetUp", "setup_method", "setup_class")


class ItemCodes:
    """Looks tests up by their node ids."""

    def __init__(self, items: Iterable[pytest.Item]) -> None:
        self._all = items
        self._known: dict[Any, CodeOfTest] = {}

    @cached_property
    def _items(self) -> dict[str, pytest.Item]:
        return {item.nodeid: item for item in self._all}  # not asked for where all is green

    def of(self, nodeid: str) -> CodeOfTest | None:
        """The code of a test; None for what is no test that was collected."""
        item = self._items.get(nodeid)
        if item is None:
            return None
        names = getattr(item, "fixturenames", ())
        key = item.parent, getattr(item, "originalname", None) or item.name, tuple(names)
        if key not in self._known:
            self._known[key] = CodeOfTest(str(item.path), tuple(_codes(item, key[1])))
        return self._known[key]


def _codes(item: Any, name: str) -> Iterator[CodeType]:
    from loop_close.capture.definitions import unwrap  # late: a green run has no use for it

    cls: Any = getattr(item, "cls", None)
    module: Any = getattr(item, "module", None)
    found = [_named(cls, each) for each in (name, *_SETUPS)] if issubclass(type(cls), type) else []
    found += [vars(module).get(name)] if not found and issubclass(type(module), ModuleType) else []
    fixtures = getattr(getattr(item, "_fixtureinfo", None), "name2fixturedefs", {})
    found += [each.func for several in fixtures.values() for each in several[-1:]]
    for each in found:
        function = unwrap(each)
        if type(function) is FunctionType:
            yield function.__code__


def _named(cls: type, name: str) -> Any:
    return next((vars(base)[name] for base in cls.__mro__ if name in vars(base)), None)
