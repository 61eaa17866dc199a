r"""Paths inside text, for :mod:`loop_close.text.normalize`.

A path is read from its start: the lookbehind in front keeps each pattern from trying every directory of a
path again. Separators are ``/``, ``\`` and, in reprs, ``\\``.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache, partial

# A placeholder in front ("<n>") is the start of that path.
_WITHIN = r"[\w.+@~/\\-]"
_START = rf"(?:(?<=://)|(?<!{_WITHIN})(?<![a-z]>))"
_SEP = r"[/\\]{1,2}"

#: ``tmp_path`` up to the test's own directory, below whatever ``--basetemp`` or TMPDIR is.
PYTEST_TEMPORARY = re.compile(
    rf"(?:(?<=[\"'])(?:[A-Za-z]:)?[/\\][^\"'\n:]*?|{_START}(?:[A-Za-z]:)?[/\\]{_WITHIN}*?)pytest-of-[^/\\\s'\"]{{1,60}}{_SEP}pytest-(?:[0-9]+|current)"
    rf"(?:{_SEP}popen-gw[0-9]+)?(?:{_SEP}[^/\\\s'\":,;)\]]{{0,80}}(?:[0-9]|current)(?![^/\\\s'\":,;)\]>]))?"
)
# ``tempfile`` makes names of "tmp" and eight of these characters.
_MADE = r"(?:[/\\]{1,2}tmp[a-z0-9_]{6,8}(?![a-z0-9_]))?"
TEMPORARY = re.compile(
    rf"{_START}(?:/private)?/(?:var/folders/[^/\s'\"]{{1,40}}/[^/\s'\"]{{1,60}}/T|(?:var/)?tmp)(?![\w.-]){_MADE}"
)
WINDOWS_TEMPORARY = re.compile(
    rf"(?<!\w)(?<![a-z]>)[A-Za-z]:{_SEP}(?:[^/\\'\"\n:<>]{{1,60}}{_SEP}){{0,6}}?(?:Temp|TEMP)(?![\w.-]){_MADE}"
)
_LIBRARY_END = (
    rf"(?:lib(?:64)?{_SEP}python3(?:\.[0-9]+)?t?{_SEP}(?:(?:site|dist)-packages{_SEP})?"
    rf"|[Pp]ython3[0-9]*{_SEP}[Ll]ib{_SEP}(?:site-packages{_SEP})?|(?:site|dist)-packages{_SEP})(?=[\w.])"
)
#: The absolute prefix of an installed module. Between quotes it may have spaces ("C:\\Program Files").
LIBRARY = re.compile(
    rf"(?:(?<=[\"'])(?:[A-Za-z]:)?[/\\][^\"'\n:]*?|{_START}(?:[A-Za-z]:)?[/\\](?:[^\s\"'<>:]*?[/\\])??){_LIBRARY_END}"
)
_FOLLOWS = r"[\w.@+~-]"


def relativize(text: str, roots: Sequence[tuple[str, str]]) -> str:
    """Replace absolute directories by what they are called.

    :param roots: ``(directory, name)``; the longest directory that fits wins. An empty name is the project's
        own root: ``/home/me/proj/a.py`` becomes ``a.py`` and a bare ``/home/me/proj`` becomes ``.``.
    :returns: the text; a directory is only replaced where a path starts with it, and not within a longer name
        (``/home/me/project2``). On Windows roots either slash matches, also doubled as in reprs.
    """
    for directory, name in sorted(roots, key=lambda root: -len(root[0].rstrip("/\\"))):
        directory = directory.rstrip("/\\")
        # The last part alone is a cheap way to know that a text has nothing to replace.
        if directory and re.split(r"[/\\]", directory)[-1] in text:
            text = _root_pattern(directory).sub(partial(_renamed, name), text)
    return text


def _renamed(name: str, match: re.Match[str]) -> str:
    separator = match["separator"]
    if separator is None:
        return name or "."
    return name + separator if name else ""


@lru_cache(maxsize=32)
def _root_pattern(directory: str) -> re.Pattern[str]:
    is_windows = directory[1:2] == ":" or directory.startswith("\\")
    between = _SEP if is_windows else "/"
    body = between.join(re.escape(part) for part in re.split(r"[/\\]+" if is_windows else "/", directory))
    # Written in front the lookbehind costs time at each character; behind, it needs a fixed width.
    body = rf"{_START}{body}" if is_windows else rf"{body}(?:(?<=://{body})|(?<!{_WITHIN}{body}))"
    return re.compile(rf"{body}(?:(?P<separator>{between})(?={_FOLLOWS})|(?![\w@+~-]|\.\w))")
