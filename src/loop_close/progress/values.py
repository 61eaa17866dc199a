"""The value that a failing comparison saw, and the one it wanted."""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence

from loop_close.facts import is_assertion
from loop_close.model import Failure
from loop_close.text.clean import clean
from loop_close.text.sanitize import one_line

_LONGEST = 40
_ASSERT = re.compile(r"^assert (?P<compared>.+)$", re.MULTILINE)
_OPERATOR = re.compile(r" (?:==|!=|<=|>=|<|>|is not|is|not in|in) ")
#: Most statements begin with a name: those need not be parsed.
_MAY_BE_LITERAL = re.compile(r"assert\s*(?:[^\w\s]|\d|None\b|True\b|False\b|[bBrRuUfF]{1,2}['\"])")
_UNITTEST = re.compile(r"\A(?P<left>.{1,200}?) != (?P<right>.{1,200}?)(?: : .*)?\Z", re.DOTALL)


def values(failure: Failure) -> tuple[str, str]:
    """(got, want) of an assertion that compared two values, each on one line and bounded; empty when not known.

    The side that the test's source spells as a literal is what it wants; of two values the right one.
    """
    raised = failure.raised
    if raised is None or not is_assertion(raised):
        return "", ""
    left, right = _sides(raised.message)
    if not left:
        return "", ""
    statement = raised.site.statement if raised.site is not None else ""
    got, want = (right, left) if _is_literal_first(statement) else (left, right)
    return _shown(got), _shown(want)


def _sides(message: str) -> tuple[str, str]:
    found = _ASSERT.search(message)
    if found is not None:
        return _compared(found["compared"])
    plain = _UNITTEST.match(message)
    return (plain["left"], plain["right"]) if plain is not None and "\n" not in plain["left"] else ("", "")


def _compared(text: str) -> tuple[str, str]:
    """Both sides of ``7 == 6``; nothing where the operator cannot be told from one inside a value."""
    try:
        node = ast.parse(text, mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        parts: Sequence[str] = _OPERATOR.split(text)
        return (parts[0], parts[1]) if len(parts) == 2 else ("", "")
    if not isinstance(node, ast.Compare) or len(node.ops) != 1:
        return "", ""
    sides = ast.get_source_segment(text, node.left), ast.get_source_segment(text, node.comparators[0])
    return sides[0] or "", sides[1] or ""


def _is_literal_first(statement: str) -> bool:
    """Whether the test wrote ``assert 6 == f()``."""
    if not _MAY_BE_LITERAL.match(statement):
        return False
    try:
        node = ast.parse(statement).body[0]
    except (SyntaxError, ValueError, RecursionError, MemoryError, IndexError):
        return False
    compared = node.test if isinstance(node, ast.Assert) else None
    if not isinstance(compared, ast.Compare):
        return False
    return _is_literal(compared.left) and not _is_literal(compared.comparators[0])


def _is_literal(node: ast.expr) -> bool:
    try:
        ast.literal_eval(node)
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return False
    return True


def _shown(value: str) -> str:
    return one_line(clean(value, 4 * _LONGEST), _LONGEST)
