"""Where the two values of a failing assertion first differ, found without running code of the program.

Values of builtin types, named tuples, dataclasses and attrs classes are compared part by part, as Python compares them.
Any other object is compared by code of the program, which is not called: such a pair gives no difference. pytest shows
its plugins the values of a failing comparison; unittest has them in its frames.
"""

from __future__ import annotations

import ast
import sys
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import islice, zip_longest
from types import CodeType, FrameType, FunctionType
from typing import Any, NamedTuple

from loop_close.capture import LiveFrame, scope_of, statement_of
from loop_close.capture.objects import (
    MISSING,
    builtin_of,
    class_attribute,
    declared_fields,
    fields_of,
    is_atom,
    tuple_names,
)
from loop_close.capture.values import MAX_TEXT, SCALARS, Texts, is_plain
from loop_close.model import Difference
from loop_close.syntax import statement_at
from loop_close.text import cut_apart, first_difference
from loop_close.text.redact import MARK, clean, name_of_result

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


class Leaf(NamedTuple):
    """Two values that differ, :data:`MISSING` for none, and the expression that leads there from either side."""

    path: str
    left: Any
    right: Any


class Walk:
    """Compares two values part by part.

    :param steps: the number of pairs to compare at most.
    :ivar steps: how many are left.
    """

    def __init__(self, steps: int) -> None:
        self.steps = steps

    def first(self, left: Any, right: Any) -> list[Leaf]:
        """The first leaves in which the values differ for certain."""
        return [*islice(self._leaves(left, right, "", 0), MAX_DIFFERENCES)]

    def _leaves(self, left: Any, right: Any, path: str, depth: int) -> Iterator[Leaf]:
        self.steps = 0 if depth > _DEPTH else self.steps - 1
        if self.steps <= 0 or _is_same(left, right):
            return
        (family, one), (other, two) = _read(left), _read(right)
        if left is not MISSING and right is not MISSING and "opaque" in (family, other):
            return
        elif family != other or family == "identity":
            yield Leaf(path, left, right)
        elif family == "scalar":
            if not _is_equal(one, two):
                yield Leaf(path, left, right)
        elif family == "set":
            if one != two:
                yield Leaf(path, one - two or MISSING, two - one or MISSING)
        else:
            self.steps -= (len(one) + len(two)) // _PER_STEP
            names = tuple_names(type(left)) if tuple_names(type(left)) == tuple_names(type(right)) else ()
            for key in {**one, **two}:
                is_field = family.startswith("class")
                step = f".{names[key] if names else key}" if names or is_field else _subscript(key)
                yield from self._leaves(one.get(key, MISSING), two.get(key, MISSING), path + step, depth + 1)


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
        content = dict.items(value) if base is dict else keys
        kind = (dict if base is dict else set) if all(map(is_atom, keys)) else None
        return (kind.__name__, kind(islice(content, _MOST))) if kind is not None else ("opaque", value)
    made = class_attribute(cls, "__eq__")
    file = made.__code__.co_filename if type(made) is FunctionType else ""
    names = [name for name, (_, is_compared) in declared_fields(cls).items() if is_compared]
    fields = fields_of(value) if names and file.startswith(("<string>", "<attrs generated")) else {}
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


def differences(
    left: Any, right: Any, texts: Texts, labels: Sequence[str] = (), walk: Walk | None = None
) -> tuple[Difference, ...]:
    r"""The first differences of two values, at most :data:`MAX_DIFFERENCES`.

    A path is an expression relative to the value: ``["lines"][17].qty``. The text of a side without the part is
    empty. For two sets each text has the items that only this set contains. Strings of several lines are reported by
    the first line that differs, ``.split("\n")[3]``. Long texts are cut around what differs in them.

    :param labels: names of credentials that the values may have.
    :param walk: what compares them.
    """
    return tuple(_difference(each, texts, labels) for each in (walk or Walk(MAX_STEPS)).first(left, right))


def _difference(leaf: Leaf, texts: Texts, labels: Sequence[str]) -> Difference:
    path, sides = leaf.path, [leaf.left, leaf.right]
    is_text = all(type(side) is str for side in sides)
    start = max(0, first_difference(*sides) - _AROUND) if is_text else 0
    parts = [side[start : start + 2 * _AROUND] for side in sides] if is_text else sides
    labels = [f"{label}{path}" for label in labels] or [path]
    shown = ["" if side is MISSING else texts.of(side, *labels) for side in parts]
    if is_text and any("\n" in side for side in parts) and not any(map(MARK.search, shown)):
        pairs = zip_longest(*(side.split("\n") for side in sides), fillvalue=MISSING)
        number, lines = next((number, pair) for number, pair in enumerate(pairs) if pair[0] != pair[1])
        path += f'.split("\\n")[{number}]'
        shown = ["" if line is MISSING else texts.of(line) for line in lines]
    one, two = cut_apart(shown, MAX_TEXT)
    return Difference(
        path=_shortened(path, _MAX_PATH), left=one, right=f"another {two}" if one == two else two
    )


# --- what an assertion compared


