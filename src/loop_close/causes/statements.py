"""Keys by the very statement that failed: what it cannot do, it cannot do for one reason, whatever it was given."""

from __future__ import annotations

import re
from collections.abc import Iterator

from loop_close.facts import innermost, is_a
from loop_close.model import Raised

Key = tuple[str, ...]

# What Python itself raises where a value does not fit the statement. Its words name the value's type.
_MISUSED = ("IndexError", "TypeError")
_RAISE = re.compile(r"(?:raise|assert)\b")


def lacking_key(raised: Raised) -> Iterator[Key]:
    """One statement asks for an attribute that objects of several types lack: one of none, or the wrong objects."""
    if is_a(raised, "AttributeError") and raised.details.get("owner") and "name" in raised.details:
        yield from _key("lacks", raised, raised.details["name"])


def misused_key(raised: Raised, chain: Key) -> Iterator[Key]:
    """One statement gets what does not fit it: ``list index out of range`` or ``tuple index out of range``."""
    if raised.type in _MISUSED and not raised.module and raised.template is None:
        yield from _key("misused", raised, *chain)


def _key(rule: str, raised: Raised, *about: str) -> Iterator[Key]:
    """By the statement's text, as its line may move; not where it is a ``raise``, whose words tell the reason."""
    site, frame = raised.site, innermost(raised)
    if site is None or site.frame != frame or frame.is_test or not site.statement:
        return
    if not _RAISE.match(site.statement):
        yield rule, raised.type, frame.file, frame.function, site.statement, *about
