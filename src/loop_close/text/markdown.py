"""Foreign text inside Markdown: shown as it is, and unable to end its own quotation."""

from __future__ import annotations

import re

from loop_close.text.sanitize import one_line

_BACKTICKS = re.compile("`+")
_LINE_ENDS = re.compile(r"\r\n|\r|\n")
_NOT_LANGUAGE = re.compile(r"[^A-Za-z0-9_+.-]")


def fence(text: str, language: str = "text") -> list[str]:
    """A fenced code block.

    :param text: sanitized text; a final line break is not counted as one more line.
    :param language: the info string; anything but letters, digits and ``_+.-`` is left out of it.
    :returns: the lines of the block without line ends. The fence is longer than any run of backticks inside,
        so nothing inside closes it (CommonMark 0.31, section 4.5).
    """
    marks = "`" * max(3, _longest_run(text) + 1)
    lines = _LINE_ENDS.split(text)
    if not lines[-1]:
        lines.pop()
    return [marks + _NOT_LANGUAGE.sub("", language), *lines, marks]


def code(text: str, limit: int = 200) -> str:
    """An inline code span of the text on one line, at most ``limit`` characters of it.

    :returns: ``(empty)``, not code, when nothing is left to show: CommonMark has no empty code span (section
        6.1).
    """
    line = one_line(text, limit)
    if not line:
        return "(empty)"
    marks = "`" * (_longest_run(line) + 1)
    # A backtick next to the delimiter would lengthen it; one space on each side is taken off again by the
    # reader.
    pad = " " if line.startswith("`") or line.endswith("`") else ""
    return f"{marks}{pad}{line}{pad}{marks}"


def _longest_run(text: str) -> int:
    return max(map(len, _BACKTICKS.findall(text)), default=0)
