"""Where the two values of a failing assertion first differ, found without running code of the program.

Values of builtin types, named tuples, dataclasses and attrs classes are compared part by part, as Python compares them.
Any other object is compared by code of the program, which is not called: it is told only where nothing else can be the
difference. pytest shows its plugins the values of a failing comparison; unittest has them in its frames.
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
    Names,
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
from loop_close.text.assigned import name_of_result
from loop_close.text.redact import MARK, clean
from loop_close.text.shapes import words

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
#: After so many pairs in a session, only the first few of each test are compared, because every test may fail.
_IN_SESSION = 200_000
_FEW = 1_000
#: Limits of what is remembered: frames with failing comparisons, and comparisons of each.
_FRAMES = 16
_EVENTS = 8
#: The modules on the stack between an assertion and the plugin.
_RUNNERS = ("pluggy", "_pytest", "loop_close")
#: unittest's methods for two values that have to be equal.
_EQUALITIES = words(
    """
    assertEqual assertMultiLineEqual assertSequenceEqual assertListEqual assertTupleEqual assertSetEqual
    assertDictEqual
    """
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

    def __init__(self, steps: float) -> None:
        self.steps = steps
        self._unknown: list[Leaf] = []

    def first(self, left: Any, right: Any) -> list[Leaf]:
        """The first leaves in which the values differ for certain."""
        return [*islice(self._leaves(left, right, "", 0), MAX_DIFFERENCES)]

    def rest(self) -> list[Leaf]:
        """The pair that code of the program compares, if all else is equal: the difference of unequal values."""
        return self._unknown if self.steps > 0 and len(self._unknown) == 1 else []

    def _leaves(self, left: Any, right: Any, path: str, depth: int) -> Iterator[Leaf]:
        self.steps = 0 if depth > _DEPTH else self.steps - 1
        if left is right or self.steps <= 0:
            return
        family, other = _family(left), _family(right)
        if left is MISSING or right is MISSING:
            yield Leaf(path, left, right)
        elif family is None or other is None:
            self._unknown.append(Leaf(path, left, right))
        elif family is not other or family is object:
            yield Leaf(path, left, right)
        elif family is SCALARS:
            if not _is_equal(_scalar(left), _scalar(right)):
                yield Leaf(path, left, right)
        elif family is dict or family is set:
            yield from self._by_key(family, left, right, path, depth)
        else:
            for step, one, two in _parts(family, left, right):
                self.steps -= 1 / _PER_STEP
                if one is not two:
                    yield from self._leaves(one, two, path + step, depth + 1)

    def _by_key(self, family: Any, left: Any, right: Any, path: str, depth: int) -> Iterator[Leaf]:
        """The leaves of two dicts, or of two sets, whose keys are numbers, strings and the like."""
        items = [_items(side) for side in (left, right)]
        keys = items if family is set else [[key for key, _ in side] for side in items]
        self.steps -= sum(map(len, keys)) // _PER_STEP
        if not all(is_atom(key) for side in keys for key in side):
            self._unknown.append(Leaf(path, left, right))
        elif family is set:
            lone = [{*one} - {*two} for one, two in (keys, keys[::-1])]
            if any(lone):
                yield Leaf(path, *(each or MISSING for each in lone))
        else:
            one, two = map(dict, items)
            for key in {**one, **two}:
                pair = one.get(key, MISSING), two.get(key, MISSING)
                yield from self._leaves(*pair, path + _subscript(key), depth + 1)


def _family(value: Any) -> Any:
    """What values are compared as: ``SCALARS``, a builtin container, a class with fields, ``object`` for identity.

    None if code of the program compares them.
    """
    cls = type(value)
    if is_plain(value) or builtin_of(cls, "__eq__", *SCALARS) is not None:
        return SCALARS
    base = builtin_of(cls, "__eq__", object, list, tuple, deque, dict, set, frozenset)
    if base is not None:
        return set if base is frozenset else base
    made = class_attribute(cls, "__eq__")
    file = made.__code__.co_filename if type(made) is FunctionType else ""
    return cls if file.startswith(("<string>", "<attrs generated")) and declared_fields(cls) else None


def _scalar(value: Any) -> Any:
    base = builtin_of(type(value), "__eq__", *SCALARS)
    return value if is_plain(value) else SCALARS[base](value)


def _is_equal(left: Any, right: Any) -> bool:
    """``left == right`` of plain values. Strings and bytes are never equal, and Python may warn of comparing them."""
    is_bytes = [type(side) in (bytes, bytearray) for side in (left, right)]
    return is_bytes[0] == is_bytes[1] and bool(left == right)


def _items(value: Any) -> list[Any]:
    """The items of a container; those of a dict with their keys."""
    base: Any = builtin_of(type(value), "__eq__", list, tuple, deque, dict, set, frozenset)
    return list(islice(dict.items(value) if base is dict else base.__iter__(value), _MOST))


def _parts(family: Any, left: Any, right: Any) -> Iterator[tuple[str, Any, Any]]:
    """The parts of two sequences or of two objects, each with the step that leads there."""
    if family in (list, tuple, deque):
        names = tuple_names(type(left)) if tuple_names(type(left)) == tuple_names(type(right)) else ()
        pairs = zip_longest(_items(left), _items(right), fillvalue=MISSING)
        for index, (one, two) in enumerate(pairs):
            yield f".{names[index]}" if names else f"[{index}]", one, two
    else:
        one, two = fields_of(left), fields_of(right)
        for name, (_, is_compared) in declared_fields(family).items():
            if is_compared:
                yield f".{name}", one.get(name, MISSING), two.get(name, MISSING)


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
    walk = walk or Walk(MAX_STEPS)
    found = walk.first(left, right)
    made = [_difference(each, texts, labels) for each in found or walk.rest()]
    # Of the pair that the program compares, something has to be shown that differs.
    is_shown = bool(found) or not any(
        side.startswith(("<", "another ")) for each in made for side in (each.left, each.right)
    )
    return tuple(made) if is_shown else ()


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

    :ivar instruction: offset in the bytecode; it only grows within one assertion.
    :ivar found: where the two values differ; None if they did not have to be equal.
    """

    code: CodeType
    line: int
    instruction: int
    found: tuple[Difference, ...] | None


