"""Our section in ``AGENTS.md`` (https://agents.md): put in once, brought up to date, taken out to the byte.

Its first line has a digest of the lines below it. So a section of an older version, or for other settings, is known as
ours, and one that a person edited is left unchanged. A text without a line break at its end gets none: this
distinguishes our blank line before the section from one of the person.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from loop_close.hosts import Config, ConfigError
from loop_close.text import code
from loop_close.text.redact import redact

__all__ = ["agents_md", "rules"]

NAME = "AGENTS.md"
_REMOVED = "loop-close uninstall --agents-md"
_END = "<!-- loop-close:end -->"
_BEGIN = re.compile(r"<!-- loop-close:begin (?P<digest>[0-9a-f]{16}) [^\r\n]*-->(?P<newline>\r?\n)")
_MARK = "<!-- loop-close:begin"
# Only at the beginning of a line: a setting that we show may hold the same text.
_ENDING = re.compile(rf"^[ \t]*{_END}", re.MULTILINE)
_LF = "\n"


def rules(command: str, file: str) -> list[str]:
    """The instructions for an agent, as list items.

    :param command: runs the tests; ``file`` is the path of the next prompt.
    """
    tests, prompt = code(redact(command)), code(redact(file))
    return [
        f"- Run the tests with {tests}.",
        f"- If tests fail, read {prompt} before the next edit. It names each root cause, the probable place, a"
        " failing statement with its values, and what earlier edits changed.",
        "- The work is done when `loop-close status` exits with 0. 1: tests fail. 3: the loop is stuck; say so and"
        " ask a person.",
        "- Deleted, skipped or weakened tests are reported, and do not count as a fix.",
    ]


def agents_md(command: str, file: str) -> Config:
    """The configuration of ``AGENTS.md`` with the section for these settings; there is none for a user.

    :param command: runs the tests; ``file`` is the path of the next prompt.
    """
    lines = ["## Tests", "", *rules(command, file)]
    return Config(
        project=NAME,
        user="",
        fresh=f"{_section(lines, _LF)}{_LF}",
        added=lambda text: _added(text, lines),
        removed=_removed,
        emptied="",
    )


def _section(lines: list[str], newline: str) -> str:
    begin = f"<!-- loop-close:begin {_digest(_LF.join(lines))} ({_REMOVED} removes this section) -->"
    return newline.join([begin, *lines, _END])


def _digest(text: str) -> str:
    from hashlib import blake2b

    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()


def _added(text: str, lines: list[str]) -> str:
    found = list(_sections(text))
    if not found:
        first = re.search(r"\r?\n", text)
        newline = first[0] if first else _LF
        section, body = _section(lines, newline), text.removeprefix("\ufeff")
        if body and not body.endswith("\n"):
            return f"{text}{newline}{newline}{section}"
        return f"{text}{newline}{section}{newline}" if body else f"{text}{section}"
    for start, end, newline, is_ours in reversed(found):
        if is_ours:
            text = f"{text[:start]}{_section(lines, newline)}{text[end:]}"
    return text


def _removed(text: str) -> str | None:
    """Remove our sections; None for a file that was created for one.

    :raises ConfigError: for a section that was edited.
    """
    found = list(_sections(text))
    if not all(is_ours for *_, is_ours in found):
        raise ConfigError(
            "the section of loop-close was edited; remove it by hand, with the comments before and after it"
        )
    for start, end, newline, _ in reversed(found):
        before, after = text[:start], text[end:]
        if not before and after == newline:
            return None
        text = _without(before, after, newline)
    return text


def _without(before: str, after: str, newline: str) -> str:
    if after.startswith(newline):
        after = after.removeprefix(newline)
        return f"{before.removesuffix(newline) if before.endswith(_LF + newline) else before}{after}"
    return f"{before.removesuffix(newline * 2)}{after}"


def _sections(text: str) -> Iterator[tuple[int, int, str, bool]]:
    """Start, end and line break of each section, and whether it is unedited.

    :raises ConfigError: for one without its end.
    """
    at = 0
    while (start := text.find(_MARK, at)) >= 0:
        end = _ENDING.search(text, start)
        if end is None:
            raise ConfigError(f"a section of loop-close has no end: {_END} is missing")
        at = end.end()
        if begin := _BEGIN.match(text, start):
            inside = text[begin.end() : end.start()].replace("\r\n", _LF).removesuffix(_LF)
            yield start, at, begin["newline"], begin["digest"] == _digest(inside)
        else:
            yield start, at, _LF, False
