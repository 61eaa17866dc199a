"""Functions that make the objects which failures are about: what such an object lacks was to be set there."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from loop_close.facts import innermost, links
from loop_close.model import Failure
from loop_close.syntax.attributes import MAKERS

_MAKERS = {*MAKERS, "__setstate__"}


def failing_classes(failures: Sequence[Failure]) -> dict[str, float]:
    """Classes whose instances lacked an attribute, or in whose methods an exception was raised.

    :return: by the class's name the share of the failures that are about it, from 0 to 1.
    """
    counts = Counter(name for failure in failures for name in {*_classes(failure)} if name)
    return {name: count / len(failures) for name, count in counts.items()}


def is_of_the_exception(function: str, failures: Sequence[Failure]) -> bool:
    """Whether the function makes the very exceptions of all these failures: it runs because something else failed."""
    name = _class_of(function)
    raised = [failure.raised for failure in failures if failure.raised is not None]
    is_one = bool(raised) and all(name in (_last(each.type), *each.bases) for each in raised)
    return bool(name) and _last(function) in _MAKERS and is_one


def _classes(failure: Failure) -> Iterator[str]:
    for raised in links(failure.raised):
        yield _last(raised.details.get("owner", ""))
    frame = innermost(failure.raised)
    if frame is not None and not frame.is_test:
        yield _class_of(frame.function)


def maker_share(function: str, classes: Mapping[str, float]) -> float:
    """What the classes have for the one whose instances the function makes, by its qualified name; 0 for none."""
    return classes.get(_class_of(function), 0.0) if _last(function) in _MAKERS else 0.0


def _class_of(function: str) -> str:
    return _last(function.rpartition(".")[0])


def _last(name: str) -> str:
    return name.rpartition(".")[2]
