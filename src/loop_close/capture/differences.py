"""Where the two values of a failing assertion first differ, found without running code of the program.

Values of builtin types, named tuples and dataclasses are compared part by part, as Python compares them.
Any other object is compared by code of the program, which is not called: such a pair gives no difference. pytest shows
its plugins the values of a failing comparison; unittest has them in its frames.
"""

from __future__ import annotations

import ast
import sys
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import islice
from types import FrameType, FunctionType, TracebackType
from typing import Any

from loop_close.capture import statement_in, statement_of
from loop_close.capture.objects import (
    MISSING,
    builtin_of,
    class_attribute,
    declared_fields,
    fields_of,
    is_atom,
)
from loop_close.capture.values import MAX_TEXT, SCALARS, Texts, is_plain
from loop_close.model import Difference
from loop_close.text import cut_apart, first_difference
from loop_close.text.redact import clean, name_of_result

MAX_DIFFERENCES = 3
_MAX_PATH = 200
_MAX_KEY = 60
#: Limits: pairs to compare, depth, items of one container, and how many equal items count as one pair.
MAX_STEPS = 20_000
_DEPTH = 40
_MOST = 100_000
_PER_STEP = 20
#: Of a long string so much is read on either side of the first difference.
_AROUND = 4_000
_CONTAINERS = list, tuple, deque, dict, set, frozenset
#: The modules on the stack between an assertion and the plugin.
_RUNNERS = ("pluggy", "_pytest", "loop_close")
#: unittest's methods for two values that have to be equal.
_EQUALITIES = frozenset(
    f"assert{kind}Equal" for kind in ("", "MultiLine", "Sequence", "List", "Tuple", "Set", "Dict")
)

# --- two values


def _leaves(left: Any, right: Any) -> Iterator[tuple[str, Any, Any]]:
    """The leaves in which two values differ for certain, in order.

    :returns: the expression that leads there from either side, and the two values, :data:`MISSING` for none.
    """
    stack = [("", left, right, 0)]
    steps = MAX_STEPS
    while stack and steps > 0:
        path, left, right, depth = stack.pop()
        steps -= 1
        if depth > _DEPTH or _is_same(left, right):
            continue
        (family, one), (other, two) = _read(left), _read(right)
        if "opaque" in (family, other) and left is not MISSING and right is not MISSING:
            continue
        if family != other or family == "identity" or (family == "scalar" and not _is_equal(one, two)):
            yield path, left, right
        elif family == "set" and one != two:
            yield path, one - two or MISSING, two - one or MISSING
        elif isinstance(one, dict):
            steps -= (len(one) + len(two)) // _PER_STEP
            parts = []
            for key in islice({**one, **two}, max(steps, 0)):
                step = f".{key}" if family.startswith("class") else _subscript(key)
                parts.append((path + step, one.get(key, MISSING), two.get(key, MISSING), depth + 1))
            stack += reversed(parts)


def _is_same(left: Any, right: Any) -> bool:
    """Whether two values are identical, or equal numbers or strings of one type."""
    return left is right or (type(left) is type(right) and is_atom(left) and bool(left == right))


def _read(value: Any) -> tuple[str, Any]:
    """What a value is compared as, and what of it: a scalar, a set, or the parts by index, key or name.

    It is opaque if code of the program compares it, or may compare its keys.
    """
    cls = type(value)
    base: Any = builtin_of(cls, "__eq__", object, *SCALARS, *_CONTAINERS)
    if is_plain(value) or base in SCALARS:
        return "scalar", value if is_plain(value) else SCALARS[base](value)
    if base is object:
        return "identity", value
    if base in (list, tuple, deque):
        return base.__name__, dict(enumerate(islice(base.__iter__(value), _MOST)))
    if base is not None:
        keys = [*islice(base.__iter__(value), _MOST)]
        if not all(map(is_atom, keys)):
            return "opaque", value
        return ("dict", dict(islice(dict.items(value), _MOST))) if base is dict else ("set", set(keys))
    made = class_attribute(cls, "__eq__")
    file = made.__code__.co_filename if type(made) is FunctionType else ""
    names = [name for name, (_, is_compared) in declared_fields(cls).items() if is_compared]
    fields = fields_of(value) if names and file == "<string>" else {}
    return f"class {id(cls)}" if fields else "opaque", {name: fields.get(name, MISSING) for name in names}


def _is_equal(left: Any, right: Any) -> bool:
    """``left == right`` of plain values. Strings and bytes are never equal, and Python may warn of comparing them."""
    is_bytes = [type(side) in (bytes, bytearray) for side in (left, right)]
    return is_bytes[0] == is_bytes[1] and bool(left == right)


def _subscript(key: Any) -> str:
    """The subscript of a key as Python code, with strings in double quotes."""
    text = repr(key)
    if type(key) is str and '"' not in text:
        text = f'"{text[1:-1]}"'
    return f"[{_shortened(text, _MAX_KEY)}]"


def _shortened(text: str, limit: int) -> str:
    return cut_apart([clean(text)], limit)[0]


# --- as records


