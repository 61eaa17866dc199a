"""The two values that a failing assertion compared: where they differ, and which of them are credentials.

pytest shows its plugins the values of a failing comparison, unittest has them in its frames. Which of them is a
credential only the names in the assertion tell.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Collection, Iterable, Iterator, Sequence
from functools import reduce
from itertools import chain
from types import CodeType, FrameType
from typing import Any, NamedTuple

from msgspec.structs import replace

from loop_close.capture import MISSING, LiveFrame, Namespaces, statement_of
from loop_close.capture.differences import MAX_STEPS, Found, another, differences
from loop_close.capture.values import MAX_TEXT, SCALARS, Texts, base_of, evaluate, is_of_credential
from loop_close.model import Difference
from loop_close.text import cut_apart
from loop_close.text.assigned import name_of_result
from loop_close.text.redact import MARK
from loop_close.text.shapes import words

#: After so many pairs in a session, only the first few of each test are compared, because every test may fail.
_IN_SESSION = 200_000
_FEW = 1_000
#: Limits of what is remembered: frames with failing comparisons, and comparisons of each.
_FRAMES = 16
_EVENTS = 8
#: Longer strings are not passwords, and keys of several lines are found by their shape.
_LONGEST_SECRET = 2_000
#: The modules on the stack between an assertion and the plugin.
_RUNNERS = ("pluggy", "_pytest", "loop_close")
#: unittest's methods for two values that have to be equal.
_EQUALITIES = words(
    """
    assertEqual assertMultiLineEqual assertSequenceEqual assertListEqual assertTupleEqual assertSetEqual
    assertDictEqual
    """
)
#: Methods of a string whose result still shows it, and functions that show their argument.
_KEEPING = words(
    """
    strip lstrip rstrip lower upper title casefold capitalize swapcase encode decode replace removeprefix removesuffix
    zfill ljust rjust center expandtabs
    """
)
_SHOWING = words("str repr bytes bytearray")
#: Functions that return what one of their arguments names, and unittest's methods that search a text.
_LOOKUPS = words("get getenv getattr pop setdefault env")
_SEARCHES = words("assertIn assertNotIn")


class _Event(NamedTuple):
    """A comparison in a failing assertion, without references to objects of the program.

    :ivar instruction: offset in the bytecode; it only grows within one assertion.
    :ivar found: where the two values differ; None if they did not have to be equal.
    :ivar strings: those of the two values that are strings; ``searched``: the one in which the other was searched.
    :ivar exact: the texts of the two values, with credentials.
    """

    code: CodeType
    line: int
    instruction: int
    found: Found | None
    strings: tuple[str | bytes, ...]
    searched: tuple[str | bytes, ...]
    exact: tuple[str, ...]


class Comparisons:
    """What failing assertions compared, kept from pytest's hook until the exception is read.

    A failing assertion may be caught. So it is stored by the frame of the assertion, which is the
    innermost frame of its traceback.

    :ivar texts: the texts of values in a test; its credentials are forgotten with the comparisons.
    """

    def __init__(self, texts: Texts) -> None:
        self.texts = texts
        self._events: dict[int, list[_Event]] = {}
        self._spent = 0
        self._left = MAX_STEPS

    def __bool__(self) -> bool:
        return bool(self._events)

    def saw(self, frame: FrameType | None, operator: str, left: Any, right: Any) -> None:
        """Keep the differences and the strings of two values that an assertion compared.

        :param frame: the frame of the caller, which the assertion called.
        :param operator: as in Python. Differences are those of ``==``.
        """
        while frame is not None and _package(frame) in _RUNNERS:
            frame = frame.f_back
        if frame is None:
            return
        found = self._found(left, right) if operator == "==" else None
        searched = _strings([right]) if operator in ("in", "not in") else ()
        strings = _strings((left, right))
        exact = (*self.texts.exact_of(left), *self.texts.exact_of(right)) if self._left > 1 else ()
        event = _Event(frame.f_code, frame.f_lineno, frame.f_lasti, found, strings, searched, exact)
        events = self._events.pop(id(frame), [])
        is_same = (
            bool(events) and events[-1].code is event.code and events[-1].instruction < event.instruction
        )
        self._events[id(frame)] = [*(events if is_same else []), event][-_EVENTS:]
        if len(self._events) > _FRAMES:
            del self._events[next(iter(self._events))]

    def _found(self, left: Any, right: Any) -> Found:
        """The differences. A test that catches its assertions, as one that polls, gets half of the rest each time."""
        steps = self._left // 2
        if steps <= 0:
            return Found()
        found = differences(left, right, self.texts, steps)
        self._left -= found.steps
        self._spent += found.steps
        return found

    def of(self, live: LiveFrame, statement: ast.stmt) -> list[_Event]:
        """The comparisons of the assertion that failed in a frame."""
        lines = range(statement.lineno, (statement.end_lineno or statement.lineno) + 1)
        events = self._events.get(id(live.frame), ())
        return [event for event in events if event.code is live.code and event.line in lines]

    def forget(self) -> None:
        """Drop the comparisons at the start of another test."""
        self._events.clear()
        self.texts.numbers.clear()
        self._left = MAX_STEPS if self._spent < _IN_SESSION else _FEW


def _package(frame: FrameType) -> str:
    name = frame.f_globals.get("__name__")
    return name.partition(".")[0] if type(name) is str else ""


def _strings(values: Iterable[Any]) -> tuple[str | bytes, ...]:
    """The strings among the values, also of classes derived from str, as plain ones."""
    bases = [(base_of(type(each)), each) for each in values]
    plain = [SCALARS[base](each) for base, each in bases if base is str or base is bytes]
    return tuple(each for each in plain if len(each) <= _LONGEST_SECRET)


# --- what an assertion compared


def differences_of(
    live: Sequence[LiveFrame], statement: ast.stmt | None, comparisons: Comparisons
) -> tuple[Difference, ...]:
    """The differences of the two values that an assertion compared with ``==``; empty for other assertions.

    The credentials among the values of any comparison are noted in the texts of ``comparisons``.

    :param live: the frames of the traceback, outermost first.
    :param statement: the failing statement in the last frame.
    :param comparisons: the comparisons that pytest showed; where it showed none, both values are read from the frame.
    """
    texts, method = comparisons.texts, _of_unittest(live)
    if method is not None:
        name, values = method
        frames, arguments = _call_in_test(live)
        if frames:
            sides = [*arguments, *chain(*map(_sides, _compares(arguments)))]
            strings = [*_strings(values), *_strings(_evaluated(sides, frames[-1]))]
            searched: set[str | bytes] = set()
            if name in _SEARCHES:
                searched = _searched(_strings(values[1:2]), arguments[1:2], frames[-1])
            _note(strings, _with_arguments(sides, frames), texts, searched)
        texts.note(chain(*map(texts.exact_of, values)))
        found = differences(values[0], values[1], texts) if name in _EQUALITIES else Found()
        sides = arguments[:2] if len(arguments) > 1 else []
        return tuple(_named(each, sides, texts) for each in found.certain or found.possible)
    if not isinstance(statement, ast.Assert):
        return ()
    events = comparisons.of(live[-1], statement)
    compared = [event.found for event in events if event.found is not None]
    _note_all(statement.test, events, live, texts)
    texts.note(chain(*(event.exact for event in events)))
    sides, is_equality = [], False
    match statement.test:
        case ast.Compare(left=left, ops=ops, comparators=[*_, right]) if all(
            isinstance(op, ast.Eq) for op in ops
        ):
            sides, is_equality = ([left, right] if len(ops) == 1 else []), True
    if not compared and sides:
        one, two = _evaluated(sides, live[-1])
        compared = [differences(one, two, texts)] if one is not MISSING and two is not MISSING else []
    certain = next((found.certain for found in compared if found.certain), ())
    shown = certain or (compared[0].possible if is_equality and len(compared) == 1 else ())
    return tuple(_named(each, sides, texts) for each in shown)


def _evaluated(sides: Iterable[ast.expr], live: LiveFrame) -> list[Any]:
    names = Namespaces(dict(live.frame.f_locals), live.frame.f_globals)
    return [evaluate(side, names) for side in sides]


def _call_in_test(live: Sequence[LiveFrame]) -> tuple[Sequence[LiveFrame], list[ast.expr]]:
    """The frames up to the one that entered unittest, and what it has compared there, without the message.

    Nothing is known of arguments that are unpacked.
    """
    last = next((n for n in range(len(live), 0, -1) if live[n - 1].file is not None), 0)
    statement = statement_of(live[last - 1])[0] if 0 < last < len(live) else None
    for call in ast.walk(statement) if statement is not None else ():
        if isinstance(call, ast.Call) and _last_name(call.func) == live[last].code.co_name:
            given = _given(call, live[last].code, is_bound=True)
            return live[:last], [value for name, value in given.items() if name != "msg"]
    return live[:last], []


def _given(call: ast.Call, code: CodeType, *, is_bound: bool) -> dict[str, ast.expr]:
    """The arguments of a call, in the order of the function's parameters."""
    parameters = code.co_varnames[is_bound : code.co_argcount + code.co_kwonlyargcount]
    if any(isinstance(each, ast.Starred) for each in call.args):
        return {}
    given = dict(zip(parameters[: code.co_argcount - is_bound], call.args, strict=False))
    given |= {each.arg: each.value for each in call.keywords if each.arg is not None}
    return {name: given[name] for name in parameters if name in given}


