"""What the expressions of a test stand for: names, helpers and fixtures are replaced by what they are."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from loop_close.testcode.demands import Demand
from loop_close.testcode.nodes import bounded, constant, copied, dotted, each, folded, short, text_of
from loop_close.testcode.suite import FUNCTIONS, Function, Module, Scope, Suite, Test, is_fixture

STOPS = {"skip", "skipTest", "SkipTest", "importorskip", "xfail", "Skipped", "skip_module"}
MAX_LOOP = 60
MAX_DEPTH = 4
_MAX_STEPS = 30_000

Env = dict[str, ast.expr]


@dataclass
class Reading:
    """What was found out about a test.

    :ivar dead: what it would demand but for something that lets it pass, with that in words.
    :ivar stops: what skips it or lets it be expected to fail, in words.
    :ivar patched: what it replaces, ``shop.total``, with the statement that does.
    :ivar made: the calls that it makes, normalized, with what lets it pass whatever comes of them.
    :ivar void: its assertions that always hold.
    """

    demands: list[Demand] = field(default_factory=list)
    dead: list[tuple[Demand, str]] = field(default_factory=list)
    stops: dict[str, str] = field(default_factory=dict)
    patched: dict[str, str] = field(default_factory=dict)
    made: list[tuple[ast.expr, str]] = field(default_factory=list)
    void: list[str] = field(default_factory=list)
    steps: int = 0
    is_brief: bool = False

    @cached_property
    def calls(self) -> list[str]:
        """What it runs, as text."""
        subjects = [side for demand in self.demands for side in (demand.subject, demand.expected)]
        return [*subjects, *(text_of(call) for call, why in self.made if not why)]


class TooMuchError(Exception):
    """A test is too large to be followed."""


class Values:
    """The names of a test while it is followed, and what they stand for."""

    def __init__(self, suite: Suite, test: Test) -> None:
        self.suite = suite
        self.test = test
        self.module = test.home
        self.reading = Reading()
        self.env: Env = {}
        self.local: dict[str, tuple[Function | ast.Lambda, Env, Module]] = {}
        self.guards: list[str] = []
        self.dead: list[str] = []
        self.depth = 0
        self.is_brief = False
        self.steps = 0
        self.returned: list[tuple[ast.expr, int]] = []
        self.at_yield: Callable[[ast.expr | None], None] | None = None
        self.wrapped: tuple[str, Callable[[], None]] | None = None

    def block(self, body: Sequence[ast.stmt]) -> str:
        """Follow statements, as the heir of this class does."""
        raise NotImplementedError

    # Marks, parameters, fixtures

    def mark(self, node: ast.expr, depth: int = 0) -> None:
        """Note what a mark skips or replaces."""
        if isinstance(node, (ast.List, ast.Tuple)):
            for element in node.elts:
                self.mark(element, depth)
            return
        name = dotted(node)
        last = name.rpartition(".")[2]
        if last in ("skip", "skipIf", "skipUnless", "skipif", "xfail", "expectedFailure"):
            condition = node.args[0] if isinstance(node, ast.Call) and node.args else None
            is_conditional = last in ("skipif", "skipIf", "skipUnless") or (
                last == "xfail" and condition is not None
            )
            value = constant(condition) if is_conditional and condition is not None else True
            if value is ... or bool(value) is not (last == "skipUnless"):
                self.reading.stops[f"{last} {text_of(condition) if is_conditional and condition else ''}"] = (
                    f"has `@{short(node)}`"
                )
        elif last in ("patch", "object", "dict", "multiple") and isinstance(node, ast.Call):
            self.patch(node)
        elif depth < 3 and "." not in name and isinstance(node, ast.Name):
            _, value_node = self.suite.resolve(self.module, name)
            if isinstance(value_node, ast.expr):
                self.mark(value_node, depth + 1)

    def rows(self, mark: ast.expr, node: Function) -> list[Env] | None:
        """The rows of a ``parametrize``; a symbol where they are not written out."""
        name = dotted(mark).rpartition(".")[2]
        if not isinstance(mark, ast.Call) or name not in ("parametrize", "expand", "parameterized"):
            return None
        args = {k.arg: k.value for k in mark.keywords} | dict(
            zip(("argnames", "argvalues"), mark.args, strict=False)
        )
        if name != "parametrize":
            own = [arg.arg for arg in node.args.args]
            names, values = own[1:] if self.test.owners else own, mark.args[0] if mark.args else None
        else:
            names, values = _names(args.get("argnames")), args.get("argvalues")
        listed = self.listed(self.value(values)) if values is not None else None
        if listed is None:
            rows = text_of(self.value(values)) if values is not None else ""
            return [
                {
                    n: ast.Name(f"each({rows})[{i}]" if len(names) > 1 else f"each({rows})")
                    for i, n in enumerate(names)
                }
            ]
        if not listed:
            self.reading.stops["parametrize"] = "has no parameters left"
        if self.is_brief:  # the rows themselves are demanded, and one of them is followed
            self.reading.demands += [
                Demand("call", f"row {text_of(item)}", text=f"row {short(item)}") for item in listed
            ]
            listed = listed[:1]
        found = []
        for item in listed:
            if isinstance(item, ast.Call) and dotted(item).rpartition(".")[2] == "param":
                marks = next((k.value for k in item.keywords if k.arg == "marks"), None)
                if marks is not None and any(w in text_of(marks) for w in ("skip", "xfail")):
                    continue
                cells = list(item.args)
            elif (len(names) > 1 or name != "parametrize") and isinstance(item, (ast.Tuple, ast.List)):
                cells = item.elts
            else:
                cells = [item]
            if len(cells) != len(names):
                cells = [ast.Subscript(item, ast.Constant(i)) for i in range(len(names))]
            found.append(dict(zip(names, cells, strict=True)))
        return found

    def used(self, marks: Sequence[ast.expr]) -> Iterator[str]:
        """The fixtures of ``usefixtures``."""
        for mark in marks:
            if isinstance(mark, ast.Call) and dotted(mark).endswith("usefixtures"):
                yield from (str(arg.value) for arg in mark.args if isinstance(arg, ast.Constant))

    def ask(self, name: str) -> None:
        """Give a parameter the value of its fixture."""
        home, fixture = self.suite.fixture(self.test, name)
        self.env[name] = ast.Name(name)
        if home is not None and fixture is not None and self.depth < MAX_DEPTH:
            value = self.fixture(home, fixture)
            if value is not None:
                self.env[name] = value

    def fixture(self, home: Module, node: Function) -> ast.expr | None:
        """Follow a fixture up to its end; the value it gives."""
        given: list[ast.expr | None] = []
        outer, self.at_yield = self.at_yield, given.append
        kept = dict(self.env)
        self.depth += 1
        own = [arg.arg for arg in node.args.args]
        for name in own:
            if name not in kept and name != node.name:
                self.ask(name)
        arguments = {name: self.env.get(name, ast.Name(name)) for name in own}
        value = self.enter(node, arguments, home)
        self.depth -= 1
        self.at_yield = outer
        members = {key: item for key, item in self.env.items() if key.startswith("self.")}
        self.env = kept | members
        return next((item for item in given if item is not None), value)

    # Names

    def bind(self, target: ast.expr, value: ast.expr, node: ast.stmt) -> None:
        """Give a target of an assignment its value."""
        match target:
            case ast.Name(id=name):
                self.env[name] = bounded(value)
                self.local.pop(name, None)
                if isinstance(value, ast.Lambda):
                    self.local[name] = (value, self.env, self.module)
            case ast.Tuple(elts=parts) | ast.List(elts=parts):
                listed = self.listed(value)
                for index, part in enumerate(parts):
                    is_known = listed is not None and len(listed) == len(parts)
                    item = listed[index] if is_known and listed else ast.Subscript(value, ast.Constant(index))
                    self.bind(part, item, node)
            case ast.Starred(value=inner):
                self.bind(inner, value, node)
            case ast.Attribute():
                owner = self.value(target.value)
                if isinstance(owner, ast.Name) and owner.id == "self":
                    self.env[f"self.{target.attr}"] = bounded(value)
                else:
                    self.reading.patched.setdefault(f"{self.path(target.value)}.{target.attr}", short(node))
            case ast.Subscript(value=owner, slice=ast.Constant(value=str() as key)) if (
                dotted(owner) == "sys.modules"
            ):
                self.reading.patched[f"sys.modules.{key}"] = short(node)

    def listed(self, value: ast.expr) -> list[ast.expr] | None:
        """The elements of an expression that is written out; None where they are not known."""
        if isinstance(value, (ast.Tuple, ast.List, ast.Set)):
            return None if any(isinstance(e, ast.Starred) for e in value.elts) else list(value.elts)
        match value:
            case ast.Call(func=ast.Name(id="range"), args=[ast.Constant(value=int() as stop)]) if (
                stop <= MAX_LOOP
            ):
                return [ast.Constant(i) for i in range(stop)]
            case ast.Call(func=ast.Name(id="enumerate"), args=[inner]):
                items = self.listed(inner)
                pairs = enumerate(items or [])
                return None if items is None else [ast.Tuple([ast.Constant(i), item]) for i, item in pairs]
            case ast.Call(func=ast.Name(id="zip"), args=[first, second]):
                one, two = self.listed(first), self.listed(second)
                if one is not None and two is not None:
                    return [ast.Tuple([a, b]) for a, b in zip(one, two, strict=False)]
            case ast.Call(
                func=ast.Attribute(value=ast.Dict(keys=keys, values=values), attr="items"), args=[]
            ):
                if all(keys):
                    return [ast.Tuple([k, v]) for k, v in zip(keys, values, strict=True) if k is not None]
            case ast.Call(func=ast.Name(id="list" | "tuple" | "sorted" | "reversed"), args=[inner]):
                return self.listed(inner)
        return [] if constant(value) in ((), [], {}, "") else None

    def names(self, node: ast.expr | None) -> list[str]:
        """The names of exceptions, without their modules."""
        if isinstance(node, ast.Tuple):
            return [name for element in node.elts for name in self.names(element)]
        return [dotted(node).rpartition(".")[2] if node is not None else ""]

    def path(self, node: ast.expr) -> str:
        """Where something is that is replaced: ``shop.Cart``."""
        return dotted(self.value(node)) or dotted(node) or short(node)

    def resolve(self, node: ast.expr) -> tuple[Module | None, ast.AST | None]:
        """The definition of what is called, if the suite has it."""
        name = dotted(node)
        if isinstance(node, ast.Call) and not name:
            return None, None
        if name in self.local:
            return self.local[name][2], self.local[name][0]
        owner, _, attribute = name.partition(".")
        if owner in ("self", "cls") and attribute and "." not in attribute:
            for place in reversed(self.test.owners):
                home, member = self.suite.members(self.test.home, place).get(attribute, (None, None))
                if home is not None:
                    return home, member
        return (None, None) if name in self.env else self.suite.resolve(self.module, name)

    # Values

    def value(self, node: ast.expr) -> ast.expr:
        """The expression with its names replaced by what they stand for."""
        self.steps += 1
        if self.steps > _MAX_STEPS:
            raise TooMuchError
        match node:
            case ast.Name(id=name):
                return self.env[name] if name in self.env else self._global(node)
            case ast.Attribute(value=owner, attr=attr):
                if (
                    isinstance(owner, ast.Name)
                    and owner.id in self.module.scope.imports
                    and owner.id not in self.env
                ):
                    return self._global(node)
                found = self.value(owner)
                if isinstance(found, ast.Name) and f"{found.id}.{attr}" in self.env:
                    return self.env[f"{found.id}.{attr}"]
                return ast.Attribute(found, attr)
            case ast.Call():
                return self._call(node)
            case ast.Await(value=inner):
                return self.value(inner)
            case ast.NamedExpr(target=target, value=inner):
                found = self.value(inner)
                self.env[target.id] = bounded(found)
                return found
            case ast.ListComp() | ast.SetComp() | ast.GeneratorExp() | ast.DictComp():
                return self._comprehension(node)
            case ast.Lambda(args=arguments, body=inner):
                own = [a.arg for a in arguments.args]
                kept = dict(self.env)
                self.env |= {name: ast.Name(f"_{i}") for i, name in enumerate(own)}
                found = self.value(inner)
                self.env = kept
                return ast.Lambda(
                    ast.arguments([], [ast.arg(f"_{i}") for i in range(len(own))], None, [], [], None, []),
                    found,
                )
            case ast.Yield(value=inner) | ast.YieldFrom(value=inner):
                if self.at_yield is not None:
                    self.at_yield(self.value(inner) if inner is not None else None)
                return ast.Name("sent")
            case ast.JoinedStr(values=parts) if not all(isinstance(part, ast.Constant) for part in parts):
                return bounded(ast.Call(ast.Name("fstring"), [self.value(part) for part in parts], []))
            case ast.FormattedValue(value=inner):
                return self.value(inner)
            case ast.Constant():
                return node
        return folded(bounded(self._copied(node)))

    def _copied(self, node: ast.expr) -> ast.expr:
        new = copied(node)
        for name, value in ast.iter_fields(node):
            if isinstance(value, ast.expr):
                setattr(new, name, self.value(value))
            elif isinstance(value, list):
                setattr(new, name, [self.value(v) if isinstance(v, ast.expr) else v for v in value])
        return new

    def _comprehension(self, node: ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp) -> ast.expr:
        kept = dict(self.env)
        conditions: list[ast.expr] = []
        for generator in node.generators:
            listed = self.value(generator.iter)
            self.bind(generator.target, each(listed), ast.Pass(lineno=0))
            conditions.extend(self.value(c) for c in generator.ifs)
        names = ast.comprehension(ast.Name("_"), ast.Name("_"), conditions, 0)
        if isinstance(node, ast.DictComp):
            found: ast.expr = ast.DictComp(self.value(node.key), self.value(node.value), [names])
        else:
            found = type(node)(self.value(node.elt), [names])
        self.env = kept
        return bounded(found)

    def _global(self, node: ast.Name | ast.Attribute) -> ast.expr:
        """A name of the module: an import without its module, a constant as its value."""
        name = dotted(node)
        imports = self.module.scope.imports
        home, found = self.suite.resolve(self.module, name)
        if home is not None and isinstance(found, ast.expr) and self.depth < MAX_DEPTH:
            return self._elsewhere(home, found)
        if isinstance(found, ast.ClassDef) and _is_always_equal(found):
            return ast.Name("ANY")
        if isinstance(node, ast.Attribute):
            owner = node.value.id if isinstance(node.value, ast.Name) else ""
            _, attribute = imports.get(owner, ("", ""))
            is_class = attribute[:1].isupper()
            return ast.Attribute(ast.Name(attribute), node.attr) if is_class else ast.Name(node.attr)
        _, attribute = imports.get(name, ("", ""))
        return ast.Name(attribute) if attribute else ast.Name(name)

    def _elsewhere(self, home: Module, node: ast.expr) -> ast.expr:
        env, module, local, dead = self.env, self.module, self.local, self.dead
        self.env, self.module, self.local, self.dead = {}, home, {}, ["of a module"]
        self.depth += 1
        try:
            return bounded(self.value(node))
        finally:
            self.env, self.module, self.local, self.dead = env, module, local, dead
            self.depth -= 1

    def _call(self, node: ast.Call) -> ast.expr:
        name = dotted(node.func) if not isinstance(node.func, ast.Call) else ""
        if self.wrapped is not None and name == self.wrapped[0]:
            _, body = self.wrapped
            body()
            return ast.Constant(None)
        self.stop_by(node)
        self.patch(node)
        home, found = self.resolve(node)
        if isinstance(found, ast.ClassDef) and _is_always_equal(found):
            return ast.Name("ANY")
        value = self.env.get(name)
        if value is not None and isinstance(value, ast.Name) and value.id in self.local:
            found, home = self.local[value.id][0], self.local[value.id][2]
        is_helper = isinstance(found, FUNCTIONS) and not is_fixture(found) and not is_context_manager(found)
        if home is not None and self.depth < MAX_DEPTH and (is_helper or isinstance(found, ast.Lambda)):
            inlined = self.enter(found, self.arguments(found, node), home)  # type: ignore[arg-type]
            if inlined is not None:
                return inlined
        function = self.value(node.func)
        args = [self.value(arg) for arg in node.args]
        keywords = [ast.keyword(k.arg, self.value(k.value)) for k in node.keywords]
        keywords.sort(key=lambda k: k.arg or "~")
        if name in ("pytest.approx", "approx"):
            function = ast.Name("approx")
        return bounded(ast.Call(function, args, keywords))

    def arguments(self, function: Function | ast.Lambda, call: ast.Call) -> Env:
        """What a call gives to the parameters of a function."""
        own = [arg.arg for arg in (*function.args.posonlyargs, *function.args.args)]
        if own[:1] in (["self"], ["cls"]):
            own = own[1:]
        given = {k.arg: self.value(k.value) for k in call.keywords if k.arg}
        values = [self.value(arg) for arg in call.args]
        given |= dict(zip(own, values, strict=False))
        if function.args.vararg is not None:
            given[function.args.vararg.arg] = ast.Tuple(values[len(own) :])
        defaults = dict(zip(reversed(own), reversed(function.args.defaults), strict=False))
        defaults |= {
            arg.arg: default
            for arg, default in zip(function.args.kwonlyargs, function.args.kw_defaults, strict=True)
            if default is not None
        }
        return {name: self.value(default) for name, default in defaults.items()} | given

    def enter(self, function: Function | ast.Lambda, arguments: Env, home: Module) -> ast.expr | None:
        """Follow a function of the suite in place; the value it returns, None where that is not one expression."""
        env, module, local, returned = self.env, self.module, self.local, self.returned
        members = {key: item for key, item in env.items() if key.startswith("self.")}
        closure = next((e for node, e, _ in self.local.values() if node is function), {})
        self.env, self.module = {**closure, **members, **arguments, "self": ast.Name("self")}, home
        self.local, self.returned = dict(local) if closure else {}, []
        kept = len(self.guards)
        self.depth += 1
        try:
            if isinstance(function, ast.Lambda):
                return self.value(function.body)
            self.block(function.body)
            found = self.returned
            value = (
                found[0][0]
                if found and found[0][1] <= kept and all(text_of(v) == text_of(found[0][0]) for v, _ in found)
                else None
            )
            if not found:
                value = ast.Constant(None)
            if isinstance(value, ast.Name) and value.id in self.local:  # a function that it made
                local = {**local, value.id: self.local[value.id]}
            return value
        finally:
            members = {key: item for key, item in self.env.items() if key.startswith("self.")}
            self.env, self.module, self.local, self.returned = env | members, module, local, returned
            self.depth -= 1
            del self.guards[kept:]

    # What skips, exits or replaces

    def stop_by(self, node: ast.expr) -> bool:
        """Note a call that skips the test; whether it is one."""
        if not isinstance(node, ast.Call):
            return False
        name = dotted(node.func)
        owner, _, last = name.rpartition(".")
        if last in STOPS and (owner in ("pytest", "self", "unittest") or (not owner and last != "fail")):
            self.stop(node, last)
            return True
        return False

    def stop(self, node: ast.AST, last: str) -> None:
        """Note what skips the test."""
        if not self.dead:
            under = f" under `{self.guards[-1]}`" if self.guards else ""
            self.reading.stops[f"{last} {' and '.join(self.guards)}"] = f"`{short(node)}` in it{under}"

    def patch(self, call: ast.Call) -> bool:
        """Note what a call replaces; whether it is one that does."""
        owner, _, last = dotted(call.func).rpartition(".")
        if last in ("start", "enter_context") and isinstance(call.func, ast.Attribute):
            inner = call.func.value if last == "start" else call.args[0] if call.args else None
            return isinstance(inner, ast.Call) and self.patch(inner)
        text = short(call)
        match call.args:
            case [ast.Constant(value=str() as target), *_] if last in ("patch", "setattr", "delattr"):
                self.reading.patched[target] = text
            case [target_node, ast.Constant(value=str() as attribute), *_] if last in (
                "setattr",
                "object",
                "delattr",
                "spy",
            ):
                if last != "spy":
                    self.reading.patched[f"{self.path(target_node)}.{attribute}"] = text
            case [target_node, *_] if last == "multiple" or (last == "dict" and owner.endswith("patch")):
                given = [k.arg or "" for k in call.keywords]
                if last == "dict" and len(call.args) > 1 and isinstance(call.args[1], ast.Dict):
                    given += [str(k.value) for k in call.args[1].keys if isinstance(k, ast.Constant)]
                path = (
                    str(target_node.value) if isinstance(target_node, ast.Constant) else dotted(target_node)
                )
                self.reading.patched.update((f"{path}.{arg}", text) for arg in given)
            case [target_node, ast.Constant(value=str() as key), *_] if last == "setitem":
                self.reading.patched[f"{dotted(target_node)}.{key}"] = text
            case _:
                return False
        return True


def _names(node: ast.expr | None) -> list[str]:
    value = constant(node)
    if isinstance(value, str):
        return [name.strip() for name in value.split(",") if name.strip()]
    return [str(name) for name in value] if isinstance(value, (list, tuple)) else []


def is_context_manager(node: Function) -> bool:
    """Whether it is decorated as one."""
    return any(
        dotted(d).rpartition(".")[2] in ("contextmanager", "asynccontextmanager") for d in node.decorator_list
    )


def returns_true(node: Function) -> bool:
    """Whether it returns what is always true."""
    returns = [n.value for n in ast.walk(node) if isinstance(n, ast.Return) and n.value is not None]
    return any(constant(value) is not ... and bool(constant(value)) for value in returns)


def _is_always_equal(node: ast.ClassDef) -> bool:
    bound = Scope(node.body).bound
    compares = bound.get("__eq__")
    if isinstance(compares, ast.Lambda):
        return bool(constant(compares.body) is True)
    return isinstance(compares, FUNCTIONS) and bool(compares.body) and _always_true(compares)


def _always_true(node: Function) -> bool:
    returns = [n.value for n in ast.walk(node) if isinstance(n, ast.Return)]
    return bool(returns) and all(constant(value) is True for value in returns)
