"""Take off what a CI service or a supervisor puts before each line of a log."""

from __future__ import annotations

import re

_TIME = r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d{1,9})?(?:Z|[+-]\d\d:?\d\d)?"
#: Each with where it is seen; a log has one of them on nearly every line, or none.
_PREFIXES = (
    # `gh run view --log`: job, step and time; GitHub's and GitLab's raw logs: the time alone, GitLab with its stream
    re.compile(rf"^(?:[^\t\n]{{1,100}}\t[^\t\n]{{1,200}}\t)?{_TIME}(?: \d\d[OE]\+?)?(?: |$)", re.MULTILINE),
    re.compile(rf"^\[{_TIME}\] ?", re.MULTILINE),  # Jenkins
    re.compile(r"^\[?\d\d:\d\d:\d\d(?:[.,]\d{1,9})?\]? ", re.MULTILINE),  # Jenkins, TeamCity
    re.compile(r"^[\w.-]{1,60} +\| ?", re.MULTILINE),  # docker compose, foreman, honcho
)
_SAMPLE = 20_000
_LEAST = 3
_SHARE = 0.8


def without_prefixes(text: str) -> str:
    """The text as the tools wrote it.

    A prefix is one when four lines in five have it, at the text's start and at its end: what a program writes
    itself is not of that form throughout.
    """
    for prefix in _PREFIXES:
        if _is_everywhere(prefix, text[:_SAMPLE]) and _is_everywhere(prefix, text[-_SAMPLE:]):
            return prefix.sub("", text)
    return text


def _is_everywhere(prefix: re.Pattern[str], part: str) -> bool:
    lines = [line for line in part.split("\n") if line.strip()]
    found = sum(prefix.match(line) is not None for line in lines)
    return found >= _LEAST and found >= _SHARE * len(lines)