def _last_name(function: ast.expr) -> str:
    return str(getattr(function, "attr", getattr(function, "id", "")))


def _of_unittest(live: Sequence[LiveFrame]) -> tuple[str, list[Any]] | None:
    """The name of one of unittest's methods and its arguments."""
    module = sys.modules.get("unittest.case")
    for each in live:
        if module is not None and each.frame.f_globals is vars(module) and _is_assertion(each.code):
            held, names = each.frame.f_locals, each.code.co_varnames[1 : each.code.co_argcount]
            return each.code.co_name, [held[name] for name in names if name != "msg"]
    return None


def _is_assertion(code: CodeType) -> bool:
    """Whether it compares its arguments. Others (``assertRaises``) call one, in which another assertion may fail."""
    name = code.co_name
    return (
        name.startswith("assert")
        and not name.startswith(("assertRaises", "assertWarns"))
        and code.co_argcount >= 3
    )


# --- credentials


def _named(difference: Difference, sides: Sequence[ast.expr], texts: Texts) -> Difference:
    """The difference without credentials that can be recognized only by the names in the assertion.

    What is compared with a credential is one too.

    :param sides: the compared expressions; empty if unknown.
    """
    if not sides:
        return difference
    labels = [[f"{label}{difference.path}" for label in labels_of(side)] for side in sides]
    values = difference.left, difference.right
    shown = [reduce(texts.renamed, names, value) for value, names in zip(values, labels, strict=True)]
    hidden = next((n for n in (0, 1) if shown[n] != values[n] or MARK.search(shown[n])), None)
    if hidden is not None:
        shown[1 - hidden] = reduce(texts.renamed, labels[hidden], shown[1 - hidden])
    left, right = cut_apart(shown, MAX_TEXT)
    return replace(difference, left=left, right=another(left, right))


