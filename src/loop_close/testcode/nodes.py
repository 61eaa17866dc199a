"""Small questions about syntax trees, and expressions that are kept short."""

from __future__ import annotations

import ast
import copy
import re
import textwrap
from collections.abc import Callable, Iterator, Mapping, Sequence
from hashlib import blake2b
from http import HTTPStatus
from itertools import product
from typing import Any, TypeVar

#: A string or number in the text of an expression.
LITERAL = re.compile(r"\"(?:[^\"\\]|\\.)*\"|'(?:[^'\\]|\\.)*'|\b\d[\w.]*")
TOO_LARGE, TOO_DEEP = "is too large to be compared", "is nested too deeply to be compared"
Found = TypeVar("Found")
#: The values of names.
Env = dict[str, ast.expr]
_LISTED = (ast.List, ast.Tuple)
# Calls whose result is empty, or false, without arguments or for an empty one.
_EMPTY = {"range", "list", "tuple", "dict", "set", "iter", "bool"}
_MAX_TEXT = 2_000_000
_MAX_SIZE = 120
_MAX_ROWS = 300
#: The most rounds of a loop that are followed one by one.
MAX_LOOP = 60


def parse(text: str) -> ast.Module | str:
    """The syntax tree; in words why there is none."""
    if len(text) > _MAX_TEXT:
        return TOO_LARGE
    try:
        return ast.parse(text)
    except (RecursionError, MemoryError):
        return TOO_DEEP
    except (SyntaxError, ValueError) as error:
        return TOO_DEEP if "too many nested" in str(error) else "is not Python any more"


def dotted(node: ast.AST | None) -> str:
    """``pytest.mark.skip`` of the expression, without the arguments of calls; empty for anything else."""
    parts: list[str] = []
    while True:
        if isinstance(node, ast.Call):
            node = node.func
        elif isinstance(node, ast.Attribute):
            parts.append(node.attr)
            node = node.value
        elif isinstance(node, ast.Name):
            return ".".join([node.id, *reversed(parts)])
        else:
            return ""


def last_name(node: ast.AST | None) -> str:
    """``skip`` of ``pytest.mark.skip``; empty for anything else than a dotted name."""
    return dotted(node).rpartition(".")[2]


def exception_names(node: ast.expr | None) -> list[str]:
    """The names of exceptions, without their modules."""
    if isinstance(node, ast.Tuple):
        return [name for element in node.elts for name in exception_names(element)]
    return [last_name(node) if node is not None else ""]


def argument_names(node: ast.expr | None) -> list[str]:
    """The names of a ``parametrize``: words of a text, or the items of a list."""
    value = constant(node)
    if isinstance(value, str):
        return [name.strip() for name in value.split(",") if name.strip()]
    return [str(name) for name in value] if isinstance(value, (list, tuple)) else []


def constant(node: ast.AST | None) -> object:
    """The value of a literal, or of a name or expression that is always true or false; ... if it is not one."""
    if isinstance(node, ast.Constant):
        return node.value
    if node is None or isinstance(node, (ast.Name, ast.Attribute, ast.Compare)):
        return ...
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        value = constant(node.operand)
        return ... if value is ... else not value
    if isinstance(node, ast.BoolOp):
        values = [constant(value) for value in node.values]
        is_or = isinstance(node.op, ast.Or)
        if any(value is not ... and bool(value) is is_or for value in values):
            return is_or
        return ... if ... in values else not is_or
    if isinstance(node, ast.Call) and dotted(node.func) in _EMPTY:
        is_empty = all(isinstance(arg, ast.Constant) and arg.value in (0, "") for arg in node.args)
        return () if is_empty and not node.keywords else ...
    if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Slice):
        ends = [None if end is None else _exact(end) for end in (node.slice.lower, node.slice.upper)]
        return () if ends[1] == 0 and ends[0] is None else ...
    if isinstance(node, ast.Lambda):
        return True
    return _exact(node) if isinstance(node, ast.expr) else ...


