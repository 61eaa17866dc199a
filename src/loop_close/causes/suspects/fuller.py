"""Counts of an earlier, fuller run for one that has few passing tests to compare the failing ones with."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping

from loop_close.calls import Called, Calls

#: What tells a function from others wherever it stands: file, qualified name, digest, number of lines after the first.
Key = tuple[str, str, str, int]


def completed(now: Calls, before: Calls, not_passed: Collection[str]) -> Calls:
    """This run's calls with the passing counts of the earlier run, where that is the fuller one.

    They are taken for functions that are as they were then. A test that passed then and fails now is inside of them:
    it is taken out again, with the lines that it runs now and what gives None in it, as what it did then is not known.

    :param not_passed: node ids of tests that fail now and did not pass then: they failed, or were not there.
    :returns: ``now`` as it is where it has at least as many passing tests.
    """
    traces = {nodeid: ran for nodeid, ran in now.failed.items() if nodeid not in not_passed}
    passed = before.passed - len(traces) - now.omitted
    if passed <= now.passed:
        return now
    then = _unambiguous(before.functions)
    own = _unambiguous(now.functions)
    names = {_name(each) for each in before.functions}
    less = _counted(traces.values())
    gave = Counter(index for nodeid in traces for index in now.gave_none.get(nodeid, ()))
    functions = list(now.functions)
    for index, each in enumerate(functions):
        key = _key(each)
        if key in own and key in then:
            functions[index] = _with_counts(each, then[key], less.get(index, {}), gave[index], passed)
        elif _name(each) in names and not each.passed:
            functions[index] = each._replace(is_changed=True)
    return now._replace(passed=passed, functions=tuple(functions), remembered=passed)


def _counted(traces: Iterable[Iterable[tuple[int, int]]]) -> dict[int, Counter[int]]:
    """By function, how many of the tests ran each of its lines, and in the place of line 0 any of them."""
    found: dict[int, Counter[int]] = {}
    for ran in traces:
        for index, line in {*ran, *((index, 0) for index, _ in ran)}:
            found.setdefault(index, Counter())[line] += 1
    return found


def _key(function: Called) -> Key:
    return function.file, function.function, function.digest, function.end_line - function.line


def _name(function: Called) -> tuple[str, str]:
    return function.file, function.function


def _unambiguous(functions: Iterable[Called]) -> dict[Key, Called]:
    """By key; without those that share one, and those whose code is not known."""
    functions = list(functions)
    count = Counter(map(_key, functions))
    return {_key(each): each for each in functions if each.digest and count[_key(each)] == 1}


def _with_counts(now: Called, before: Called, less: Mapping[int, int], gave: int, most: int) -> Called:
    """The function with the earlier counts less those of tests that fail now, and no less than its own.

    :param gave: in how many of those tests it gives None.
    :param most: how many passing tests are counted in all.
    """
    moved = now.line - before.line
    passed = max(now.passed, min(before.passed - less.get(0, 0), most))
    lines = dict(now.lines)
    for line, then in before.lines.items():
        number = line + moved
        count = max(lines.get(number, 0), min(then - less.get(number, 0), passed))
        if count > 0:
            lines[number] = count
    gave_none = max(now.gave_none, min(before.gave_none - gave, passed))
    return now._replace(passed=passed, lines=dict(sorted(lines.items())), gave_none=gave_none)
