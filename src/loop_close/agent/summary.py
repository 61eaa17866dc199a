"""What a response says was done, in one line."""

from __future__ import annotations

import re
from collections.abc import Iterable

from loop_close.agent.response import Response
from loop_close.agent.work import FILE, tells_of_an_edit

_MAX_FILES = 999
_WORDS = ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine")
_NUMBERS = {word: number for number, word in enumerate(_WORDS, 1)}
_NUMBER = rf"(\d{{1,6}}|{'|'.join(_NUMBERS)})"
_FAULT = (
    r"(?:bugs?|errors?|issues?|failures?|exceptions?|regressions?|problems?|faults?|typos?|failing tests?"
    r"|\w{1,60}(?:error|exception))\b"
)
_FILES = (
    re.compile(
        rf"\b(?:modified|changed|updated|edited|touched|created|added|across|in) {_NUMBER} (?:\w+ )?files?\b"
    ),
    re.compile(rf"\b{_NUMBER} (?:\w+ )?files? (?:were |was )?(?:changed|modified|updated|edited|touched)\b"),
)
_DIFF_FILE = re.compile(r"(?:\+\+\+ b/|\*\*\* (?:Update|Add|Delete) File: )(\S{1,300})")
_FIXED = (
    re.compile(
        rf"\b(?:fixe[ds]|resolved|corrected|repaired|solved) (?:(?:the|all|both|an?|this|that|those|of|these) ){{0,3}}"
        rf"(?:{_NUMBER} )?(?:(?!and\b)[\w`…'-]{{1,40}} ){{0,3}}?{_FAULT}"
    ),
    re.compile(rf"\b{_NUMBER} {_FAULT} (?:were |are |have been )?(?:fixed|resolved)\b"),
)
_PASSING = re.compile(
    r"\b(\d{1,6})(?: ?/ ?\d{1,6})? (?:\w+ )?(?:tests? |specs? )?(?:are |now |all |have )*pass(?:ed|ing|es)?\b"
)


def summary_of(response: Response) -> str:
    """Files changed, tests run, errors fixed, as far as the response tells.

    :returns: like ``Modified 3 files, 12 tests passing, 2 errors fixed``; empty where it tells nothing.
    """
    files, fixed = _files(response), sum(_numbers(_FIXED, response))
    parts = [f"Modified {_counted(files, 'file')}"] if files else []
    parts += _tests(response)
    parts += [f"{_counted(fixed, 'error')} fixed"] if fixed else []
    return ", ".join(parts)


def _files(response: Response) -> int:
    told = _numbers(_FILES, response)
    if told:
        return max(told)
    named = {match[1] for line in response.lines if (match := _DIFF_FILE.match(line.text))}
    named.update(_named_files(line.text for line in response.lines if line.kind in ("prose", "item")))
    return min(len(named), _MAX_FILES)


def _named_files(lines: Iterable[str]) -> Iterable[str]:
    for line in lines:
        if tells_of_an_edit(line.lower()):
            yield from (match[0].removeprefix("./") for match in FILE.finditer(line))


def _tests(response: Response) -> list[str]:
    tally = response.tally
    if tally is None:
        told = [int(match[1]) for s in response.sentences for match in _PASSING.finditer(s.text)]
        return [f"{_counted(told[-1], 'test')} passing"] if told else []
    passing = [f"{_counted(tally.passed, 'test')} passing"] if tally.passed else []
    return passing + ([f"{_counted(tally.failed, 'test')} failing"] if tally.failed else [])


def _numbers(patterns: tuple[re.Pattern[str], ...], response: Response) -> list[int]:
    """The number in each match, in the sentences; 1 where it names none."""
    texts = [sentence.text for sentence in response.sentences]
    return [_value(m[1] or "1") for pattern in patterns for text in texts for m in pattern.finditer(text)]


def _value(number: str) -> int:
    return _NUMBERS.get(number, 0) or int(number)


def _counted(number: int, what: str) -> str:
    return f"{number} {what}{'s' * (number != 1)}"
