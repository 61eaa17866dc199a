"""Which functions and lines failing and passing tests ran, and how far these set the failing ones apart.

The measure is Ochiai's, failed(x) / sqrt(all failed * (failed(x) + passed(x))), which ranks best among the plain
ones in studies of spectrum-based fault localization (Abreu, Zoeteweij and van Gemund, 2006 and 2009). x is that a
test ran a function, or one of its lines.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping
from math import sqrt

from loop_close.calls import Called, Calls
from loop_close.records import Record


def ochiai(failed: int, passed: int, all_failed: int) -> float:
    """The measure, from 0 to 1; 0 if no failing test ran it."""
    return failed / sqrt(all_failed * (failed + passed)) if failed else 0.0


def contrast(failed: float, passed: int, all_passed: int) -> float:
    """How far a line sets failing tests apart, from -1 to 1.

    The square root, because the first few passing tests say more than as many beyond a hundred.

    :param failed: the share of the failing tests that ran it.
    :param passed: how many passing tests did, of ``all_passed``.
    """
    return failed - sqrt(passed / (1 + all_passed))


class Spectrum(Record, frozen=True):
    """One function, as the tests that ran it show it.

    :ivar failed: how many failing tests of the cause ran it; ``of_failed``: of how many.
    :ivar passed: how many passing tests ran it; ``of_passed``: of how many.
    :ivar score: Ochiai's measure of the function.
    :ivar line: the first of its lines with the highest measure; ``line_failed`` and ``line_passed`` say how many
        failing and passing tests ran it.
    :ivar contrast: the highest :func:`contrast` of its lines.
    """

    function: Called
    failed: int
    of_failed: int
    passed: int
    of_passed: int
    score: float
    line: int
    line_failed: int
    line_passed: int
    contrast: float


def traces_of(calls: Calls, tests: Collection[str]) -> list[set[tuple[int, int]]]:
    """The lines of each of the tests whose lines are known, as in :attr:`loop_close.calls.Calls.failed`."""
    return [set(calls.failed[test]) for test in sorted(tests) if test in calls.failed]


def spectra(calls: Calls, tests: Collection[str]) -> list[Spectrum]:
    """The functions that at least one of the failing tests ran, in the order of the calls.

    :param tests: node ids of the failing tests of one cause. The failing tests of other causes do not count.
    """
    traces = traces_of(calls, tests)
    number = len(traces)
    lines = Counter(hit for trace in traces for hit in trace)
    functions = Counter(index for trace in traces for index in {index for index, _ in trace})
    by_function: dict[int, list[int]] = {}
    for index, line in sorted(lines):
        by_function.setdefault(index, []).append(line)
    found = []
    for index, own in sorted(by_function.items()):
        called = calls.functions[index]
        counts = [(lines[index, line], called.line_passed(line), line) for line in own]
        failed, passed, line = max(counts, key=lambda each: (ochiai(each[0], each[1], number), -each[2]))
        found.append(
            Spectrum(
                function=called,
                failed=functions[index],
                of_failed=number,
                passed=called.passed,
                of_passed=calls.passed,
                score=ochiai(functions[index], called.passed, number),
                line=line,
                line_failed=failed,
                line_passed=passed,
                contrast=max(contrast(f / number, p, calls.passed) for f, p, _ in counts),
            )
        )
    return found


# --- counts of an earlier run with more passing tests

#: The identity of a function wherever it moves: file, qualified name, digest, number of lines after the first.
_Key = tuple[str, str, str, int]


def merge_baseline(now: Calls, before: Calls, not_passed: Collection[str]) -> Calls:
    """This run's calls with the passing counts of an earlier run, if more tests passed in that one.

    A test that passed then and fails now is in the counts. It is taken out by the lines that it runs now, because its
    earlier lines are not known. Of a function that changed since, each line is as if all that ran the function had run
    it: how many would now is not known, and it is not none.

    :param not_passed: node ids of tests that fail now and did not pass then: they failed, or were not there.
    :returns: ``now`` as it is if it has at least as many passing tests.
    """
    traces = [ran for nodeid, ran in now.failed.items() if nodeid not in not_passed]
    passed = before.passed - len(traces) - now.omitted
    if passed <= now.passed:
        return now
    then, own = _unambiguous(before.functions), _unambiguous(now.functions)
    names = {(each.file, each.function): each.passed for each in before.functions}
    less: defaultdict[int, Counter[int]] = defaultdict(Counter)
    for ran in traces:
        for index, line in {*ran, *((index, 0) for index, _ in ran)}:
            less[index][line] += 1
    functions = []
    for index, each in enumerate(now.functions):
        key = _key(each)
        if key in own and key in then:
            guards = each.guards or tuple(test for test in then[key].guards if test not in now.failed)
            each = _with_counts(each, then[key], less[index], passed)._replace(guards=guards)
        elif (ran_then := names.get((each.file, each.function), 0)) and not each.passed:
            number = max(0, min(ran_then - less[index][0], passed))
            lines = dict.fromkeys(range(each.line, each.end_line + 1), number) if number else {}
            each = each._replace(is_changed=True, passed=number, lines=lines)
        functions.append(each)
    return now._replace(passed=passed, functions=tuple(functions), remembered=passed)


def _key(function: Called) -> _Key:
    return function.file, function.function, function.digest, function.end_line - function.line


def _unambiguous(functions: Iterable[Called]) -> dict[_Key, Called]:
    """By key; without those that share one, and those whose code is not known."""
    count = Counter(map(_key, functions))
    return {_key(each): each for each in functions if each.digest and count[_key(each)] == 1}


def _with_counts(now: Called, before: Called, less: Mapping[int, int], most: int) -> Called:
    """The function with the earlier counts, less those of tests that fail now, and no less than its own.

    :param less: by line how many of those tests ran it; by 0, the function.
    :param most: how many passing tests are counted in all.
    """
    passed = max(now.passed, min(before.passed - less.get(0, 0), most))
    lines = dict(now.lines)
    for line, then in before.lines.items():
        number = line + now.line - before.line
        count = max(lines.get(number, 0), min(then - less.get(number, 0), passed))
        if count > 0:
            lines[number] = count
    return now._replace(passed=passed, lines=dict(sorted(lines.items())))