class Comparisons:
    """What failing assertions compared, kept from pytest's hook until the exception is read.

    A failing assertion may be caught. So it is stored by the frame of the assertion, which is the innermost frame of
    its traceback.

    :ivar texts: the texts of values in a test; its credentials are forgotten with the comparisons.
    """

    def __init__(self, texts: Texts) -> None:
        self.texts = texts
        self._events: dict[int, list[_Event]] = {}
        self._spent = 0.0
        self._left: float = MAX_STEPS

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
        if labels or self._left > 1:
            self._note((left, right), labels)
        found = None
        if operator == "==":
            # A test that catches its assertions, as one that polls, gets half of the rest each time.
            walk = Walk(self._left // 2)
            found = differences(left, right, self.texts, labels, walk)
            self._spent += self._left // 2 - walk.steps
            self._left -= self._left // 2 - walk.steps
        events = self._events.pop(id(frame), [])
        event = _Event(frame.f_code, frame.f_lineno, frame.f_lasti, found)
        is_same = (
            bool(events) and events[-1].code is event.code and events[-1].instruction < event.instruction
        )
        self._events[id(frame)] = [*(events if is_same else []), event][-_EVENTS:]
        if len(self._events) > _FRAMES:
            del self._events[next(iter(self._events))]

    def of(self, live: Sequence[LiveFrame]) -> tuple[Difference, ...]:
        """The differences of the two values that an assertion compared with ``==``; empty for other assertions.

        :param live: the frames of the traceback, outermost first.
        """
        last = next((n for n, each in enumerate(live) if _is_of_unittest(each)), 0)
        if last:
            values = [*live[last].frame.f_locals.values()][1:3]
            labels = labels_at([(each.code, each.line) for each in live[last - 1 :: -1][:2]])
            self._note(values, labels)
            is_equality = live[last].code.co_name in _EQUALITIES
            return differences(values[0], values[1], self.texts, labels) if is_equality else ()
        statement = statement_of(live[-1]) if live else None
        if not isinstance(statement, ast.Assert):
            return ()
        lines = range(statement.lineno, (statement.end_lineno or statement.lineno) + 1)
        events = [
            e for e in self._events.get(id(live[-1].frame), ()) if e.code is live[-1].code and e.line in lines
        ]
        if found := next((each.found for each in events if each.found), ()):
            return found
        match statement.test:
            case ast.Compare(left=left, ops=[ast.Eq()], comparators=[right]) if not events:
                names = Names.of(live[-1].frame)
                one, two = names.data(left), names.data(right)
                labels = labels_at([(each.code, each.line) for each in live[:-3:-1]])
                is_known = one is not MISSING and two is not MISSING
                return differences(one, two, self.texts, labels) if is_known else ()
        return ()

    def _note(self, values: Iterable[Any], labels: Sequence[str]) -> None:
        """Number the credentials in the values: the message shows parts of them without their names."""
        for value in values:
            self.texts.of(value, *labels)

    def forget(self) -> None:
        """Drop the comparisons at the start of another test."""
        self._events.clear()
        self.texts.numbers.clear()
        self._left = MAX_STEPS if self._spent < _IN_SESSION else _FEW


def _package(frame: FrameType) -> str:
    name = frame.f_globals.get("__name__")
    return name.partition(".")[0] if type(name) is str else ""


def _is_of_unittest(live: LiveFrame) -> bool:
    """Whether it is a method of unittest that compares its arguments."""
    module = sys.modules.get("unittest.case")
    code = live.code
    return (
        module is not None
        and live.frame.f_globals is vars(module)
        and code.co_name.startswith("assert")
        and not code.co_name.startswith(("assertRaises", "assertWarns"))
        and code.co_argcount >= 3
    )


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
    functions: set[str] = set()
    labels: list[str] = []
    inner: set[int] = set()
    for node in ast.walk(statement) if statement is not None and not hasattr(statement, "body") else ():
        match node:
            case ast.Call(func=function, args=arguments):
                inner.add(id(function))
                functions.add(str(getattr(function, "attr", getattr(function, "id", ""))))
                labels += [name_of_result(ast.unparse(function))]
                labels += filter(None, map(_constant_name, arguments))
            case ast.Name() | ast.Attribute() | ast.Subscript() if id(node) not in inner:
                labels.append(ast.unparse(node))
                inner.add(id(getattr(node, "value", None)))
    return tuple(label for label in dict.fromkeys(labels) if label and is_of_credential(label)), frozenset(
        functions
    )


def _constant_name(node: ast.expr) -> str:
    """A string that may name a credential, as in ``getenv("DB_PASSWORD")``; empty for anything else."""
    value = node.value if isinstance(node, ast.Constant) else ""
    return value if isinstance(value, str) and value.isidentifier() else ""


def is_of_credential(label: str) -> bool:
    """Whether a value of that name is a credential."""
    return "q7Rk2xw9" not in clean(f"{label} = 'q7Rk2xw9'")