def text_of(node: ast.AST) -> str:
    """The expression as source, kept on the node: no node of a normalized expression is changed again."""
    known: str | None = getattr(node, "_text", None)
    if known is None:
        match node:
            case ast.Name(id=name):
                return name
            case ast.Attribute(value=ast.Name() | ast.Attribute() | ast.Call() as owner, attr=attr):
                known = f"{text_of(owner)}.{attr}"
            case ast.Call(func=ast.Name() | ast.Attribute() as function, args=args, keywords=[]) if not any(
                isinstance(arg, (ast.Starred, ast.GeneratorExp, ast.NamedExpr)) for arg in args
            ):
                known = f"{text_of(function)}({', '.join(map(text_of, args))})"
            case _:
                try:
                    known = ast.unparse(node)
                except (
                    ValueError,
                    TypeError,
                    AttributeError,
                ):  # before 3.12 not every f-string can be written
                    known = f"<{_digest(ast.dump(node))}>"
        node._text = known  # type: ignore[attr-defined]
    return known


def kept(function: Callable[[Any], Found]) -> Callable[[Any], Found]:
    """A question about a node whose answer is kept on the node."""
    name = f"_{function.__name__}"

    def answer(node: Any) -> Found:
        found: Found | None = getattr(node, name, None)
        if found is None:
            found = function(node)
            setattr(node, name, found)
        return found

    return answer


@kept
def short(node: ast.AST) -> str:
    """The first line of a statement, bounded."""
    text = ast.unparse(node).partition("\n")[0].rstrip(":")
    return text if len(text) <= 120 else text[:119] + "…"


def each(iterated: ast.expr) -> ast.expr:
    """Stand for any element."""
    return ast.Call(ast.Name("each"), [iterated], [])


def written_elements(value: ast.expr) -> list[ast.expr] | None:
    """The elements of an iterable that is written out; None if they are unknown."""
    if isinstance(value, (ast.Tuple, ast.List, ast.Set)):
        return None if any(isinstance(e, ast.Starred) for e in value.elts) else list(value.elts)
    match value:
        case ast.Call(func=ast.Name(id="range"), args=[ast.Constant(value=int() as stop)]) if (
            stop <= MAX_LOOP
        ):
            return [ast.Constant(i) for i in range(stop)]
        case ast.Call(func=ast.Name(id="enumerate"), args=[inner]):
            items = written_elements(inner)
            pairs = enumerate(items or [])
            return None if items is None else [ast.Tuple([ast.Constant(i), item]) for i, item in pairs]
        case ast.Call(func=ast.Name(id="zip"), args=[first, second]):
            one, two = written_elements(first), written_elements(second)
            if one is not None and two is not None:
                return [ast.Tuple([a, b]) for a, b in zip(one, two, strict=False)]
        case ast.Call(func=ast.Attribute(value=ast.Dict(keys=keys, values=values), attr="items"), args=[]):
            if all(keys):
                return [ast.Tuple([k, v]) for k, v in zip(keys, values, strict=True) if k is not None]
        case ast.Call(func=ast.Name(id="list" | "tuple" | "sorted" | "reversed"), args=[inner]):
            return written_elements(inner)
    return [] if constant(value) in ((), [], {}, "") else None


def combined(rows: list[list[Env]]) -> Iterator[Env]:
    """Every combination of parameters; of too many, each row with the first of the others."""
    count = 1
    for found in rows:
        count *= max(1, len(found))
    if any(not found for found in rows):
        return
    if count <= _MAX_ROWS:
        for combination in product(*rows):
            yield {name: value for row in combination for name, value in row.items()}
        return
    first = {name: value for found in rows for name, value in found[0].items()}
    for found in rows:
        yield from ({**first, **row} for row in found[:_MAX_ROWS])


def joined(one: Env, other: Env) -> Env:
    """The names after two ways, of which either may have been taken."""
    found = {}
    for name in one.keys() | other.keys():
        values = [env[name] for env in (one, other) if name in env]
        is_same = len({text_of(value) for value in values}) == 1 and len(values) == 2
        found[name] = values[0] if is_same else ast.Name("either")
    return found


@kept
def size_of(node: ast.AST) -> int:
    """How many nodes an expression has."""
    return 1 + sum(size_of(child) for child in ast.iter_child_nodes(node))


