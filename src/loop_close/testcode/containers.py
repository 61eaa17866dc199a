"""Containers that a test fills: what they are known to hold, and when that is known no longer."""

from __future__ import annotations

import ast

from loop_close.testcode.nodes import bounded, dotted, kept

#: Calls that change no argument.
PURE = {
    "len",
    "sorted",
    "list",
    "tuple",
    "set",
    "dict",
    "frozenset",
    "sum",
    "min",
    "max",
    "str",
    "repr",
    "enumerate",
}
PURE |= {
    "zip",
    "any",
    "all",
    "isinstance",
    "print",
    "reversed",
    "range",
    "bool",
    "type",
    "id",
    "iter",
    "dumps",
    "approx",
}
PURE |= {
    "int",
    "float",
    "abs",
    "round",
    "map",
    "filter",
    "getattr",
    "hasattr",
    "fstring",
    "deepcopy",
    "next",
    "param",
}
MUTATORS = {
    "append",
    "extend",
    "insert",
    "pop",
    "remove",
    "clear",
    "update",
    "add",
    "discard",
    "setdefault",
    "popitem",
}
MUTATORS |= {"sort", "reverse", "appendleft", "popleft", "extendleft", "__setitem__"}
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
        if dotted(call.func).rpartition(".")[2] not in PURE
        for arg in (*call.args, *(keyword.value for keyword in call.keywords))
    ]
    return list(dict.fromkeys(arg.id for arg in args if isinstance(arg, ast.Name)))
