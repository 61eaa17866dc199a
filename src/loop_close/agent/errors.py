"""The errors that a response or an error text tells of, and what is the same error again."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from loop_close.agent.blocks import Line, lines_of
from loop_close.agent.patterns import any_of
from loop_close.agent.printed_tests import tallies
from loop_close.text.normalize import mask
from loop_close.text.sanitize import one_line

_LONGEST = 300
_EXCEPTION = re.compile(
    r"\s{0,12}(?:E {3,12})?(?:[A-Za-z_]\w{0,60}\.){0,8}[A-Z]\w{0,80}"
    r"(?:Error|Exception|Failure|Interrupt|Exit|Iteration|Group|Warning)(?:: |$)"
)
# At the start of a line, whatever wrote it.
_ERROR = any_of(
    r"\s{0,12}(?:Traceback \(most recent call last\):|E {3,12}\S|npm ERR!|panicked at|Segmentation fault)",
    r"\s{0,12}\[?(?:ERROR|FATAL|CRITICAL|Error|error|fatal)\]?(?:\[\w+\])?(?:: ?|\s+-\s)\S",
    r"(?:FAILED|ERROR) \S+(?:::|\.py)|(?:FAIL|ERROR): test|--- FAIL|FAILED \(",
    r"\S{1,200}:\d{1,7}:(?:\d{1,5}:)? (?:fatal )?error\b|Command failed",
    r".{0,200}\bexit(?:ed)?(?: with)?(?: status| code|code)?[:=]? ?[1-9]\d{0,2}\b",
    r".{0,200}\b(?:thread '.{1,60}' panicked|an (?:unexpected )?error (?:has )?occurred|command not found)",
)
_IS_FRAME = re.compile(r"\s*Traceback \(most recent call last\):")
_NOTHING = r"null\b|false\b|none\b|\"\"|\"none\"|\[\s*\]|\{\s*\}|0\b"
_JSON = any_of(
    r"\"is_?error\"\s{0,4}:\s{0,4}true\b",
    rf"\"(?:errors?|exception|failures)\"\s{{0,4}}:\s{{0,4}}(?!{_NOTHING})[\"\[{{\dt]",
    flags=re.IGNORECASE,
)
_NAMED = re.compile(r"\"(?:is_?error|errors?)\"\s{0,4}:", re.IGNORECASE)
_COUNTED = re.compile(r"\b[1-9]\d{0,6} (?:failed|errors?|failures?|failing)\b", re.IGNORECASE)
# "2 errors fixed", "down from 3 failures"
_SPOKEN = re.compile(
    r"\b(?:fix|resolv|correct|address|handl|clear|was|were|repair|reduc|down from|had)", re.IGNORECASE
)
_GOOD = any_of(
    r"\b(?:0|no|zero|without(?: any)?) (?:\w+ )?(?:errors?|failures?|failed|exceptions?|issues)\b|\berror-free\b",
    r"\bPASSED\b|\bexit(?:ed)?(?: with)?(?: status| code)?[:=]? ?0\b|\.\.\. ok$",
    flags=re.IGNORECASE,
)
_MAY_BE_GREEN = re.compile(r"\bpass|^OK\b|congratulations")


def errors_in(lines: Sequence[Line]) -> tuple[str, ...]:
    """The lines that report an error, after the last test run that is shown to be green, bounded.

    Words about errors ("handled the KeyError", "0 errors", ``test_exception PASSED``) are no report of one.
    """
    texts = [line.text for line in lines if line.kind != "quote"]
    return tuple(_reports(_after_green(lines, texts)))[:100]


def error_pattern(text: str) -> str:
    """What is the same whenever an error comes again: its last exception, else its first error line, values masked.

    :returns: empty where the text tells of no error; its first line where it tells of nothing that is known.
    """
    texts = [line.text for line in lines_of(text) if line.text.strip()]
    exceptions = [line for line in texts if _EXCEPTION.match(line) and not _GOOD.search(line)]
    found = exceptions[-1:] or list(_reports(texts))[:1] or [line for line in texts if not _is_good(line)][:1]
    return one_line(mask(found[0].strip().removeprefix("E ").strip()[:_LONGEST]), _LONGEST) if found else ""


def error_patterns(text: str) -> frozenset[str]:
    """The same for every error that a text tells of, each line with an exception or a report of an error."""
    texts = [line.text for line in lines_of(text) if line.text.strip()]
    found = {error_pattern(line) for line in texts if _is_report(line) and not _IS_FRAME.match(line)}
    return frozenset(filter(None, (*found, error_pattern(text))))


def _after_green(lines: Sequence[Line], texts: list[str]) -> list[str]:
    for number in reversed(range(len(texts))):
        if _MAY_BE_GREEN.search(texts[number]) and any(
            t.is_green for t in tallies(texts[max(0, number - 3) : number + 1])
        ):
            return texts[number + 1 :]
    return texts


def _reports(texts: Iterable[str]) -> Iterator[str]:
    return (text for text in texts if _is_report(text))


def _is_report(text: str) -> bool:
    if _JSON.search(text):
        return True
    if _COUNTED.search(text) and not _SPOKEN.search(text):
        return True
    return bool(_EXCEPTION.match(text) or _ERROR.match(text)) and not _GOOD.search(text)


def _is_good(text: str) -> bool:
    return _GOOD.search(text) is not None or _NAMED.search(text) is not None
