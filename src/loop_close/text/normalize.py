"""What changes from run to run, and what may change with the values: placeholders for both, to compare by.

``stabilize`` takes out what no edit of the code can hold still; ``mask`` takes out all values, so that two
failures of one shape read alike. Neither is for showing: that is ``display``. ``volatile.txt`` has the patterns.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache, lru_cache, partial

from loop_close.text import compiled, guards, rows

# Values without a space between them hide each other until one is a placeholder, and literals fold inside out.
_ROUNDS = 20
# Hypothesis notes the example that it found as a call of the test, and how to have it again. Other words of that kind
# are a program's own.
_NOTES = r"\n(?:Falsifying|Failing)(?: explicit)? (?:example|test case): \w+\("


def stabilize(text: str) -> str:
    """Replace what differs between two runs of the same code.

    Memory addresses, uuids, times of day and timestamps, durations, directories for temporary files, local
    ports, process and object ids, xdist workers. A date alone stays: a test says it, a clock rarely does.

    :returns: the text with ``0x…``, ``<uuid>``, ``<time>``, ``<duration>``, ``<tmp>``, ``<port>``, ``<pid>``,
        ``<id>`` and ``<worker>``. Sets and dicts keep their order.
    """
    return _replaced(text, "both", "volatile")


def mask(text: str) -> str:
    """Replace all values, so that what is left is the kind of the message.

    :returns: :func:`stabilize`, then ``<str>`` for quoted strings, ``<url>``, ``<path>``, ``<id>`` for tokens
        that mix letters and digits, ``<n>`` for numbers, and ``<list>`` or ``<dict>`` for literals of these, up to
        twenty deep. Words stay; an example that Hypothesis noted below them does not.
    """
    noted = compiled(_NOTES).search(text)
    text, before = text[: noted.start() or None] if noted is not None else text, None
    for _ in range(_ROUNDS):
        if text == before:
            break
        text, before = _replaced(text, "both", "volatile", "value"), text
    return text


def display(text: str) -> str:
    """Drop what depends on the machine and says nothing: for showing, so values stay.

    :returns: the text with addresses as ``0x…``, pytest's temporary directories as ``<tmp>``, threads without
        their number, and without the directories above the standard library and ``site-packages``
        (``json/decoder.py``).
    """
    return _replaced(text, "both", "display")


def _replaced(text: str, *uses: str) -> str:
    for held, placeholder, pattern in _rules(*uses):
        if any(map(text.__contains__, held)):
            text = compiled(pattern).sub(placeholder, text)
    return text


@cache
def _rules(*uses: str) -> list[tuple[tuple[str, ...], str, str]]:
    """The rules for these uses: guards, placeholder and pattern."""
    found = [row for row in rows("volatile.txt")["rules"] if row[0] in uses]
    return [(guards(held), placeholder.removeprefix("-"), pattern) for _, held, placeholder, pattern in found]


# What may be in a path, and follow its directory.
_WITHIN, _FOLLOWS = r"[\w.+@~/\\-]", r"[\w.@+~-]"


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
    if match["separator"] is None:
        return name or "."
    return name + match["separator"] if name else ""


@lru_cache(maxsize=32)
def _root_pattern(directory: str) -> re.Pattern[str]:
    is_windows = directory[1:2] == ":" or directory.startswith("\\")
    between = r"[/\\]{1,2}" if is_windows else "/"
    body = between.join(re.escape(part) for part in re.split(r"[/\\]+" if is_windows else "/", directory))
    return re.compile(
        rf"(?:(?<=://)|(?<!{_WITHIN})(?<![a-z]>)){body}(?:(?P<separator>{between})(?={_FOLLOWS})|(?![\w@+~-]|\.\w))"
    )


# --- similarity of two messages

#: Messages are similar from this normalized Indel similarity on, in percent.
SIMILAR = 90
# The comparison takes quadratic time. Of longer messages only both ends are compared.
_LONGEST = 10_000


def similar(a: str, b: str) -> bool:
    """Whether two messages are nearly the same."""
    if a == b:
        return True
    from rapidfuzz import fuzz  # 15 ms to import, and most runs compare nothing

    ends = (t if len(t) <= _LONGEST else t[: _LONGEST // 2] + t[-_LONGEST // 2 :] for t in (a, b))
    return fuzz.ratio(*ends, score_cutoff=SIMILAR) >= SIMILAR
