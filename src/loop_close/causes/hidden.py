"""Faults before the failing statement: a None returned earlier, an exception that was handled."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from math import sqrt
from typing import NamedTuple

from loop_close.calls import Called, Calls, Swallowed
from loop_close.causes.clues import Name, base_name
from loop_close.causes.spectrum import ochiai
from loop_close.facts import links
from loop_close.model import Failure, Raised, RootCause

_NONE = re.compile(r"\bNone(Type)?\b")
# Python says the type where it cannot do with a value what is asked; a test that compares values says None itself, and
# may well mean it.
_USED = re.compile(r"\bNoneType\b")
# With more passing tests, a function that may return None is likelier.
_LEAST_NONE = 0.3
#: A function that returns None and may do so is less likely at fault than one that must return a value, by this factor.
MAY = 0.5


@dataclass(frozen=True, slots=True)
class NoneBefore:
    """A function that returned None before the tests, and the weight of that as evidence, from 0 to 1."""

    function: Called
    share: float


def is_about_none(failures: Collection[Failure]) -> bool:
    """Whether at least half of the failures have a message that speaks of None."""
    return _say(_NONE, failures)


def _say(pattern: re.Pattern[str], failures: Collection[Failure]) -> bool:
    said = (any(pattern.search(raised.message) for raised in links(each.raised)) for each in failures)
    return 2 * sum(said) >= max(1, len(failures))


def none_before_tests(failures: Sequence[Failure], calls: Calls | None) -> dict[Name, NoneBefore]:
    """The functions that returned None before the tests, where at least half of the failures are about the use of None.

    What they say is Ochiai's measure as if all tests had run them. Of a module that cannot be imported those that pass
    say nothing: they do not use it.
    """
    if calls is None or not _say(_USED, failures):
        return {}
    passed = 0 if all(failure.phase == "collect" for failure in failures) else calls.passed
    share = ochiai(len(failures), passed, len(failures))
    return {
        (each.file, base_name(each.function)): NoneBefore(each, share if each.returns_value else MAY * share)
        for each in calls.functions
        if each.none_before and share >= _LEAST_NONE
    }


# --- exceptions that were handled and never reached the failing tests

#: More than these are not shown for one root cause.
_MOST = 3
#: The least contrast: the share of the failing tests that raised it, less the square root of that of the passing ones.
#: All failing and a quarter of the passing tests reach it, or half of the failing and no passing tests.
_LEAST = 0.5
# Where nothing is known of the passing tests it counts less, by this factor.
_UNKNOWN = 0.5


class SwallowedIn(NamedTuple):
    """An exception that was swallowed in a function, as a clue.

    :ivar share: Ochiai's measure of the tests that raised it, from 0 to 1.
    :ivar reason: what happened, in words.
    """

    share: float
    reason: str


def swallowed_for(cause: RootCause, calls: Calls | None) -> tuple[Swallowed, ...]:
    """The exceptions that are worth showing for a root cause, at most three, those with the highest contrast first.

    Most of its failing tests raised each, few or no passing tests did, and no traceback of its failures shows it.

    :returns: the records, their ``failed`` without tests of other root causes.
    """
    found = [each for each, _ in _by_contrast(_failures(cause), calls)]
    return tuple(found[:_MOST])


def swallowed_in(cause: RootCause, calls: Calls | None) -> dict[Name, SwallowedIn]:
    """The functions in which such exceptions were raised, each with the one of highest contrast."""
    failures = _failures(cause)
    found: dict[Name, SwallowedIn] = {}
    for each, share in _by_contrast(failures, calls):
        name = each.file, base_name(each.function)
        if name not in found and calls is not None:
            of_failed = len(_known_tests(failures, calls))
            found[name] = SwallowedIn(share, swallowed_words(each, of_failed, calls))
    return found


def swallowed_words(each: Swallowed, of_failed: int, calls: Calls) -> str:
    """What happened, such as "raised ValueError that handle() caught, in 3 of 3 failing and 0 of 36 passing tests".

    :param each: as :func:`swallowed_for` returns it.
    :param of_failed: the failing tests of the root cause.
    """
    tests = f"in {len(each.failed)} of {of_failed} failing"
    passed = _passed(each, calls)
    is_known = passed is not None and not calls.remembered and not calls.cut
    passing = f" and {passed} of {calls.passed} passing tests" if is_known else " tests"
    return f"raised {each.type} that {_handler(each, calls)}, {tests}{passing}"


def _handler(each: Swallowed, calls: Calls) -> str:
    if not each.caught:
        return "no test saw"
    file, separator, line = each.caught.rpartition(":")
    if not separator or not line.isdecimal():
        return f"{each.caught} caught"
    around = [one for one in calls.functions if one.file == file and one.line <= int(line) <= one.end_line]
    if not around:
        return f"{each.caught} caught"
    name = base_name(max(around, key=lambda one: (one.line, one.function)).function)
    return "it caught itself" if (file, name) == (each.file, base_name(each.function)) else f"{name}() caught"


def _failures(cause: RootCause) -> list[Failure]:
    return [e.failure for e in cause.evidence if e.failure is not None]


def _known_tests(failures: Collection[Failure], calls: Calls) -> frozenset[str]:
    return frozenset(failure.nodeid for failure in failures if failure.nodeid in calls.failed)


def _by_contrast(failures: Collection[Failure], calls: Calls | None) -> list[tuple[Swallowed, float]]:
    """Each with Ochiai's measure, the highest contrast first."""
    if calls is None or not calls.swallowed:
        return []
    tests = _known_tests(failures, calls)
    shown = frozenset(key for failure in failures for key in _shown(failure.raised))
    own_files = {failure.file for failure in failures}
    found = []
    for each in calls.swallowed:
        failed = each.failed & tests
        if not failed or (each.type, each.file, each.line) in shown:
            continue
        if each.file in own_files or each.caught.rpartition(":")[0] in own_files:
            continue  # tests in a file that no convention calls tests
        passed = _passed(each, calls)
        contrast = len(failed) / len(tests) - sqrt((passed or 0) / (1 + calls.passed))
        if contrast >= _LEAST:
            sure = _UNKNOWN if passed is None else 1
            found.append(
                (-contrast, each._replace(failed=failed), sure * ochiai(len(failed), passed or 0, len(tests)))
            )
    found.sort(key=lambda one: (one[0], one[1].file, one[1].line, one[1].function, one[1].type))
    return [(each, share) for _, each, share in found]


def _shown(raised: Raised | None) -> Iterator[tuple[str, str, int]]:
    """What the failure itself shows: type, file and line of each exception in each frame of its traceback."""
    left = [raised]
    while left:
        link = left.pop()
        if link is not None:
            yield from ((link.type, frame.file, frame.line) for frame in link.frames)
            left += [link.cause, link.context, *link.members]


def _passed(each: Swallowed, calls: Calls) -> int | None:
    """How many passing tests raised it.

    Of an earlier run only the lines are known: at most as many raised it as ran its line. None where not even that is.
    """
    if not calls.remembered:
        return each.passed
    name = each.file, base_name(each.function)
    around = [
        one
        for one in calls.functions
        if (one.file, base_name(one.function)) == name and one.line <= each.line <= one.end_line
    ]
    if len(around) != 1 or around[0].is_changed:
        return None
    return max(each.passed, around[0].line_passed(each.line))
