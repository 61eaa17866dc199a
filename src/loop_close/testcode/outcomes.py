"""What an expression can come out as, whatever the code under test does: so that a demand that always holds is seen."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Iterator, Mapping
from itertools import product
from typing import Any

from loop_close.testcode.nodes import constant, text_of

Outcomes = tuple[Any, ...]
_BOTH: Outcomes = (True, False)
_MAX_OUTCOMES = 64
_OPERATORS: dict[type[ast.cmpop], str] = {
    ast.Eq: "==",
    ast.NotEq: "!=",
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
    ast.Is: "is",
    ast.IsNot: "is not",
    ast.In: "in",
    ast.NotIn: "not in",
}
_HOLDS: dict[str, Callable[[Any, Any], Any]] = {
    "==": lambda a, b: a == b and isinstance(a, bool) == isinstance(b, bool),
    "is": lambda a, b: a == b and isinstance(a, bool) == isinstance(b, bool),
    "!=": operator.ne,
    "is not": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "in": lambda a, b: a in b,
    "not in": lambda a, b: a not in b,
}
_BINARY: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.BitOr: operator.or_,
    ast.BitAnd: operator.and_,
    ast.BitXor: operator.xor,
    ast.Add: operator.add,
    ast.Sub: operator.sub,
}
_UNARY: dict[str, Callable[..., Any]] = {
    kind.__name__: kind for kind in (int, float, bool, str, repr, abs, max, min)
}


def operator_of(op: ast.cmpop) -> str:
    """The operator as it is written."""
    return _OPERATORS[type(op)]


def holds(left: Any, op: str, right: Any) -> bool | None:
    """Whether a comparison of two values is true; None if they cannot be compared."""
    try:
        return bool(_HOLDS[op](left, right))
    except (TypeError, ValueError):
        return None


def truth(node: ast.expr, assumed: Mapping[str, bool] | None = None) -> bool | None:
    """Whether a normalized expression is always true or always false; None if it depends on the code under test."""
    found = outcomes(node, assumed)
    if found is not None:
        return bool(found[0]) if len({bool(value) for value in found}) == 1 else None
    match node:
        case ast.BoolOp(op=op, values=values):
            is_or = isinstance(op, ast.Or)
            return is_or if any(truth(value, assumed) is is_or for value in values) else None
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            inner = truth(operand, assumed)
            return None if inner is None else not inner
        case ast.IfExp(test=test, body=body, orelse=orelse):
            ways = {
                truth(way, {**(assumed or {}), text_of(test): is_so})
                for way, is_so in ((body, True), (orelse, False))
                if truth(test, assumed) is not (not is_so)
            }
            return ways.pop() if len(ways) == 1 else None
        case ast.BinOp(left=ast.List(elts=[_, *_]), op=ast.Mult(), right=ast.Constant(value=int() as times)):
            return times > 0
    return True if _is_something(node) else None


def _is_something(node: ast.expr) -> bool:
    """Whether an expression makes an object that is never false."""
    match node:
        case ast.Lambda() | ast.GeneratorExp():
            return True
        case ast.Tuple(elts=parts) | ast.List(elts=parts) | ast.Set(elts=parts):
            return any(not isinstance(part, ast.Starred) for part in parts)
        case ast.Dict(keys=keys):
            return any(key is not None for key in keys)
        case ast.Call(func=ast.Name(id="id" | "repr" | "object" | "iter" | "type" | "format")):
            return True
        case ast.Call(func=ast.Name(id="fstring" | "str"), args=parts):
            return any(p.value != "" if isinstance(p, ast.Constant) else outcomes(p) for p in parts)
    return False


def outcomes(node: ast.expr, assumed: Mapping[str, bool] | None = None) -> Outcomes | None:
    """All values that a normalized expression can have; None if they are unknown, or too many.

    :param assumed: whether expressions hold, by their texts.
    """
    if assumed and text_of(node) in assumed:
        return (assumed[text_of(node)],)
    match node:
        case ast.Constant(value=value):
            return (value,)
        case ast.Name(id="NotImplemented"):
            return (NotImplemented,)
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            inner = truth(operand, assumed)
            return _BOTH if inner is None else (not inner,)
        case ast.IfExp() | ast.BoolOp():
            return _chosen(node, assumed or {})
        case ast.Compare(left=left, ops=[op], comparators=[right]):
            return _compared(left, operator_of(op), right, assumed)
        case ast.Compare():
            return _BOTH
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _BINARY:
            return _combined(_BINARY[type(op)], [outcomes(left, assumed), outcomes(right, assumed)])
        case ast.Call(func=ast.Name(id=name), args=args, keywords=[]):
            return _of_call(name, args, assumed)
    is_literal = isinstance(node, (ast.Tuple, ast.List, ast.Set, ast.Dict, ast.UnaryOp))
    literal = constant(node) if is_literal else ...
    return None if literal is ... else (literal,)


def _chosen(node: ast.IfExp | ast.BoolOp, assumed: Mapping[str, bool]) -> Outcomes | None:
    """Of ``a if b else c``, ``a or b`` and ``a and b``."""
    found: list[Any] = []
    if isinstance(node, ast.IfExp):
        decided = truth(node.test, assumed)
        for way, is_so in ((node.body, True), (node.orelse, False)):
            if decided is None or decided is is_so:
                values = outcomes(way, {**assumed, text_of(node.test): is_so})
                if values is None:
                    return None
                found += values
        return tuple(found)[:_MAX_OUTCOMES]
    is_or, known = isinstance(node.op, ast.Or), dict(assumed)
    for index, part in enumerate(node.values):
        values = outcomes(part, known)
        if values is None:
            return None
        is_last = index + 1 == len(node.values)
        found += [value for value in values if bool(value) is is_or or is_last]
        if all(bool(value) is is_or for value in values):
            break
        known[text_of(part)] = not is_or
    return tuple(dict.fromkeys(map(bool, found))) if len(found) > _MAX_OUTCOMES else tuple(found)


def _compared(
    left: ast.expr, op: str, right: ast.expr, assumed: Mapping[str, bool] | None
) -> Outcomes | None:
    one, two = outcomes(left, assumed), outcomes(right, assumed)
    if one is not None and two is not None and len(one) * len(two) <= _MAX_OUTCOMES:
        return _combined(lambda a, b: holds(a, op, b), [one, two])
    match left:
        case ast.Call(func=ast.Name(id="type"), args=[inner]) if op in ("is", "==") and isinstance(
            right, ast.Name
        ):
            values = outcomes(inner, assumed)
            return None if values is None else tuple({type(value).__name__ == right.id for value in values})
    if two is not None and len(two) == 1 and type(two[0]) in (int, float) and _is_never_negative(left):
        is_always = two[0] <= 0 if op == ">=" else two[0] < 0 and op in (">", "!=")
        return (True,) if is_always else _BOTH
    return _BOTH


def _is_never_negative(node: ast.expr) -> bool:
    match node:
        case ast.Call(func=ast.Name(id="len" | "abs" | "id")):
            return True
        case ast.Call(func=ast.Name(id="sum"), args=[ast.List(elts=parts) | ast.Tuple(elts=parts)]):
            values = [outcomes(part) for part in parts]
            known = [each for value in values for each in value or (None,)]
            return all(isinstance(each, (int, float)) and each >= 0 for each in known)
    return False


def _combined(function: Callable[..., Any], options: list[Outcomes | None]) -> Outcomes | None:
    """What a function gives for every combination of values."""
    found: list[Any] = []
    count = 1
    for option in options:
        count *= len(option) if option is not None else _MAX_OUTCOMES + 1
    for values in product(*(option or () for option in options)) if count <= _MAX_OUTCOMES else ():
        if any(isinstance(value, (str, bytes, list, tuple, dict)) and len(value) > 1000 for value in values):
            return None
        try:
            found.append(function(*values))
        except Exception:  # it would raise in the test as well
            return None
    return tuple(found) if found and None not in found else None


def _of_call(name: str, args: list[ast.expr], assumed: Mapping[str, bool] | None) -> Outcomes | None:
    match name, args:
        case (("any" | "all"), [ast.List(elts=parts) | ast.Tuple(elts=parts) | ast.Set(elts=parts)]):
            is_any, found = name == "any", list(_truths(parts, assumed))
            if is_any in found:
                return (is_any,)
            return (not is_any,) if all(known is (not is_any) for known in found) else _BOTH
        case "all", [ast.GeneratorExp(elt=elt, generators=[*_, ast.comprehension(ifs=conditions)])]:
            return (True,) if text_of(elt) in map(text_of, conditions) else _BOTH
        case "isinstance", [inner, ast.Name(id=kind)]:
            values = outcomes(inner, assumed)
            kinds = [{base.__name__ for base in type(value).__mro__} for value in values or ()]
            return tuple({kind in bases for bases in kinds}) if values else _BOTH
        case "bool", [inner]:
            known = truth(inner, assumed)
            return _BOTH if known is None else (known,)
        case (("any" | "all" | "isinstance" | "issubclass" | "callable" | "hasattr"), _):
            return _BOTH
        case "len", [ast.List(elts=parts) | ast.Tuple(elts=parts)]:
            return None if any(isinstance(part, ast.Starred) for part in parts) else (len(parts),)
        case "sum", [ast.List(elts=parts) | ast.Tuple(elts=parts)]:
            return _combined(lambda *values: sum(values), [outcomes(part, assumed) for part in parts])
        case _ if name in _UNARY and args:
            return _combined(_UNARY[name], [outcomes(arg, assumed) for arg in args])
    return None


def _truths(parts: list[ast.expr], assumed: Mapping[str, bool] | None) -> Iterator[bool | None]:
    return (None if isinstance(part, ast.Starred) else truth(part, assumed) for part in parts)
