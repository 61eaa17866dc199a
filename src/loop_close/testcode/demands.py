"""What an assertion demands, in a form that does not depend on how it is written."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from loop_close.testcode.nodes import constant, dotted, folded, kept, last_name, text_of
from loop_close.testcode.outcomes import holds, operator_of, truth

_FLIPPED = {"<": ">", "<=": ">=", ">": "<", ">=": "<="} | {op: op for op in ("==", "!=", "is", "is not")}
_NEGATED = {"==": "!=", "!=": "==", "is": "is not", "is not": "is", "in": "not in", "not in": "in"}
_NEGATED |= {"<": ">=", ">=": "<", ">": "<=", "<=": ">"}
_UNITTEST = {
    "assertNotEqual": "!=",
    "assertIs": "is",
    "assertIsNot": "is not",
    "assertIn": "in",
    "assertNotIn": "not in",
    "assertGreater": ">",
    "assertGreaterEqual": ">=",
    "assertLess": "<",
    "assertLessEqual": "<=",
}
_UNITTEST |= dict.fromkeys(
    (
        *(
            "assertEqual",
            "assertEquals",
            "assertListEqual",
            "assertDictEqual",
            "assertTupleEqual",
            "assertSetEqual",
        ),
        *("assertSequenceEqual", "assertMultiLineEqual", "assert_equal", "assert_array_equal"),
    ),
    "==",
)
_CLOSE = {"assertAlmostEqual", "isclose", "allclose", "assert_allclose", "assert_almost_equal"}
_MAX_ELEMENTS = 200
#: What pytest, unittest, math and numpy call close if nothing else is asked for.
_DEFAULT_CLOSE = {(1e-6, 1e-12), (0, 0.5 * 10.0**-7), (1e-9, 0), (1e-7, 0)}
_MAX_SHOWN = 100


def _built_in(kind: type[BaseException] = BaseException) -> Iterator[tuple[str, frozenset[str]]]:
    yield kind.__name__, frozenset(base.__name__ for base in kind.__mro__)
    for derived in kind.__subclasses__():
        if derived.__module__ == "builtins":
            yield from _built_in(derived)


#: The built-in exceptions by name, each with the names of itself and its bases.
BASES: dict[str, frozenset[str]] = dict(_built_in()) | {
    "IOError": frozenset({"OSError", "IOError"}),
    "EnvironmentError": frozenset({"OSError"}),
}


@dataclass(frozen=True, slots=True)
class Demand:
    """One thing that has to hold for a test to pass.

    :ivar subject: what is tested, normalized; ``expected`` what it is compared with.
    :ivar value: the expected literal; ... if it is none. Of an exception, the pattern of its message.
    :ivar tolerance: relative and absolute, of a comparison that is not exact.
    :ivar text: the statement as it is written, at ``line``.
    :ivar guards: conditions under which alone it is reached.
    """

    op: str
    subject: str
    expected: str = ""
    value: Any = field(default=..., compare=False)
    tolerance: tuple[Any, Any] = field(default=(0, 0), compare=False)
    text: str = field(default="", compare=False)
    line: int = field(default=0, compare=False)
    guards: frozenset[str] = field(default=frozenset(), compare=False)

    @property
    def shown(self) -> str:
        """The demand as an expression, or as it is written if that is shorter."""
        full = self.normal
        is_clear = len(full) <= _MAX_SHOWN and not re.search(r"long_|each\(|fstring\(", full)
        return full if is_clear or not self.text else self.text

    @property
    def normal(self) -> str:
        """The demand as an expression, its names replaced by their values."""
        if self.op in ("runs", "call"):
            return self.subject
        if self.op == "drawn":
            return f"given {self.subject}"
        if self.op == "raises":
            return f"raises {self.expected}: {self.subject}"
        if self.op in ("truthy", "falsy"):
            return self.subject if self.op == "truthy" else f"not {self.subject}"
        if self.op == "isinstance":
            return f"isinstance({self.subject}, {self.expected})"
        if self.op == "~=":
            return f"{self.subject} == approx({self.expected})"
        return f"{self.subject} {self.op} {self.expected}"


@dataclass
class TestAnalysis:
    """What was found out about a test.

    :ivar dead: demands without effect, each with the reason in words.
    :ivar stops: what skips it or lets it be expected to fail, in words.
    :ivar patched: what it replaces, ``shop.total``, with the statement that does.
    :ivar made: the calls that it makes, normalized, with what lets it pass whatever comes of them.
    :ivar void: its assertions that always hold.
    :ivar contexts: by guard, the context managers and decorators of the code under test that may swallow its failure.
    :ivar excess: a digest, if the test is too large to be followed.
    """

    demands: list[Demand] = field(default_factory=list)
    dead: list[tuple[Demand, str]] = field(default_factory=list)
    stops: dict[str, str] = field(default_factory=dict)
    patched: dict[str, str] = field(default_factory=dict)
    made: list[tuple[ast.expr, str]] = field(default_factory=list)
    void: list[str] = field(default_factory=list)
    contexts: dict[str, str] = field(default_factory=dict)
    excess: str = ""
    steps: int = 0
    is_brief: bool = False

    @cached_property
    def calls(self) -> list[str]:
        """What it runs, as text."""
        subjects = [side for demand in self.demands for side in (demand.subject, demand.expected)]
        return [*subjects, *(text_of(call) for call, why in self.made if not why)]


def demands_of(test: ast.expr, positive: bool = True) -> list[Demand]:
    """What has to hold for a normalized expression to be true.

    :param positive: False if it has to be false.
    :returns: empty if it always holds. ``False`` as a demand is one that always fails.
    """
    always = truth(test)
    if always is not None:
        return [] if always is positive else [Demand("truthy", "False")]
    match test:
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            return demands_of(operand, not positive)
        case ast.BoolOp(op=op, values=values):
            if isinstance(op, ast.And) is positive:
                return [demand for part in values for demand in demands_of(part, positive)]
            return _either([demands_of(part, positive) for part in values])
        case ast.Compare(left=left, ops=ops, comparators=others):
            sides = [left, *others]
            pairs = [(sides[i], operator_of(op), sides[i + 1]) for i, op in enumerate(ops)]
            if positive or len(pairs) == 1:
                return [d for a, op, b in pairs for d in compared(a, op if positive else _NEGATED[op], b)]
        case ast.Call(
            func=ast.Name(id="all" | "any" as name), args=[ast.List(elts=parts) | ast.Tuple(elts=parts)]
        ) if not any(isinstance(part, ast.Starred) for part in parts):
            options = [demands_of(part, positive) for part in parts]
            return [d for o in options for d in o] if (name == "all") is positive else _either(options)
        case ast.Call(func=ast.Name(id="all"), args=[ast.GeneratorExp(elt=elt) | ast.ListComp(elt=elt)]) if (
            positive
        ):
            return demands_of(elt)
        case ast.Call() if positive:
            return of_call(test) or [Demand("truthy", text_of(test))]
    return [Demand("truthy" if positive else "falsy", text_of(test))]


def _either(options: list[list[Demand]]) -> list[Demand]:
    if any(not option for option in options):
        return []
    keys = {(d.op, d.subject, d.expected) for option in options for d in option if len(option) == 1}
    if any((_opposite(op), subject, expected) in keys for op, subject, expected in keys):
        return []  # x or not x
    for option in options:
        rest = [other for other in options if other is not option]
        if len(option) == 1 and any(all(implies(option[0], d) for d in other) for other in rest):
            return _either(rest)  # x == 3 or x > 2
    shown = sorted(" and ".join(d.normal for d in option) for option in options)
    return options[0] if len(set(shown)) == 1 else [Demand("truthy", " or ".join(shown))]


def _opposite(op: str) -> str:
    return {"truthy": "falsy", "falsy": "truthy"}.get(op) or _NEGATED.get(op, "")


def side(node: ast.expr) -> str:
    """The text of a side of a comparison, in brackets if it needs them."""
    is_loose = isinstance(node, (ast.Compare, ast.BoolOp, ast.Lambda, ast.IfExp, ast.NamedExpr))
    is_loose |= isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not)
    return f"({text_of(node)})" if is_loose else text_of(node)


def compared(left: ast.expr, op: str, right: ast.expr) -> list[Demand]:
    """What a comparison demands; a sequence compared with a literal one is split into its elements."""
    if op in _FLIPPED and _rank(left) > _rank(right):
        left, op, right = right, _FLIPPED[op], left
    here, there = side(left), side(right)
    if op in ("==", "!=", "is") and here > there and _rank(left) == _rank(right):
        left, right, here, there = right, left, there, here
    if op in ("==", "is", ">=", "<=") and here == there:  # by chance alone it may fail
        return [Demand(op, here, there)] if constant(left) is ... else []
    if "ANY" in (last_name(right), dotted(left)) and op == "==":
        return []
    if op == "==" and isinstance(left, (ast.Tuple, ast.List)) and isinstance(right, (ast.Tuple, ast.List)):
        is_whole = not any(isinstance(e, ast.Starred) for e in (*left.elts, *right.elts))
        if is_whole and len(left.elts) == len(right.elts):
            return [d for a, b in zip(left.elts, right.elts, strict=True) for d in compared(a, op, b)]
    if op == "==" and isinstance(left, ast.Dict) and isinstance(right, ast.Dict):
        known, wanted = _items(left), _items(right)
        if known is not None and wanted is not None and known.keys() == wanted.keys():
            return [d for key in known for d in compared(known[key], op, wanted[key])]
    if op == "==" and isinstance(right, ast.Call) and last_name(right) == "approx" and right.args:
        return [_close(left, right.args[0], _tolerance(right, 1, 1e-6, 1e-12, ("rel", "abs")))]
    match left, op:  # abs(a - b) < 0.1
        case ast.Call(func=ast.Name(id="abs"), args=[ast.BinOp(left=a, op=ast.Sub(), right=b)]), "<" | "<=":
            return [_close(a, b, (0, _literal(right)))]
        case ast.Call(func=ast.Name(id="type"), args=[subject]), "is" | "==":
            return [Demand("isinstance", text_of(subject), there)]
        case ast.Call(func=ast.Name(id="bool"), args=[subject]), "is" | "==" if constant(right) in (
            True,
            False,
        ):
            return demands_of(subject, bool(constant(right)))
    both = constant(left), constant(right)
    if ... not in both:
        is_true = holds(both[0], op, both[1])
        if is_true is not None:
            return [] if is_true else [Demand("truthy", "False")]
    return [
        Demand(op, here, there, constant(right) if op not in ("in", "not in") or both[0] is ... else both[0])
    ]


def _items(node: ast.Dict) -> dict[str, ast.expr] | None:
    if any(key is None for key in node.keys):
        return None
    return {text_of(key): value for key, value in zip(node.keys, node.values, strict=True) if key is not None}


@kept
def _rank(node: ast.expr) -> int:
    """How much an expression looks like the expected side: a literal more than what is called."""
    if constant(node) is not ...:
        return 3
    names, called = 0, []
    for inner in ast.walk(node):
        names += isinstance(inner, (ast.Name, ast.Attribute))
        if isinstance(inner, ast.Call):
            called.append(last_name(inner.func))
    built = ("approx", "set", "dict", "list", "tuple", "frozenset")
    if all(name[:1].isupper() or name in built for name in called):
        is_built = names <= len(called) or (bool(called) and called[0] == "approx")
        return 2 if is_built else 1 if not called else 0
    return 0


def _literal(node: ast.expr | None) -> Any:
    value = constant(node)
    return value if value is not ... else ("" if node is None else text_of(node))


def _tolerance(call: ast.Call, skip: int, rel: Any, absolute: Any, names: Sequence[str]) -> tuple[Any, Any]:
    given = {keyword.arg: _literal(keyword.value) for keyword in call.keywords}
    given |= {name: _literal(arg) for name, arg in zip(names, call.args[skip:], strict=False)}
    if names[0] not in given and names[1] in given and names == ("rel", "abs"):
        rel = 0  # an absolute tolerance alone replaces the relative one
    return given.get(names[0], rel), given.get(names[1], absolute)


def _close(left: ast.expr, right: ast.expr, tolerance: tuple[Any, Any]) -> Demand:
    if _rank(left) > _rank(right):
        left, right = right, left
    return Demand("~=", text_of(left), text_of(right), constant(right), tolerance)


def of_call(call: ast.Call) -> list[Demand] | None:
    """What a call of an assertion demands: of unittest, of mocks, of numpy; None if it is not an assertion.

    An assertion that always holds gives an empty list.
    """
    name = last_name(call.func) or (call.func.attr if isinstance(call.func, ast.Attribute) else "")
    args = [
        *call.args,
        *(k.value for k in call.keywords if k.arg in ("first", "second", "expr", "member", "container")),
    ]
    match name, args:
        case _, [first, second, *_] if name in _UNITTEST:
            return compared(first, _UNITTEST[name], second)
        case (("assertTrue" | "assertFalse"), [first, *_]):
            return demands_of(first, name == "assertTrue")
        case (("assertIsNone" | "assertIsNotNone"), [first, *_]):
            return compared(first, "is" if name == "assertIsNone" else "is not", ast.Constant(None))
        case (("isinstance" | "assertIsInstance"), [first, second, *_]):
            return [Demand("isinstance", text_of(first), text_of(second))]
        case "assertCountEqual", [first, second, *_]:
            sides = [folded(ast.Call(ast.Name("sorted"), [side], [])) for side in (first, second)]
            return compared(sides[0], "==", sides[1])
        case "assertRegex", [first, second, *_]:
            return [Demand("truthy", f"search({text_of(second)}, {text_of(first)})")]
        case (("assertRaises" | "assertRaisesRegex" | "raises" | "warns"), [kind, function, *rest]) if (
            not isinstance(function, ast.Constant)
        ):
            return [raising(kind, ast.Call(function, rest, call.keywords))]
        case (("assertAlmostEqual" | "assertAlmostEquals" | "assert_almost_equal"), [first, second, *_]):
            delta = next((_literal(k.value) for k in call.keywords if k.arg == "delta"), None)
            places = _tolerance(call, 2, 7, 0, ("places", "msg"))[0]
            wide = delta if delta is not None else 0.5 * 10.0**-places if isinstance(places, int) else places
            return [_close(first, second, (0, wide))]
        case _, [first, second, *_] if name in _CLOSE:
            names = ("rel_tol", "abs_tol") if name == "isclose" else ("rtol", "atol")
            return [_close(first, second, _tolerance(call, 2, 1e-9 if name == "isclose" else 1e-7, 0, names))]
        case "fail", _:
            return [Demand("truthy", "False")]
    if re.match(r"assert|expect(?:_|$)", name):
        return [Demand("call", text_of(call))]
    return None


def raising(kind: ast.expr | None, body: ast.AST | None, match: ast.expr | None = None) -> Demand:
    """The demand that something raises an exception."""
    expected = text_of(kind) if kind is not None else "Exception"
    return Demand("raises", text_of(body) if body is not None else "", expected, _literal(match) or ...)


def elements(demand: Demand) -> Iterator[Demand]:
    """What the elements of a literal have to be for the whole to be equal to it."""
    if demand.op != "==" or not isinstance(demand.value, (tuple, list, dict)):
        return
    is_dict = isinstance(demand.value, dict)
    items = demand.value.items() if isinstance(demand.value, dict) else enumerate(demand.value)
    for key, item in items if len(demand.value) <= _MAX_ELEMENTS else ():
        shown = f"{demand.subject}[{key!r}]" if is_dict else f"{demand.subject}[{key}]"
        yield replace(demand, subject=shown, expected=repr(item), value=item)


def consequences(demand: Demand) -> Iterator[Demand]:
    """What else is demanded by it: of each element of a container, of the message of an exception."""
    yield from elements(demand)
    if demand.op == "raises" and isinstance(demand.value, str):
        pattern, message = demand.value, "str(caught.value)"
        inner = pattern.removeprefix("^").removesuffix("$")
        text = re.sub(r"\\(.)", r"\1", inner)
        if text == inner or re.escape(text) in pattern:
            if pattern.startswith("^") and pattern.endswith("$"):
                yield replace(demand, op="==", subject=message, expected=repr(text), value=text)
            yield replace(demand, op="in", subject=repr(text), expected=message, value=text)


def implies(strong: Demand, weak: Demand) -> bool:
    """Whether what the first demands includes what the second does, guards aside."""
    if strong == weak:
        return is_narrower(strong, weak)
    if strong.subject != weak.subject:
        return _implies_other(strong, weak)
    if weak.op == "raises":
        return strong.op == "raises" and is_narrower(strong, weak)
    if weak.op == "~=":
        return strong.op in ("==", "is") and strong.expected == weak.expected
    if strong.op in ("==", "is") and strong.value is not ...:
        if weak.op in ("truthy", "falsy"):
            return bool(strong.value) is (weak.op == "truthy")
        if weak.op == "isinstance":
            return type(strong.value).__name__ == weak.expected
        if weak.value is not ...:
            return holds(strong.value, weak.op, weak.value) is True
    if strong.op == "is" and weak.op == "==":
        return strong.expected == weak.expected
    if weak.op == "is not" and weak.value is None:
        return strong.op in ("isinstance", "truthy", "<", ">", "<=", ">=", "~=") or (
            strong.op == "==" and strong.value is not None
        )
    is_order = strong.op in ("<", ">", "<=", ">=") and weak.op[:1] == strong.op[:1]
    if is_order and ... not in (strong.value, weak.value):
        is_inside = holds(strong.value, weak.op, weak.value)
        return is_inside is True or (strong.value == weak.value and weak.op.startswith(strong.op))
    return False


def _implies_other(strong: Demand, weak: Demand) -> bool:
    if strong.op == "==" and isinstance(strong.value, (str, list, tuple, dict, set)):
        if weak.op in ("in", "not in") and weak.expected == strong.subject and weak.value is not ...:
            return holds(weak.value, weak.op, strong.value) is True
        if weak.subject == f"len({strong.subject})" and weak.value is not ...:
            return holds(len(strong.value), weak.op, weak.value) is True
        return any(implies(element, weak) for element in elements(strong) if element.subject == weak.subject)
    return False


def is_narrower(strong: Demand, weak: Demand) -> bool:
    """Whether a tolerance is not wider, and an exception not more general, than that of the other demand."""
    if weak.op == "raises":
        is_longer = strong.value is not ... and str(weak.value).strip("^$") in str(strong.value)
        is_matched = weak.value is ... or strong.value == weak.value or is_longer
        kinds = set(_kinds(weak.expected)) | _derived(strong, weak)
        return is_matched and set(_kinds(strong.expected)) <= kinds
    (rel, absolute), (rel_was, abs_was) = strong.tolerance, weak.tolerance
    if strong.tolerance == weak.tolerance or {strong.tolerance, weak.tolerance} <= _DEFAULT_CLOSE:
        return True
    try:
        size = abs(weak.value) if isinstance(weak.value, (int, float)) else 1
        return bool(max(rel * size, absolute) <= max(rel_was * size, abs_was) * (1 + 1e-9))
    except TypeError:
        return False


def _kinds(expected: str) -> list[str]:
    return re.findall(r"\w+", expected)


#: Names that no rename explains.
_WORDS = (
    "any all len sorted set list min max sum round abs int str float bool tuple dict isinstance True False None"
    " approx ANY type not and or in is repr bytes frozenset range zip iter next hash id each entered caught"
)
BUILT_IN = frozenset(BASES) | set(_WORDS.split())


def _derived(strong: Demand, weak: Demand) -> set[str]:
    """Those of the exceptions that are a case of what was expected; of one that is not built in, only of Exception."""
    wide, general = set(_kinds(weak.expected)), frozenset({"Exception", "BaseException"})
    return {name for name in _kinds(strong.expected) if BASES.get(name, general) & wide}


def same_start(one: Sequence[str], other: Sequence[str]) -> int:
    """The number of items, or characters, that two sequences have in common from their start."""
    pairs = enumerate(zip(one, other, strict=False))
    return next((index for index, (a, b) in pairs if a != b), min(len(one), len(other)))


def apart(was: str, now: str) -> tuple[str, str]:
    """Parts of two long texts around their first difference."""
    place = same_start(was, now)
    start = max(0, place - 20) if max(len(was), len(now)) > 80 else 0
    cut = [("…" if start else "") + text[start : start + 80] for text in (was, now)]
    return cut[0], cut[1]


def became(wanted: Demand, found: Demand) -> str:
    """What is demanded now in place of what was, in a clause."""
    one, two = apart(wanted.subject, found.subject)
    if wanted.text == found.text and wanted.expected == found.expected and one != two:
        return f"`{wanted.text}` is about `{two}` where it was about `{one}`"
    is_short = max(len(wanted.expected), len(found.expected)) < 80
    if wanted.op == found.op == "==" and is_short:
        if wanted.subject == found.subject:
            return f"expects {found.expected} where it expected {wanted.expected}: `{wanted.subject[:80]}`"
        if wanted.subject == found.expected:
            return (
                f"expects {found.subject[:80]} where it expected {wanted.expected}: `{wanted.subject[:80]}`"
            )
    if wanted.op == found.op == "raises":
        if found.expected != wanted.expected:
            return f"expects {found.expected} where it expected {wanted.expected}"
        if found.value != wanted.value:
            return f"no longer matches {wanted.value!r}: `{wanted.shown}`"
    if wanted.op == found.op == "~=" and wanted.expected == found.expected:
        sides = (f"rel={t[0]}, abs={t[1]}" for t in (found.tolerance, wanted.tolerance))
        return "compares with tolerance {} where it was {}".format(*sides) + f": `{wanted.subject}`"
    if wanted.shown != found.shown:
        return f"`{wanted.shown}` became `{found.shown}`"
    one, two = apart(wanted.normal, found.normal)
    if one == two:
        return f"`{wanted.shown}` demands something else than before"
    return f"`{wanted.shown}` is about `{two}` where it was `{one}`"
