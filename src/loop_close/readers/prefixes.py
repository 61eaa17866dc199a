"""Take off what a CI service or a supervisor puts before each line of a log."""

from __future__ import annotations

import re

_DAY = r"\d{4}-\d\d-\d\d"
_CLOCK = r"\d\d:\d\d:\d\d(?:[.,]\d{1,9})?"
_TIME = rf"{_DAY}[T ]{_CLOCK}(?:Z|[+-]\d\d:?\d\d)?"
# Of no tool that is read. `gh run view --log`: job, step, time; GitHub's and GitLab's raw logs: the time alone,
# GitLab's with the stream; Jenkins: the time in brackets.
_CERTAIN = re.compile(
    rf"^(?:(?:[^\t\n]{{1,100}}\t[^\t\n]{{1,200}}\t)?{_DAY}T{_CLOCK}Z(?: \d\d[OE]\+?)?(?: |$)|\[{_DAY}T{_CLOCK}Z\] ?)",
    re.MULTILINE,
)
# Of a log only where nearly every line has it.
_LIKELY = (
    re.compile(rf"^(?:\[{_TIME}\]|{_TIME}|\[{_CLOCK}\]|{_CLOCK})(?: |$)", re.MULTILINE),
    re.compile(r"^#\d{1,5} \d{1,6}\.\d{1,4} ", re.MULTILINE),  # BuildKit
)
#: docker compose, foreman, honcho: lines of several processes in turn.
_NAMED = re.compile(r"(?P<name>[\w.-]{1,60}) +\| ?(?P<said>.*)", re.DOTALL)
_SAMPLE = 20_000
_SHARE = 0.8


def without_prefixes(text: str) -> str:
    """The text as the tools wrote it; of several processes that write in turn, one after the other.

    A prefix that a program may write itself is one when four lines in five have it, at the text's start and at its end.
    """
    if _CERTAIN.search(text):
        text = _CERTAIN.sub("", text)
    for prefix in _LIKELY:
        if _is_everywhere(prefix, text):
            text = prefix.sub("", text)
    return _apart(text) if _is_everywhere(_NAMED, text) else text


def _is_everywhere(prefix: re.Pattern[str], text: str) -> bool:
    return _is_in(prefix, text[:_SAMPLE]) and (len(text) <= _SAMPLE or _is_in(prefix, text[-_SAMPLE:]))


def _is_in(prefix: re.Pattern[str], part: str) -> bool:
    lines = [line for line in part.split("\n") if line.strip()]
    found = sum(prefix.match(line) is not None for line in lines)
    return found > 0 and found >= _SHARE * len(lines)


def _apart(text: str) -> str:
    """The lines by the name before them; those without one (``Attaching to …``) come first."""
    said: dict[str, list[str]] = {"": []}
    for line in text.split("\n"):
        found = _NAMED.fullmatch(line)
        if found or line.strip():
            said.setdefault(found["name"] if found else "", []).append(found["said"] if found else line)
    return "".join(f"{line}\n" for lines in said.values() for line in lines)