def differences(left: Any, right: Any, texts: Texts, labels: Sequence[str] = ()) -> tuple[Difference, ...]:
    """The first differences of two values, at most :data:`MAX_DIFFERENCES`.

    A path is an expression relative to the value: ``["lines"][17].qty``. The text of a side without the part is
    empty. For two sets each text has the items that only this set contains. Long texts are cut around what differs in
    them.

    :param labels: names of credentials that the values may have.
    """
    return tuple(_difference(*leaf, texts, labels) for leaf in islice(_leaves(left, right), MAX_DIFFERENCES))


def _difference(path: str, left: Any, right: Any, texts: Texts, labels: Sequence[str]) -> Difference:
    sides = [left, right]
    if all(type(side) is str for side in sides):
        start = max(0, first_difference(*sides) - _AROUND)
        sides = [side[start : start + 2 * _AROUND] for side in sides]
    labels = [f"{label}{path}" for label in labels] or [path]
    shown = ["" if side is MISSING else texts.of(side, *labels) for side in sides]
    one, two = cut_apart(shown, MAX_TEXT)
    return Difference(
        path=_shortened(path, _MAX_PATH), left=one, right=f"another {two}" if one == two else two
    )


# --- what an assertion compared


_NOTHING = 0, None, ()


class Comparisons:
    """What failing assertions compared last, kept from pytest's hook until the exception is read.

    A failing assertion may be caught: the frame and the line tell whether it is the one that is read.

    :ivar texts: the texts of values in a test; its credentials are forgotten with the comparison.
    """

    def __init__(self, texts: Texts) -> None:
        self.texts = texts
        # Of the last comparison the frame, by its identifier, the statement, and where the values differ.
        self._last: tuple[int, ast.stmt | None, tuple[Difference, ...]] = _NOTHING

    def saw(self, frame: FrameType | None, operator: str, left: Any, right: Any) -> None:
        """Keep the differences of two values that an assertion compared, and note the credentials among them.

        :param frame: the frame of the caller, which the assertion called.
        :param operator: as in Python. Differences are those of ``==``.
        """
        while frame is not None and _package(frame) in _RUNNERS:
            frame = frame.f_back
        if frame is None:
            return
        called = [each for each in (frame, frame.f_back) if each is not None]
        statements = [statement_in(each.f_code, each.f_lineno) for each in called]
        found = self._compared(left, right, statements, is_equality=operator == "==")
        self._last = id(frame), statements[0], found

    def of(self, live: list[TracebackType], own: list[TracebackType]) -> tuple[Difference, ...]:
        """The differences of the two values that an assertion compared with ``==``; empty for other assertions.

        :param live: the traceback, outermost first; ``own`` what is of the project.
        """
        unittest = sys.modules.get("unittest.case")
        if own and unittest is not None and live[-1].tb_frame.f_globals is vars(unittest):
            at = live.index(own[-1])
            method = live[at + 1].tb_frame
            left, right = [*method.f_locals.values(), None][1:3]
            statements = [statement_of(each) for each in live[at - 1 : at + 1]]
            return self._compared(left, right, statements, is_equality=method.f_code.co_name in _EQUALITIES)
        frame, statement, found = self._last
        is_assertion = live and isinstance(statement, ast.Assert)
        is_last = is_assertion and (frame, statement) == (id(live[-1].tb_frame), statement_of(live[-1]))
        return found if is_last else ()

    def _compared(
        self, left: Any, right: Any, statements: Iterable[ast.stmt | None], *, is_equality: bool
    ) -> tuple[Difference, ...]:
        labels = [name for each in statements if each is not None for name in credentials_in(each)]
        for value in (left, right):  # the message shows parts of their credentials without names: number them
            self.texts.of(value, *labels)
        return differences(left, right, self.texts, labels) if is_equality else ()

    def forget(self) -> None:
        """Drop the comparison at the start of another test."""
        self._last = _NOTHING
        self.texts.numbers.clear()


def _package(frame: FrameType) -> str:
    name = frame.f_globals.get("__name__")
    return name.partition(".")[0] if type(name) is str else ""


# --- names of credentials


@lru_cache(maxsize=1024)
def credentials_in(statement: ast.stmt) -> tuple[str, ...]:
    """The names of credentials in a statement, none in a compound one: what is compared with one counts as one too."""
    nodes = [*ast.walk(statement)] if not hasattr(statement, "body") else []
    calls = [node for node in nodes if isinstance(node, ast.Call)]
    functions = [call.func for call in calls]
    chains = [node for node in nodes if isinstance(node, ast.Name | ast.Attribute | ast.Subscript)]
    labels = [ast.unparse(node) for node in chains if node not in functions]
    labels += [name_of_result(ast.unparse(function)) for function in functions]
    # A string may name a credential, as in ``getenv("DB_PASSWORD")``.
    arguments = [node.value for call in calls for node in call.args if isinstance(node, ast.Constant)]
    labels += [value for value in arguments if isinstance(value, str) and value.isidentifier()]
    return tuple(each for each in dict.fromkeys(labels) if "q7Rk2xw9" not in clean(f"{each} = 'q7Rk2xw9'"))