class _Event(NamedTuple):
    """A comparison in a failing assertion, without references to objects of the program.

    :ivar frame: the identifier of the frame of the assertion.
    :ivar found: where the two values differ; empty if they did not have to be equal.
    """

    frame: int
    code: CodeType | None
    line: int
    found: tuple[Difference, ...]


_NOTHING = _Event(0, None, 0, ())


class Comparisons:
    """What failing assertions compared last, kept from pytest's hook until the exception is read.

    A failing assertion may be caught: the frame and the line tell whether it is the one that is read.

    :ivar texts: the texts of values in a test; its credentials are forgotten with the comparison.
    """

    def __init__(self, texts: Texts) -> None:
        self.texts = texts
        self._last = _NOTHING
        self._steps = MAX_STEPS

    def saw(self, frame: FrameType | None, operator: str, left: Any, right: Any) -> None:
        """Keep the differences of two values that an assertion compared, and note the credentials among them.

        :param frame: the frame of the caller, which the assertion called.
        :param operator: as in Python. Differences are those of ``==``.
        """
        while frame is not None and _package(frame) in _RUNNERS:
            frame = frame.f_back
        if frame is None:
            return
        labels = labels_at(
            [(each.f_code, each.f_lineno) for each in (frame, frame.f_back) if each is not None]
        )
        if labels or self._steps > 1:
            self._note((left, right), labels)
        # A test that catches its assertions, as one that polls, gets half of the rest each time.
        walk = Walk(self._steps // 2 if operator == "==" else 0)
        self._steps -= walk.steps
        self._last = _Event(
            id(frame), frame.f_code, frame.f_lineno, differences(left, right, self.texts, labels, walk)
        )
        self._steps += max(walk.steps, 0)

    def of(self, live: Sequence[LiveFrame]) -> tuple[Difference, ...]:
        """The differences of the two values that an assertion compared with ``==``; empty for other assertions.

        :param live: the frames of the traceback, outermost first.
        """
        unittest = sys.modules.get("unittest.case")
        if live and unittest is not None and live[-1].frame.f_globals is vars(unittest):
            inner = next(n for n, each in enumerate(reversed(live)) if n and each.file is not None)
            *_, caller, test, method = live[: len(live) - inner + 1]
            one, two = [*method.frame.f_locals.values(), None][1:3]
            labels = labels_at([(each.code, each.line) for each in (test, caller)])
            self._note((one, two), labels)
            is_equality = method.code.co_name in _EQUALITIES
            return differences(one, two, self.texts, labels) if is_equality else ()
        statement = statement_of(live[-1]) if live else None
        if not isinstance(statement, ast.Assert):
            return ()
        lines = range(statement.lineno, (statement.end_lineno or 0) + 1)
        frame, code, line, found = self._last
        return found if (frame, code) == (id(live[-1].frame), live[-1].code) and line in lines else ()

    def _note(self, values: Iterable[Any], labels: Sequence[str]) -> None:
        """Number the credentials in the values: the message shows parts of them without their names."""
        for value in values:
            self.texts.of(value, *labels)

    def forget(self) -> None:
        """Drop the comparison at the start of another test."""
        self._last = _NOTHING
        self.texts.numbers.clear()
        self._steps = MAX_STEPS


def _package(frame: FrameType) -> str:
    name = frame.f_globals.get("__name__")
    return name.partition(".")[0] if type(name) is str else ""


# --- names of credentials


def labels_at(places: Sequence[tuple[CodeType, int]]) -> list[str]:
    """The names of credentials in the statement at a place, and in the one that called its function by name.

    What is compared with a credential counts as one too.
    """
    found: list[str] = []
    called = ""
    for code, line in places:
        names, functions = _named_in(code.co_filename, scope_of(code, line), line)
        if not called or called in functions:
            found += names
        called = code.co_name
    return found


@lru_cache(maxsize=1024)
def _named_in(filename: str, scope: ast.AST | None, line: int) -> tuple[tuple[str, ...], frozenset[str]]:
    """The names of credentials in a statement, and the names of the functions that it calls."""
    statement = statement_at(scope, line) if scope is not None else None
    nodes = [*ast.walk(statement)] if statement is not None and not hasattr(statement, "body") else []
    calls = [node for node in nodes if isinstance(node, ast.Call)]
    functions = [call.func for call in calls]
    chains = [node for node in nodes if isinstance(node, ast.Name | ast.Attribute | ast.Subscript)]
    labels = [ast.unparse(node) for node in chains if node not in functions]
    labels += [name_of_result(ast.unparse(function)) for function in functions]
    # A string may name a credential, as in ``getenv("DB_PASSWORD")``.
    arguments = [node.value for call in calls for node in call.args if isinstance(node, ast.Constant)]
    labels += [value for value in arguments if isinstance(value, str) and value.isidentifier()]
    names = (str(getattr(function, "attr", getattr(function, "id", ""))) for function in functions)
    return tuple(filter(is_of_credential, dict.fromkeys(labels))), frozenset(names)


def is_of_credential(label: str) -> bool:
    """Whether a value of that name is a credential."""
    return "q7Rk2xw9" not in clean(f"{label} = 'q7Rk2xw9'")
