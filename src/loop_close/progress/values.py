"""The value that a failing comparison saw, and what it wanted."""

from __future__ import annotations

import ast
import re
from typing import NamedTuple

from loop_close.facts import is_assertion
from loop_close.model import Failure
from loop_close.text.clean import clean
from loop_close.text.sanitize import one_line

_LONGEST = 40
_ASSERT = re.compile(r"^assert (?P<compared>.+)$", re.MULTILINE)
_OPERATOR = re.compile(r" (==|!=|<=|>=|<|>|is not|is|not in|in) ")
#: Most statements begin with a name: those need not be parsed.
_MAY_BE_LITERAL = re.compile(
    r"(?:\Aassert\s*|\.assert\w+\()(?:[^\w\s]|\d|None\b|True\b|False\b|[bBrRuUfF]{1,2}['\"])"
)
_METHOD = re.compile(r"\.assert(\w+)\(")
#: What unittest's methods demand, and the words of their messages between the two values.
_METHODS = {
    "NotEqual": ("!=", " == "),
    "NotAlmostEqual": ("!=", " == "),
    "In": ("in", " not found in "),
    "NotIn": ("not in", " unexpectedly found in "),
    "Is": ("is", " is not "),
    "IsNot": ("is not", "unexpectedly identical: "),
    "Less": ("<", " not less than "),
    "LessEqual": ("<=", " not less than or equal to "),
    "Greater": (">", " not greater than "),
    "GreaterEqual": (">=", " not greater than or equal to "),
}
_EQUAL = "==", " != "
_PREFIX = re.compile(r"\A(?:Lists|Tuples|Sequences|[a-z]+s) differ: ")
_REASON = re.compile(r" : |\n| within (?=[0-9]+ places|.+ delta)")
_IS_OF_MORE = re.compile(r"\A\(*not | (?:and|or) ")
#: What is wanted of the left value, given the right one; and of the right value, given the left one.
_WANTED = {
    "==": ("{}", "{}"),
    "is": ("{}", "{}"),
    "!=": ("anything but {}", "anything but {}"),
    "is not": ("anything but {}", "anything but {}"),
    "in": ("in {}", "containing {}"),
    "not in": ("not in {}", "not containing {}"),
    "<": ("less than {}", "more than {}"),
    "<=": ("at most {}", "at least {}"),
    ">": ("more than {}", "less than {}"),
    ">=": ("at least {}", "at most {}"),
}
_OPERATORS = {
    ast.Eq: "==",
    ast.NotEq: "!=",
    ast.Is: "is",
    ast.IsNot: "is not",
    ast.In: "in",
    ast.NotIn: "not in",
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
}


class _Comparison(NamedTuple):
    """The texts of two values, and what a test demands of them: ``left operator right``."""

    left: str
    operator: str
    right: str


def values(failure: Failure) -> tuple[str, str]:
    """(got, want) of an assertion that compared two values, each on one line and bounded; empty when not known.

    The side that the test's source spells as a literal is what it wants; of two values the right one. Where the two do
    not have to be equal, the wish is in words: ``anything but 3``, ``not in [1, 2]``, ``at most 5``.
    """
    raised = failure.raised
    if raised is None or not is_assertion(raised):
        return "", ""
    statement = raised.site.statement if raised.site is not None else ""
    found = _comparison(raised.message, statement)
    if found is None:
        return "", ""
    of_left, of_right = _WANTED[found.operator]
    if _is_literal_first(statement, found.left):
        return _shown(found.right), of_right.format(_shown(found.left))
    return _shown(found.left), of_left.format(_shown(found.right))


def _comparison(message: str, statement: str) -> _Comparison | None:
    found = _ASSERT.search(message)
    if found is not None:
        return _compared(found["compared"])
    method = _METHOD.search(statement)
    return _of_unittest(message, *_METHODS.get(method[1] if method is not None else "", _EQUAL))


def _of_unittest(message: str, operator: str, words: str) -> _Comparison | None:
    """The two values of unittest's message; nothing where a value may hold the words between them."""
    left, found, right = _PREFIX.sub("", message).partition(words)
    right = _REASON.split(right, maxsplit=1)[0]
    if operator == "is not":  # the message shows the value once
        return _Comparison(right, operator, right) if found and not left and right else None
    is_clear = left and right and "\n" not in left and words not in right
    return _Comparison(left, operator, right) if found and is_clear else None


def _compared(text: str) -> _Comparison | None:
    """Both sides of ``7 == 6``; nothing where the operator cannot be told from one inside a value."""
    try:
        node = ast.parse(text, mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        parts = _OPERATOR.split(text)
        is_clear = len(parts) == 3 and not _IS_OF_MORE.search(text)
        return _Comparison(*parts) if is_clear else None
    if not isinstance(node, ast.Compare) or len(node.ops) != 1:
        return None
    left, right = (ast.get_source_segment(text, side) for side in (node.left, node.comparators[0]))
    return _Comparison(left, _OPERATORS[type(node.ops[0])], right) if left and right else None


def _is_literal_first(statement: str, left: str) -> bool:
    """Whether the test wrote ``assert 6 == f()`` or ``self.assertEqual(6, f())``.

    :param left: the text of the left value; of ``1 < f() < 3`` it tells which of the two comparisons failed.
    """
    if not _MAY_BE_LITERAL.search(statement):
        return False
    try:
        node = ast.parse(statement).body[0]
    except (SyntaxError, ValueError, RecursionError, MemoryError, IndexError):
        return False
    match node:
        case ast.Assert(test=ast.Compare(left=first, comparators=[second, *more])):
            is_it = not more or ast.unparse(first) == left
        case ast.Expr(value=ast.Call(args=[first, second, *_])):
            is_it = True
        case _:
            return False
    return is_it and _is_literal(first) and not _is_literal(second)


def _is_literal(node: ast.expr) -> bool:
    try:
        ast.literal_eval(node)
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return False
    return True


def _shown(value: str) -> str:
    return one_line(clean(value, 4 * _LONGEST), _LONGEST)
