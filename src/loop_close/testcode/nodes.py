"""Small questions about syntax trees, and expressions that are kept short."""

from __future__ import annotations

import ast
import copy
import re
from hashlib import blake2b

#: A string or number in the text of an expression.
LITERAL = re.compile(r"\"(?:[^\"\\]|\\.)*\"|'(?:[^'\\]|\\.)*'|\b\d[\w.]*")
_MAX_TEXT = 2_000_000
_MAX_SIZE = 120


def parse(text: str) -> ast.Module | None:
    """The syntax tree; None where it is not Python, or nested too deeply."""
    try:
        return ast.parse(text) if len(text) <= _MAX_TEXT else None
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


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


def constant(node: ast.AST | None) -> object:
    """The value of a literal, or of a name or expression that is always true or false; ... where it is not one."""
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
    if isinstance(node, ast.Call) and dotted(node.func) in (
        "range",
        "list",
        "tuple",
        "dict",
        "set",
        "iter",
        "bool",
    ):
        if not node.keywords and all(isinstance(a, ast.Constant) and a.value in (0, "") for a in node.args):
            return ()
        return ...
    if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Slice):
        upper = node.slice.upper
        return (
            () if isinstance(upper, ast.Constant) and upper.value == 0 and node.slice.lower is None else ...
        )
    if isinstance(node, ast.Lambda):
        return True
    try:
        return ast.literal_eval(node) if isinstance(node, ast.expr) else ...
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return ...


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
                known = _unparsed(node)
        node._text = known  # type: ignore[attr-defined]
    return known


def _unparsed(node: ast.AST) -> str:
    try:
        return ast.unparse(node)
    except (ValueError, TypeError, AttributeError):  # before 3.12 not every f-string can be written
        digest = blake2b(ast.dump(node).encode("utf-8", "surrogatepass"), digest_size=6)
        return f"<{digest.hexdigest()}>"


def short(node: ast.AST) -> str:
    """The first line of a statement, bounded, kept on the node."""
    known: str | None = getattr(node, "_short", None)
    if known is None:
        text = ast.unparse(node).partition("\n")[0].rstrip(":")
        known = node._short = text if len(text) <= 120 else text[:119] + "…"  # type: ignore[attr-defined]
    return known


def each(iterated: ast.expr) -> ast.expr:
    """Stand for any element."""
    return ast.Call(ast.Name("each"), [iterated], [])


def size_of(node: ast.AST) -> int:
    """How many nodes an expression has, kept on the node."""
    known: int | None = getattr(node, "_size", None)
    if known is None:
        known = 1 + sum(size_of(child) for child in ast.iter_child_nodes(node))
        node._size = known  # type: ignore[attr-defined]
    return known


def copied(node: ast.expr) -> ast.expr:
    """A new node with the same parts."""
    new = copy.copy(node)
    for kept in ("_text", "_size", "_short", "_rank"):
        vars(new).pop(kept, None)
    return new


def bounded(node: ast.expr) -> ast.expr:
    """The expression; where it is too long to carry along, its outer function with digests of words and literals."""
    is_listed = isinstance(node, (ast.List, ast.Tuple, ast.Set, ast.Dict))  # their elements are bounded
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


def folded(node: ast.expr) -> ast.expr:
    """The value of an operation on literals; any other expression as it is."""
    match node:
        case ast.BinOp(left=ast.Constant(value=a), op=op, right=ast.Constant(value=b)):
            if isinstance(a, (int, float)) and isinstance(b, (int, float)) and max(abs(a), abs(b)) < 1e9:
                match op:
                    case ast.Add():
                        return ast.Constant(a + b)
                    case ast.Sub():
                        return ast.Constant(a - b)
                    case ast.Mult():
                        return ast.Constant(a * b)
            if isinstance(a, str) and isinstance(b, str) and isinstance(op, ast.Add):
                return ast.Constant(a + b)
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() | float() as number)) if number >= 0:
            return ast.Constant(-number)
        case ast.Subscript(
            value=ast.Tuple(elts=items) | ast.List(elts=items), slice=ast.Constant(value=int() as index)
        ):
            if -len(items) <= index < len(items) and not any(isinstance(i, ast.Starred) for i in items):
                return items[index]
        case ast.Subscript(value=ast.Dict(keys=keys, values=values), slice=ast.Constant(value=wanted)):
            for key, value in zip(keys, values, strict=True):
                if isinstance(key, ast.Constant) and key.value == wanted:
                    return value
        case ast.JoinedStr(values=parts):
            if all(isinstance(p, ast.Constant) for p in parts):
                return ast.Constant("".join(str(p.value) for p in parts if isinstance(p, ast.Constant)))
    return node