def copied(node: ast.expr) -> ast.expr:
    """A new node with the same parts."""
    new = copy.copy(node)
    for name in [name for name in vars(new) if name.startswith("_")]:
        del vars(new)[name]
    return new


def bounded(node: ast.expr) -> ast.expr:
    """The expression; if it is too long to carry along, its outer function with digests of words and literals."""
    # Their elements are bounded.
    is_listed = isinstance(node, (ast.List, ast.Tuple, ast.Set, ast.Dict, ast.BoolOp))
    if size_of(node) <= (_MAX_SIZE * 50 if is_listed else _MAX_SIZE):
        return node
    text = text_of(node)
    literals = LITERAL.findall(text)
    words, given = (_digest("".join(part)) for part in (LITERAL.split(text), literals))
    is_call = isinstance(node, ast.Call) and size_of(node.func) < _MAX_SIZE // 2
    function = node.func if is_call and isinstance(node, ast.Call) else ast.Name("long")
    return ast.Call(function, [ast.Name(f"long_{words}"), ast.Constant(given)], [])


def _digest(text: str) -> str:
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=6).hexdigest()


#: Built-in functions whose result for literals is a literal.
_PURE: dict[str, Callable[..., object]] = {f.__name__: f for f in (int, float, str, bool, list, tuple)}
_PURE |= {f.__name__: f for f in (len, abs, min, max, sum, sorted, round, repr, ord)}
# Of them those whose result does not depend on the order of a set.
_UNORDERED = (len, sorted, min, max, sum)
_METHODS = {
    *("upper", "lower", "strip", "lstrip", "rstrip", "title", "split", "splitlines", "join", "replace"),
    *("encode",),
}
_FORMATS = {"%": re.compile(r"(%[sdr%])"), "format": re.compile(r"(\{\w*\}|\{\{|\}\})")}
_MAX_FOLDED = 4_000


def literal(value: object) -> ast.expr | None:
    """A value as an expression; None if it is none of a literal, or too large."""
    text = repr(value)
    if len(text) > _MAX_FOLDED:
        return None
    try:
        return ast.parse(text, mode="eval").body if ast.literal_eval(text) == value else None
    except (ValueError, SyntaxError, TypeError):  # nan, an exception, a set in a set
        return None


def folded(node: ast.expr) -> ast.expr:
    """The value of an operation on literals; any other expression as it is."""
    match node:
        case ast.BinOp(left=ast.Constant(value=a), op=op, right=ast.Constant(value=b)):
            return _operated(a, op, b) or node
        case ast.BinOp(left=ast.Constant(value=str() as text), op=ast.Mod(), right=right):
            return _formatted("%", text, right.elts if isinstance(right, ast.Tuple) else [right], {}) or node
        case ast.BinOp(left=ast.List(elts=one), op=ast.Add(), right=ast.List(elts=two)):
            return ast.List([*one, *two]) if len(one) + len(two) < _MAX_FOLDED else node
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() | float() as number)) if number >= 0:
            return ast.Constant(-number)
        case ast.Subscript(value=ast.Tuple(elts=items) | ast.List(elts=items) as owner, slice=index):
            return _item(owner, items, index) or node
        case ast.Subscript(value=ast.Dict(keys=keys, values=values), slice=ast.Constant(value=wanted)):
            for key, value in zip(keys, values, strict=True):
                if isinstance(key, ast.Constant) and key.value == wanted:
                    return value
        case ast.JoinedStr(values=parts):
            return _joined_text(parts)
        case ast.Call():
            return _called(node) or node
    return node


def _operated(a: Any, op: ast.operator, b: Any) -> ast.expr | None:
    if isinstance(a, (int, float)) and isinstance(b, (int, float)) and max(abs(a), abs(b)) < 1e9:
        match op:
            case ast.Add():
                return ast.Constant(a + b)
            case ast.Sub():
                return ast.Constant(a - b)
            case ast.Mult():
                return ast.Constant(a * b)
    if isinstance(a, str) and isinstance(b, str) and isinstance(op, ast.Add):
        return ast.Constant(a + b) if len(a) + len(b) <= _MAX_FOLDED else None
    if isinstance(a, str) and isinstance(b, int) and isinstance(op, ast.Mult):
        return ast.Constant(a * b) if len(a) * b <= _MAX_FOLDED else None
    is_format = isinstance(a, str) and isinstance(op, ast.Mod)
    return _formatted("%", a, [ast.Constant(b)], {}) if is_format else None


