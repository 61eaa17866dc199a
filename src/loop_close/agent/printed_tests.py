"""The output of test runners inside an agent's response: pytest, unittest, tox, and those of the Jest kind."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

_LINE = re.compile(
    r"""(?:
    # pytest
      ={3,}\ .{1,200}\ ={3,}$
    | (?:=+\ )?(?:no\ tests\ ran|\d{1,7}\ (?:passed|failed|errors?|skipped|deselected|xfailed|xpassed|warnings?)\b
        .{0,200}?)\ in\ [\d.]{1,12}s\b
    | collect(?:ed|ing)\ \d{1,7}\ items?\b | (?:rootdir|configfile|plugins|cachedir|testpaths):\s
    | platform\ \w+\ --\ Python\ | _{3,}\ \S.{0,200}\ _{3,}$ | E\ {3}
    | \S{1,300}\.py::\S{1,300}\s+(?:PASSED|FAILED|ERROR|SKIPPED|XFAIL|XPASS)\b
    | (?:PASSED|FAILED|ERROR|SKIPPED|XFAIL|XPASS)\ \S{1,300}(?:::\S|\.py\b)
    | \S{1,300}\.py\ [.FEsxXR]{1,200}(?:\s+\[\ *\d{1,3}%\])?$
    | [.FEsxXR]{1,200}\s+\[\ *\d{1,3}%\]$ | [.FEsxXR]{5,200}$
    # unittest
    | Ran\ \d{1,7}\ tests?\ in\ [\d.]{1,12}s | OK(?:\ \([\w\ =,]{1,100}\))?$ | FAILED\ \([\w\ =,]{1,100}\)$
    | test\w{0,200}\ \([\w.]{1,300}\)\ \.\.\.\ (?:ok|FAIL|ERROR|skipped|expected\ failure|unexpected\ success)\b
    | (?:FAIL|ERROR):\ test | [-=]{70}$
    # tox
    | (?:\ {2})?[\w.,-]{1,60}:\ (?:OK|FAIL(?:\ code\ -?\d{1,10})?|SKIP)(?:\ [✔✖⚠].{0,60}|\ \(.{1,300}\))?$
    | \ {2}(?:congratulations\ :\)|evaluation\ failed\ :\() | [\w.,-]{1,60}:\ (?:commands\[\d|exit\ \d{1,10}\ \()
    # Jest, Mocha, go, cargo
    | \s{0,8}(?:PASS|FAIL|SKIP)\s+\S | Test\ Suites?: | Tests:\s+\d | Snapshots:\s
    | \s{0,8}\d{1,7}\ (?:passing|failing)\ \(
    | \d{1,7}\ (?:tests?|specs?)\ (?:passed|failed)$ | (?:ok|FAIL)\s+\S{1,200}\s+[\d.]{1,12}s | ---\ (?:PASS|FAIL):
    | test\ result:\ (?:ok|FAILED)
    # the command that made it
    | \s{0,4}[$❯%]\ .{0,100}(?:pytest|unittest|\btox\b|npm\ (?:run\ )?test|jest|go\ test|cargo\ test)
    )""",
    re.VERBOSE,
)
_START = re.compile(r"={3,} (?:test session starts|FAILURES|ERRORS) ={3,}$|={70}$|(?:FAIL|ERROR): test")
_END = re.compile(
    r"(?:={3,} )?(?:no tests ran|\d{1,7} \w+\b.{0,200}) in [\d.]{1,12}s\b|OK(?: \(|$)|FAILED \("
)
_RAN = re.compile(r"Ran (\d{1,7}) tests? in ")
_COUNT = re.compile(r"(\d{1,7}) (?:tests? |specs? )?(passed|passing|failed|failing|errors?|failures?)\b")
_UNITTEST_COUNT = re.compile(r"(?:failures|errors|unexpected successes)=(\d{1,7})")
_SUMMARY = re.compile(
    r"(?:=+ )?(?:no tests ran|\d{1,7} \w+\b.{0,200}?) in [\d.]{1,12}s\b|Tests:\s+\d|test result: "
    r"|\s{0,8}\d{1,7} (?:passing|failing) \(|\d{1,7} (?:tests?|specs?) (?:passed|failed)$"
)


@dataclass(frozen=True, kw_only=True, slots=True)
class Tally:
    """What a test run came to.

    :ivar passed: 0 where it is not told; ``failed`` with the errors.
    """

    is_green: bool
    passed: int = 0
    failed: int = 0


def is_test_line(line: str) -> bool:
    """Whether a line is one that a test runner prints."""
    return _LINE.match(line) is not None


def printed(lines: Sequence[str]) -> set[int]:
    """The numbers of the lines that are test output: what a runner prints, and what stands between such lines."""
    found = {number for number, line in enumerate(lines) if is_test_line(line)}
    if not any(_RAN.match(lines[number]) for number in found):
        found = {number for number in found if lines[number] != "OK"}  # somebody's word
    start = None
    for number in sorted(found):
        if start is None and _START.match(lines[number]):
            start = number
        elif start is not None and _END.match(lines[number]):
            found.update(range(start, number))
            start = None
    return found


def tallies(lines: Iterable[str]) -> Iterator[Tally]:
    """What the runs came to whose output stands in the lines, in their order."""
    ran = 0
    for line in lines:
        count = _RAN.match(line)
        ran = int(count[1]) if count else ran
        tally = _unittest(line, ran) or _tox(line) or _counted(line)
        if tally is not None:
            yield tally


def _unittest(line: str, ran: int) -> Tally | None:
    if line.startswith("FAILED ("):
        failed = sum(map(int, _UNITTEST_COUNT.findall(line)))
        return Tally(is_green=False, passed=max(0, ran - failed), failed=failed)
    is_ok = line == "OK" or (line.startswith("OK (") and line.endswith(")"))
    return Tally(is_green=ran > 0, passed=ran) if is_ok else None


def _tox(line: str) -> Tally | None:
    if line.startswith("  congratulations :)"):
        return Tally(is_green=True)
    if line.startswith("  evaluation failed :("):
        return Tally(is_green=False)
    return None


def _counted(line: str) -> Tally | None:
    if not _SUMMARY.match(line):
        return None
    counts = [(int(number), word) for number, word in _COUNT.findall(line)]
    passed = sum(number for number, word in counts if word.startswith("pass"))
    failed = sum(number for number, word in counts if not word.startswith("pass"))
    return Tally(is_green=passed > 0 and not failed, passed=passed, failed=failed)
