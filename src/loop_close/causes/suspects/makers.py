"""Functions that make the objects which failures are about: what such an object lacks was to be set there."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from loop_close.facts import innermost, links
from loop_close.model import Failure
from loop_close.syntax.attributes import MAKERS

_MAKERS = {*MAKERS, "__setstate__"}


def failing_classes(failures: Iterable[Failure]) -> frozenset[str]:
    """Names of the classes whose instances lacked an attribute, or in whose methods an exception was raised."""
    return frozenset(name for failure in failures for name in _classes(failure) if name)


def is_of_the_exception(function: str, failures: Sequence[Failure]) -> bool:
    """Whether the function makes the very exceptions of all these failures: it runs because something else failed."""
    name = _class_of(function)
    if not name or _last(function) not in _MAKERS:
        return False
    raised = [failure.raised for failure in failures if failure.raised is not None]
    return bool(raised) and all(name in (_last(each.type), *each.bases) for each in raised)


def _classes(failure: Failure) -> Iterator[str]:
    for raised in links(failure.raised):
        yield _last(raised.details.get("owner", ""))
    frame = innermost(failure.raised)
    if frame is not None and not frame.is_test:
        yield _class_of(frame.function)


def is_maker(function: str, classes: frozenset[str]) -> bool:
    """Whether the function, by qualified name, makes the instances of one of the classes."""
    return _last(function) in _MAKERS and _class_of(function) in classes


def _class_of(function: str) -> str:
    return _last(function.rpartition(".")[0])


def _last(name: str) -> str:
    return name.rpartition(".")[2]