def _item(owner: ast.expr, items: list[ast.expr], index: ast.expr) -> ast.expr | None:
    if any(isinstance(item, ast.Starred) for item in items):
        return None
    match index:
        case ast.Constant(value=int() as place):
            return items[place] if -len(items) <= place < len(items) else None
        case ast.Slice(lower=lower, upper=upper, step=None):
            ends = [None if end is None else constant(end) for end in (lower, upper)]
            start, stop = (end if isinstance(end, int) else None for end in ends)
            if all(end is None or type(end) is int for end in ends):
                kind = ast.Tuple if isinstance(owner, ast.Tuple) else ast.List
                return kind(items[start:stop])
    return None


def _joined_text(parts: Sequence[ast.expr]) -> ast.expr:
    """The parts of an f-string or another template, constants put together."""
    merged: list[ast.expr] = []
    for part in parts:
        if isinstance(part, ast.Constant) and merged and isinstance(merged[-1], ast.Constant):
            merged[-1] = ast.Constant(str(merged[-1].value) + str(part.value))
        elif not isinstance(part, ast.Constant) or part.value != "":
            merged.append(ast.Constant(str(part.value)) if isinstance(part, ast.Constant) else part)
    if len(merged) <= 1 and all(isinstance(part, ast.Constant) for part in merged):
        return merged[0] if merged else ast.Constant("")
    return ast.Call(ast.Name("fstring"), merged, [])


def _formatted(way: str, text: str, args: list[ast.expr], named: dict[str, ast.expr]) -> ast.expr | None:
    """What ``%`` and ``format`` make of a template that has no widths and no other directives."""
    parts: list[ast.expr] = []
    position = 0
    for index, piece in enumerate(_FORMATS[way].split(text)):
        if index % 2 == 0:
            if "%" in piece if way == "%" else set("{}") & set(piece):
                return None
            parts.append(ast.Constant(piece))
        elif piece in ("%%", "{{", "}}"):
            parts.append(ast.Constant(piece[0]))
        else:
            key = piece[1:-1] if way == "format" else ""
            found = named.get(key) if key and not key.isdigit() else None
            place = int(key) if key.isdigit() else position
            if found is None and (place >= len(args) or (key and not key.isdigit())):
                return None
            position += not key
            value = found if found is not None else args[place]
            if piece == "%r":
                value = folded(ast.Call(ast.Name("repr"), [value], []))
            elif not isinstance(value, ast.Constant) and constant(value) is not ...:
                value = ast.Constant(str(constant(value)))
            parts.append(value)
    return _joined_text(parts) if way == "format" or position == len(args) else None


def _exact(node: ast.expr) -> object:
    """The value of a literal; ... of anything else."""
    try:
        return ast.literal_eval(node)
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return ...