def _note(
    strings: Iterable[str | bytes], sides: Iterable[ast.expr], texts: Texts, searched: Collection[str | bytes]
) -> None:
    """Note compared strings as credentials, if one side of the comparison has the name of one.

    :param searched: the texts that were searched for others: they are shown, without the credentials in them.
    """
    labels = [label for side in sides for label in labels_of(side)]
    if any(map(is_of_credential, labels)):
        for each in strings:
            for label in labels if each not in searched else ():
                texts.whole_of(each, label)


def _searched(strings: Iterable[str | bytes], sides: Sequence[ast.expr], live: LiveFrame) -> set[str | bytes]:
    """The texts that were searched; none if a name says that they are credentials themselves."""
    is_credential = any(is_of_credential(label) for side in sides for label in labels_of(side))
    return set() if is_credential else {*strings, *_strings(_evaluated(sides, live))}


def _note_all(test: ast.expr, events: Sequence[_Event], live: Sequence[LiveFrame], texts: Texts) -> None:
    """Note the credentials of each comparison in an assertion, by its own names."""
    compares = _compares([test])
    known = [_strings(_evaluated(chain(*map(_seen_in, _sides(node))), live[-1])) for node in compares]
    for place, node in enumerate(compares):
        mine = [each for each in events if place in _owners(each, known)]
        searched: set[str | bytes] = set()
        if all(isinstance(op, ast.In | ast.NotIn) for op in node.ops):
            searched = _searched(chain(*(each.searched for each in mine)), node.comparators[-1:], live[-1])
        strings = [*chain(*(each.strings for each in mine)), *known[place]]  # in this order they are numbered
        _note(strings, _with_arguments(_sides(node), live), texts, searched)


