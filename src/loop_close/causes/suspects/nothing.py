"""Failures that speak of None, and who gave it before the tests to those that tried to do something with it."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from loop_close.calls import Called, Calls
from loop_close.causes.suspects.clues import Name, base_name
from loop_close.causes.suspects.counted import ochiai
from loop_close.facts import links
from loop_close.model import Failure

_NONE = re.compile(r"\bNone(Type)?\b")
# Python says the type where it cannot do with a value what is asked; a test that compares values says None itself, and
# may well mean it.
_USED = re.compile(r"\bNoneType\b")
# Where more tests pass all the same, a function that gave it by good right is likelier.
_LEAST = 0.3
#: A function that gives None and need not give a value is less likely at fault than one that owes it, by this factor.
MAY = 0.5


@dataclass(frozen=True, slots=True)
class NoneBefore:
    """A function that gave None before the tests, and how much that says, from 0 to 1."""

    function: Called
    share: float


def is_about_none(failures: Collection[Failure]) -> bool:
    """Whether at least half of the failures have a message that speaks of None."""
    return _say(_NONE, failures)


def _say(pattern: re.Pattern[str], failures: Collection[Failure]) -> bool:
    said = (any(pattern.search(raised.message) for raised in links(each.raised)) for each in failures)
    return 2 * sum(said) >= max(1, len(failures))


def none_before_tests(failures: Sequence[Failure], calls: Calls | None) -> dict[Name, NoneBefore]:
    """The functions that gave None before the tests, where at least half of the failures are of its use.

    What they say is Ochiai's measure as if all tests had run them. Of a module that cannot be imported those that pass
    say nothing: they do not use it.
    """
    if calls is None or not _say(_USED, failures):
        return {}
    passed = 0 if all(failure.phase == "collect" for failure in failures) else calls.passed
    share = ochiai(len(failures), passed, len(failures))
    return {
        (each.file, base_name(each.function)): NoneBefore(each, share if each.owes else MAY * share)
        for each in calls.functions
        if each.none_before and share >= _LEAST
    }