def _called(call: ast.Call) -> ast.expr | None:
    """The result of a call that is known: of a pure function for literals, of a template, of an attribute by name."""
    match call:
        case ast.Call(
            func=ast.Attribute(value=owner, attr="__eq__" | "__ne__" as name), args=[other], keywords=[]
        ):
            return ast.Compare(owner, [ast.Eq() if name == "__eq__" else ast.NotEq()], [other])
        case ast.Call(func=ast.Name(id="getattr"), args=[owner, ast.Constant(value=str() as name), *_]):
            return ast.Attribute(owner, name) if name.isidentifier() else None
        case ast.Call(func=ast.Attribute(value=ast.Constant(value=str() as text), attr="format"), args=args):
            named = {k.arg: k.value for k in call.keywords if k.arg is not None}
            return _formatted("format", text, args, named) if len(named) == len(call.keywords) else None
        case ast.Call(func=ast.Name(id="next"), args=[ast.Call(func=ast.Name(id="iter"), args=[inner])]):
            return _item(inner, inner.elts, ast.Constant(0)) if isinstance(inner, _LISTED) else None
        case ast.Call(
            func=ast.Name(id="list" | "tuple" as kind), args=[ast.List(elts=items) | ast.Tuple(elts=items)]
        ):
            return ast.List(items) if kind == "list" else ast.Tuple(items)
        case ast.Call(
            func=ast.Attribute(value=ast.Call(func=ast.Name(id="open"), args=[path, *mode]), attr="read"),
            args=[],
        ):
            is_binary = bool(mode) and "b" in str(constant(mode[0]))
            return ast.Call(ast.Attribute(path, "read_bytes" if is_binary else "read_text"), [], [])
        case ast.Call(func=ast.Name(id="dict"), args=[]) if all(k.arg for k in call.keywords):
            return ast.Dict([ast.Constant(k.arg) for k in call.keywords], [k.value for k in call.keywords])
        case ast.Call(func=ast.Name(id="dedent"), args=[ast.Constant(value=str() as text)], keywords=[]):
            return ast.Constant(textwrap.dedent(text))
        case ast.Call(keywords=[], args=args) if len(args) <= 4 and sum(map(size_of, args)) < _MAX_FOLDED:
            function: Callable[..., object] | None = None
            if isinstance(call.func, ast.Name):
                function = _PURE.get(call.func.id)
            elif isinstance(call.func, ast.Attribute) and call.func.attr in _METHODS:
                owner = call.func.value
                is_text = isinstance(owner, ast.Constant) and isinstance(owner.value, str)
                function = getattr(owner.value, call.func.attr) if is_text else None  # type: ignore[attr-defined]
            values = [_exact(arg) if function is not None else ... for arg in args]
            is_sized = not any(isinstance(v, (str, bytes)) and len(v) > _MAX_FOLDED for v in values)
            is_ordered = function in _UNORDERED or not any(isinstance(v, set) for v in values)
            if function is None or any(v is ... for v in values) or not (is_sized and is_ordered):
                return None
            try:
                return literal(function(*values))
            except Exception:
                return None
    return None


def is_failing(node: ast.stmt) -> bool:
    """Whether the statement always fails the test."""
    match node:
        case ast.Raise(exc=exc):
            return last_name(exc) == "AssertionError"
        case ast.Assert(test=ast.Constant(value=value)):
            return not value
        case ast.Expr(value=ast.Call(func=function)):
            return dotted(function) in ("pytest.fail", "self.fail", "fail")
    return False


def escapes(handler: ast.ExceptHandler) -> bool:
    """Whether the failure goes on from a handler: it raises, fails or keeps the exception for later."""
    for node in (inner for statement in handler.body for inner in ast.walk(statement)):
        if isinstance(node, (ast.Raise, ast.Assert)) and constant(getattr(node, "test", None)) is not True:
            return True
        if isinstance(node, ast.Call) and last_name(node.func) in ("fail", "append", "put"):
            return True
        if isinstance(node, ast.Call) and last_name(node.func).startswith("assert"):
            return True
    return False


def expression_of(node: ast.stmt) -> ast.expr | None:
    """The expression that a statement evaluates; of a compound one that of its last statement."""
    if isinstance(node, (ast.Expr, ast.Assign, ast.AnnAssign, ast.Return)):
        return node.value
    if isinstance(node, (ast.With, ast.AsyncWith, ast.For)) and node.body:
        return expression_of(node.body[-1])
    return None


def loaded(target: ast.expr) -> ast.expr:
    """The target of an assignment as an expression that reads it."""
    new = copied(target)
    if hasattr(new, "ctx"):
        new.ctx = ast.Load()
    return new


def http_status(name: str, imports: Mapping[str, tuple[str, str]]) -> ast.expr | None:
    """The number of ``HTTPStatus.OK``, the one of the standard library."""
    owner, _, member = name.partition(".")
    if imports.get(owner) == ("http", "HTTPStatus") and member in HTTPStatus.__members__:
        return ast.Constant(HTTPStatus[member].value)
    return None


# --- containers that a test fills: what they are known to hold, and when that is known no longer