def _owners(event: _Event, known: Sequence[Sequence[str | bytes]]) -> Collection[int]:
    """Which comparisons it may be: those of whose names it has a value, else any."""
    return [n for n, texts in enumerate(known) if not {*texts}.isdisjoint(event.strings)] or range(len(known))


def _seen_in(side: ast.expr) -> list[ast.expr]:
    parts = list(_parts(side))
    return parts if parts == [side] else [side, *parts]


def _compares(expressions: Iterable[ast.expr]) -> list[ast.Compare]:
    return [node for node in chain(*map(ast.walk, expressions)) if isinstance(node, ast.Compare)]


def _sides(node: ast.Compare) -> list[ast.expr]:
    return [node.left, *node.comparators]


def _with_arguments(sides: Sequence[ast.expr], live: Sequence[LiveFrame]) -> list[ast.expr]:
    """The expressions, and what the caller of a helper gave it for the parameters among them."""
    code, caller = live[-1].code, statement_of(live[-2])[0] if len(live) > 1 else None
    wanted = {part.id for side in sides for part in _parts(side) if isinstance(part, ast.Name)}
    found: list[ast.expr] = []
    for call in ast.walk(caller) if caller is not None and wanted else ():
        if isinstance(call, ast.Call) and _last_name(call.func) == code.co_name:
            is_bound = isinstance(call.func, ast.Attribute) and code.co_varnames[:1] in (("self",), ("cls",))
            found += [
                value for name, value in _given(call, code, is_bound=is_bound).items() if name in wanted
            ]
    return [*sides, *found]


def labels_of(side: ast.expr) -> list[str]:
    """The names of a compared value: its expressions, whose arguments may name a credential (``get("password")``).

    Of a call also the name of the function, if that may return a credential.
    """
    found = []
    for part in _parts(side):
        found.append(ast.unparse(part))
        match part:
            case ast.Call(func=function, args=arguments):
                found += filter(None, [name_of_result(ast.unparse(function))])
                if _last_name(function) in _LOOKUPS:  # ``getenv("DB_PASSWORD", "")``
                    keys = [each.value for each in arguments[:2] if isinstance(each, ast.Constant)]
                    found += [key for key in keys if isinstance(key, str) and key.isidentifier()]
            case ast.Subscript(value=ast.Name(id=name) | ast.Attribute(attr=name)) if name.endswith("s"):
                found.append(name)  # ``passwords["bob"]``
    return found


def _parts(node: ast.expr) -> Iterator[ast.expr]:
    """The expressions whose values are seen in that of another."""
    match node:
        case ast.Constant() | ast.List() | ast.Tuple() | ast.Set() | ast.Dict():
            parts = []  # a display may be as long as its file
        case ast.NamedExpr(target=target, value=value):
            parts = [target, value]
        case (
            ast.Await(value=value)
            | ast.FormattedValue(value=value)
            | ast.Subscript(value=value, slice=ast.Slice())
        ):
            parts = [value]
        case ast.JoinedStr(values=parts) | ast.BoolOp(values=parts):
            pass
        case ast.BinOp(left=left, right=right) | ast.IfExp(body=left, orelse=right):
            parts = [left, right]
        case ast.Call(func=ast.Attribute(value=value, attr=method)) if method in _KEEPING:
            parts = [value]
        case ast.Call(func=ast.Name(id=function), args=[value, *_]) if function in _SHOWING:
            parts = [value]
        case _:
            yield node
            return
    for part in parts:
        yield from _parts(part)