#: Calls that change no argument.
PURE = {
    *("len", "sorted", "list", "tuple", "set", "dict", "frozenset", "sum", "min", "max", "str", "repr"),
    *("enumerate", "zip", "any", "all", "isinstance", "print", "reversed", "range", "bool", "type", "id"),
    *("iter", "dumps", "approx", "int", "float", "abs", "round", "map", "filter", "getattr", "hasattr"),
    *("fstring", "deepcopy", "next", "param"),
}
MUTATORS = {
    *("append", "extend", "insert", "pop", "remove", "clear", "update", "add", "discard", "setdefault"),
    *("popitem", "sort", "reverse", "appendleft", "popleft", "extendleft", "__setitem__"),
}
_MADE = {"list", "dict", "set", "defaultdict", "deque", "Counter", "OrderedDict", "bytearray", "after"}


def is_container(node: ast.AST | None) -> bool:
    """Whether an expression makes something that can be changed in place."""
    if isinstance(node, ast.Call):
        return isinstance(node.func, ast.Name) and node.func.id in _MADE
    return isinstance(node, (ast.List, ast.Dict, ast.Set, ast.ListComp, ast.DictComp, ast.SetComp))


def after(by: ast.expr) -> ast.expr:
    """What a container is after something that may have changed it."""
    return bounded(ast.Call(ast.Name("after"), [by], []))


def changed_by(old: ast.expr, method: str, call: ast.Call) -> ast.expr:
    """What a container is after a method changed it."""
    args = call.args if not call.keywords else []
    match old, method, args:
        case ast.List(elts=items), "append", [item]:
            return ast.List([*items, item])
        case ast.List(elts=items), "extend", [ast.List(elts=more) | ast.Tuple(elts=more)]:
            return ast.List([*items, *more])
        case ast.List(elts=items), "insert", [ast.Constant(value=int() as place), item]:
            new = list(items)
            new.insert(place, item)
            return ast.List(new)
        case ast.List(elts=items), "pop", [] if items:
            return ast.List(items[:-1])
        case ast.List(elts=items), "pop", [ast.Constant(value=int() as place)] if (
            -len(items) <= place < len(items)
        ):
            return ast.List([item for index, item in enumerate(items) if index != place % len(items)])
        case ast.List() | ast.Dict() | ast.Set(), "clear", []:
            return ast.Dict([], []) if isinstance(old, ast.Dict) else ast.List([])
        case ast.List(), "__setitem__", [
            ast.Slice(lower=None, upper=None, step=None),
            ast.List() as new_items,
        ]:
            return new_items
        case ast.Dict(keys=keys, values=values), "__setitem__", [ast.Constant() as key, item]:
            known = {k.value: v for k, v in zip(keys, values, strict=True) if isinstance(k, ast.Constant)}
            if len(known) == len(keys):
                known[key.value] = item
                return ast.Dict([ast.Constant(k) for k in known], list(known.values()))
    return after(call)


@kept
def changed_in(node: ast.AST) -> list[str]:
    """The names that something changes: by a method, by an item, as a variable around it."""
    found: list[str] = []
    for inner in ast.walk(node):
        match inner:
            case ast.Attribute(value=ast.Name(id=name), attr=attr) if attr in MUTATORS:
                found.append(name)
            case ast.Attribute(value=ast.Attribute(value=ast.Name(id="self"), attr=name), attr=attr) if (
                attr in MUTATORS
            ):
                found.append(f"self.{name}")
            case ast.Subscript(value=ast.Name(id=name), ctx=ast.Store() | ast.Del()):
                found.append(name)
            case ast.AugAssign(target=ast.Name(id=name)):
                found.append(name)
            case ast.Nonlocal(names=names) | ast.Global(names=names):
                found += names
    return list(dict.fromkeys(found))


@kept
def given_in(node: ast.AST) -> list[str]:
    """The names that something gives to a call that may change them."""
    calls = [inner for inner in ast.walk(node) if isinstance(inner, ast.Call)]
    args = [
        arg
        for call in calls
        if last_name(call.func) not in PURE
        for arg in (*call.args, *(keyword.value for keyword in call.keywords))
    ]
    return list(dict.fromkeys(arg.id for arg in args if isinstance(arg, ast.Name)))
