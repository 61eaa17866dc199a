"""Follow a test from its first statement to its last: what it demands, and what of that can still fail it."""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from hashlib import blake2b
from itertools import product

from loop_close.testcode.demands import Demand, demands_of, of_call, raising, text_of
from loop_close.testcode.suite import (
    FUNCTIONS,
    Function,
    Module,
    Scope,
    Suite,
    Test,
    constant,
    dotted,
    flat,
    is_fixture,
)

_ASSERTIONS = {"AssertionError", "Exception", "BaseException", "Failed", ""}
_STOPS = {"skip", "skipTest", "SkipTest", "importorskip", "xfail", "Skipped", "skip_module"}
_EXITS = {"sys.exit", "os._exit", "pytest.exit", "exit", "quit", "os.abort", "SystemExit", "os.kill"}
_RAISES = {
    "raises",
    "assertRaises",
    "assertRaisesRegex",
    "warns",
    "deprecated_call",
    "assertWarns",
    "assertWarnsRegex",
}
_BEFORE = ("setUpClass", "setup_class", "asyncSetUp", "setUp", "setup_method", "setup")
_AFTER = ("tearDown", "teardown_method", "asyncTearDown")
_MAX_ROWS = 300
_MAX_LOOP = 100
_MAX_SIZE = 400
_MAX_DEPTH = 4
_MAX_STEPS = 20_000

Env = dict[str, ast.expr]


@dataclass
class Reading:
    """What was found out about a test.

    :ivar dead: what it would demand but for something that lets it pass, with that in words.
    :ivar stops: what skips it or lets it be expected to fail, in words.
    :ivar patched: what it replaces, ``shop.total``, with the statement that does.
    :ivar calls: the calls that it makes, normalized; ``void``: its assertions that always hold.
    """

    demands: list[Demand] = field(default_factory=list)
    dead: list[tuple[Demand, str]] = field(default_factory=list)
    stops: dict[str, str] = field(default_factory=dict)
    patched: dict[str, str] = field(default_factory=dict)
    calls: set[str] = field(default_factory=set)
    void: list[str] = field(default_factory=list)


class TooMuchError(Exception):
    """A test is too large to be followed."""


def read(suite: Suite, test: Test) -> Reading:
    """Follow a test, with its fixtures, decorators and parameters."""
    walk = Walk(suite, test)
    try:
        walk.run()
    except (RecursionError, TooMuchError):
        digest = blake2b(ast.dump(test.node).encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()
        walk.reading.demands.append(Demand("call", f"<too large to follow: {digest}>"))
    reading = walk.reading
    if not reading.demands and not reading.dead:  # then all it demands is that nothing is raised
        reading.demands.extend(
            Demand("runs", call, text=call, line=test.node.lineno) for call in sorted(walk.plain)
        )
        reading.dead.extend((Demand("runs", call), why) for call, why in sorted(walk.plain_dead.items()))
    return reading


class Walk:
    """One pass over a test and what it uses."""

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
        self.steps = 0
        self.plain: set[str] = set()
        self.plain_dead: dict[str, str] = {}
        self.returned: list[tuple[ast.expr, int]] = []
        self.at_yield: Callable[[ast.expr | None], None] | None = None
        self.wrapped: tuple[str, Callable[[], None]] | None = None

    # The whole of a test

    def run(self) -> None:
        """Follow the whole test."""
        test, node = self.test, self.test.node
        decorators = [d for owner in test.owners for d in owner.decorator_list] + list(node.decorator_list)
        marks = [*decorators, *(mark for scope in self._scopes() for mark in _marks(scope))]
        rows = [found for mark in marks if (found := self._parameters(mark, node)) is not None]
        for mark in marks:
            self._mark(mark)
        for module_statement in flat(self.module.tree.body if self.module.tree else []):
            if isinstance(module_statement, (ast.Expr, ast.Assign)):
                self._stop_by(module_statement.value)
        for owner, values in self.module.scope.attributes.items():
            if owner.partition(".")[0] in self.module.scope.imports:
                for name, value in values.items():
                    self.reading.patched[f"{owner}.{name}"] = f"{owner}.{name} = {text_of(value)}"
        if _is_generator(node):
            self.dead.append("has a `yield`: pytest does not run it")
        for place, fixture in self.suite.autouse(test):
            self._fixture(place, fixture)
        for name in self._used(marks):
            self._ask(name)
        for name in _BEFORE:
            self._method(name)
        base = dict(self.env)
        for row in _combined(rows):
            self.env = {**base, **row}
            self._decorated([d for d in node.decorator_list if not _is_known(d)], node)
        for name in _AFTER:
            self._method(name)

    def _scopes(self) -> Iterator[Scope]:
        yield self.module.scope
        if self.test.module is not self.module:
            yield self.test.module.scope
        yield from (Scope(owner.body) for owner in self.test.owners)

    def _method(self, name: str) -> None:
        for owner in self.test.owners:
            home, member = self.suite.members(self.module, owner).get(name, (None, None))
            if home is not None and isinstance(member, FUNCTIONS):
                self._enter(member, {}, home)

    def _decorated(self, decorators: Sequence[ast.expr], node: Function) -> None:
        """Run the body through the decorators that are written in the suite, the outermost first."""
        for index, decorator in enumerate(decorators):
            home, found = self.suite.resolve(self.module, dotted(decorator))
            if home is None or not isinstance(found, FUNCTIONS):
                continue
            wrapper, parameter = _wrapper_of(found, isinstance(decorator, ast.Call))
            if wrapper is None:
                continue
            inner = decorators[index + 1 :]
            is_called = [False]

            def body(inner: Sequence[ast.expr] = inner, is_called: list[bool] = is_called) -> None:
                is_called[0] = True
                self._decorated(inner, node)

            outer, self.wrapped = self.wrapped, (parameter, body)
            if _is_context_manager(found):
                self.at_yield = lambda _: body()
                self._enter(found, {}, home)
            else:
                self.block(wrapper.body)
            self.wrapped = outer
            if not is_called[0]:
                with self.passing(f"`@{dotted(decorator)}` never calls it"):
                    body()
            return
        wrapped, self.wrapped = self.wrapped, None
        first = node.args.args[0].arg if self.test.owners and node.args.args else ""
        self._parameters_of(node)
        if first:
            self.env[first] = ast.Name("self")
        self.block(node.body)
        self.wrapped = wrapped

    def _parameters_of(self, node: Function) -> None:
        names = [arg.arg for arg in (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs)]
        for name in names[1:] if self.test.owners else names:
            if name not in self.env:
                self._ask(name)

    # Marks, parameters, fixtures

    def _mark(self, node: ast.expr, depth: int = 0) -> None:
        if isinstance(node, (ast.List, ast.Tuple)):
            for element in node.elts:
                self._mark(element, depth)
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
                    f"has `@{_short(node)}`"
                )
        elif last in ("patch", "object", "dict", "multiple") and isinstance(node, ast.Call):
            self._patch(node)
        elif depth < 3 and "." not in name and isinstance(node, ast.Name):
            _, value_node = self.suite.resolve(self.module, name)
            if isinstance(value_node, ast.expr):
                self._mark(value_node, depth + 1)

    def _parameters(self, mark: ast.expr, node: Function) -> list[Env] | None:
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
        listed = self._listed(self.value(values)) if values is not None else None
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

    def _used(self, marks: Sequence[ast.expr]) -> Iterator[str]:
        for mark in marks:
            if isinstance(mark, ast.Call) and dotted(mark).endswith("usefixtures"):
                yield from (str(arg.value) for arg in mark.args if isinstance(arg, ast.Constant))

    def _ask(self, name: str) -> None:
        home, fixture = self.suite.fixture(self.test, name)
        self.env[name] = ast.Name(name)
        if home is not None and fixture is not None and self.depth < _MAX_DEPTH:
            value = self._fixture(home, fixture)
            if value is not None:
                self.env[name] = value

    def _fixture(self, home: Module, node: Function) -> ast.expr | None:
        given: list[ast.expr | None] = []
        outer, self.at_yield = self.at_yield, given.append
        kept = dict(self.env)
        self.depth += 1
        own = [arg.arg for arg in node.args.args]
        for name in own:
            if name not in kept and name != node.name:
                self._ask(name)
        arguments = {name: self.env.get(name, ast.Name(name)) for name in own}
        value = self._enter(node, arguments, home)
        self.depth -= 1
        self.at_yield = outer
        members = {key: item for key, item in self.env.items() if key.startswith("self.")}
        self.env = kept | members
        return next((item for item in given if item is not None), value)

    # Statements

    def block(self, body: Sequence[ast.stmt]) -> bool:
        """Follow statements; whether what comes after them is never reached."""
        for index, statement in enumerate(body):
            self.steps += 1
            if self.steps > _MAX_STEPS:
                raise TooMuchError
            reason = self.statement(statement)
            if reason:
                if index + 1 < len(body):
                    with self.passing(reason):
                        self.block(body[index + 1 :])
                return True
        return False

    def statement(self, node: ast.stmt) -> str:
        """Follow one statement; in words why nothing after it is reached, if so."""
        match node:
            case ast.Assert(test=test):
                if isinstance(test, ast.Constant) and not test.value:
                    return self._fails(node)
                self._demand(demands_of(self.value(test)), node)
            case ast.Expr(value=value):
                return self._expression(value, node)
            case ast.Assign(targets=targets, value=value):
                found = self.value(value)
                self._plain(value, found)
                for target in targets:
                    self._bind(target, found, node)
            case ast.AnnAssign(target=target, value=ast.expr() as value):
                self._bind(target, self.value(value), node)
            case ast.AugAssign(target=target, op=op, value=value):
                left = self.value(_loaded(target))
                self._bind(target, _folded(ast.BinOp(left, op, self.value(value))), node)
            case ast.Return(value=value):
                self.returned.append((self.value(value) if value else ast.Constant(None), len(self.guards)))
                return f"returns before it (line {node.lineno})"
            case ast.Raise(exc=exc):
                name = dotted(exc)
                last = name.rpartition(".")[2]
                if last in _STOPS:
                    self._stop(node, last)
                    return f"raises {last} before it (line {node.lineno})"
                if last == "AssertionError":
                    return self._fails(node)
                if last in _EXITS:
                    return f"`{_short(node)}` before it"
                return f"raises before it (line {node.lineno})"
            case ast.Continue() | ast.Break():
                return f"`{_short(node)}` before it"
            case ast.If():
                return self._if(node)
            case ast.For() | ast.AsyncFor():
                return self._for(node)
            case ast.While(test=test):
                never = constant(self.value(test))
                if never is not ... and not never:
                    with self.passing(f"`{_short(node)}` around it never holds"):
                        self.block(node.body)
                    return ""
                guards = () if never is not ... else (text_of(self.value(test)),)
                kept = len(self.guards)
                self._forget(node)
                with self.guarded(*guards):
                    self.block(node.body)
                del self.guards[kept:]
                self.block(node.orelse)
            case ast.With() | ast.AsyncWith():
                return self._with(node, list(node.items))
            case ast.Try():
                return self._try(node)
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                self.local[node.name] = (node, self.env, self.module)
                self.env[node.name] = ast.Name(node.name)
            case ast.Match(subject=subject, cases=cases):
                text = text_of(self.value(subject))
                for case in cases:
                    with self.guarded(f"{text} is {ast.unparse(case.pattern)}"):
                        self.block(case.body)
            case ast.Delete(targets=targets):
                for target in targets:
                    self.value(_loaded(target))
        return ""

    def _fails(self, node: ast.stmt) -> str:
        self._demand([Demand("truthy", "False")], node)
        return f"fails before it (line {node.lineno})"

    def _expression(self, value: ast.expr, node: ast.stmt) -> str:
        if isinstance(value, ast.Await):
            value = value.value
        if isinstance(value, (ast.Yield, ast.YieldFrom)):
            if self.at_yield is not None:
                self.at_yield(self.value(value.value) if value.value else None)
            return ""
        if not isinstance(value, ast.Call):
            self.value(value)
            return ""
        name = dotted(value.func)
        last = name.rpartition(".")[2]
        if self._stop_by(value):
            return f"`{_short(value)}` before it" if last != "importorskip" else ""
        if name in _EXITS:
            return f"`{_short(value)}` before it"
        if last == "fail" and name.partition(".")[0] in ("pytest", "self", "fail"):
            return self._fails(node)
        patched = self._patch(value)
        found = self.value(value)
        if not patched and isinstance(found, ast.Call):
            demands = of_call(found) if dotted(found.func).rpartition(".")[2] != "isinstance" else None
            if demands is not None:
                self._demand(demands, node)
            self._plain(value, found)
        return ""

    def _plain(self, value: ast.expr, found: ast.expr) -> None:
        calls = {text_of(n) for n in ast.walk(found) if isinstance(n, ast.Call)}
        for call in calls if isinstance(found, ast.Call) else ():
            if self.dead:
                self.plain_dead[call] = self.dead[-1]
            elif call == text_of(found):
                self.plain.add(call)
        if not self.dead:
            self.reading.calls |= calls

    def _demand(self, demands: list[Demand], node: ast.stmt) -> None:
        text, line = _short(node), node.lineno
        if not demands:
            self.reading.void.append(text)
        for demand in demands:
            demand = replace(demand, text=text, line=line, guards=frozenset(self.guards))
            if self.dead:
                self.reading.dead.append((demand, self.dead[-1]))
            else:
                self.reading.demands.append(demand)
                self.reading.calls.update(part for part in (demand.subject, demand.expected) if "(" in part)

    def _if(self, node: ast.If) -> str:
        test = self.value(node.test)
        value = constant(test)
        if value is not ...:
            taken, other = (node.body, node.orelse) if value else (node.orelse, node.body)
            with self.passing(f"`if {_short(node.test)}` around it {'always' if value else 'never'} holds"):
                self._aside(other)
            return "returns before it" if self.block(taken) else ""
        for body, positive in ((node.body, False), (node.orelse, True)):
            if len(body) == 1 and _is_failing(body[0]):
                self._demand(demands_of(test, positive), node)
                self.block(node.orelse if not positive else node.body)
                return ""
        holds, fails = text_of(test), text_of(ast.UnaryOp(ast.Not(), test))
        before = dict(self.env)
        with self.guarded(holds):
            ends = self.block(node.body)
        then, self.env = self.env, dict(before)
        with self.guarded(fails):
            ends_otherwise = self.block(node.orelse)
        if not ends:
            self.env = then if ends_otherwise else _joined(then, self.env, holds)
        if ends and ends_otherwise:
            return f"both ways of `if {_short(node.test)}` end before it"
        if ends != ends_otherwise:
            self.guards.append(fails if ends else holds)
        return ""

    def _aside(self, body: Sequence[ast.stmt]) -> None:
        kept, local, returned = dict(self.env), dict(self.local), list(self.returned)
        self.block(body)
        self.env, self.local, self.returned = kept, local, returned

    def _for(self, node: ast.For | ast.AsyncFor) -> str:
        iterated = self.value(node.iter)
        listed = self._listed(iterated)
        if listed is not None and not listed:
            with self.passing(f"the loop around it goes over nothing: `{_short(node)}`"):
                self._aside(node.body)
            self.block(node.orelse)
            return ""
        kept = len(self.guards)
        if listed is not None and len(listed) <= _MAX_LOOP:
            for item in listed:
                self._bind(node.target, item, node)
                self.block(node.body)
        else:
            self._forget(node)
            self._bind(node.target, _each(iterated), node)
            self.block(node.body)
        del self.guards[kept:]
        self.block(node.orelse)
        return ""

    def _forget(self, loop: ast.stmt) -> None:
        """A name that a loop binds again has no one value in it."""
        for inner in ast.walk(loop):
            if isinstance(inner, ast.Name) and isinstance(inner.ctx, ast.Store) and inner.id in self.env:
                self.env[inner.id] = ast.Name("varying")

    def _with(self, node: ast.With | ast.AsyncWith, items: list[ast.withitem]) -> str:
        if not items:
            return "returns before it" if self.block(node.body) else ""
        item, rest = items[0], items[1:]
        context = item.context_expr
        last = dotted(context).rpartition(".")[2]
        outcome = ""

        def body(value: ast.expr | None = None) -> None:
            nonlocal outcome
            if item.optional_vars is not None:
                self._bind(item.optional_vars, value or ast.Name(f"entered({_short(context)})"), node)
            outcome = self._with(node, rest)

        if (
            isinstance(context, ast.Call)
            and last in _RAISES
            and len(context.args) < 2 + (last.endswith("Regex"))
        ):
            self._raises(context, node, last, body)
            return ""
        if isinstance(context, ast.Call) and last == "suppress":
            with self._swallowing([self._names(arg) for arg in context.args], f"`{_short(context)}`"):
                body()
            return ""
        if isinstance(context, ast.Call) and self._patch(context):
            body(ast.Name("patched"))
            return outcome
        home, found = self._resolve(context)
        if home is not None and isinstance(context, ast.Call):
            if isinstance(found, FUNCTIONS) and _is_context_manager(found) and self.depth < _MAX_DEPTH:
                outer, self.at_yield = self.at_yield, body
                self._enter(found, self._arguments(found, context), home)
                self.at_yield = outer
                return outcome
            leave = Scope(found.body).bound.get("__exit__") if isinstance(found, ast.ClassDef) else None
            if isinstance(leave, FUNCTIONS) and _returns_true(leave):
                with self.passing(f"`{_short(context)}` around it swallows its failure"):
                    body()
                return ""
        body(self.value(context))
        return outcome

    def _raises(self, context: ast.Call, node: ast.stmt, last: str, body: Callable[..., None]) -> None:
        kinds = self._names(context.args[0]) if context.args else ["Exception"]
        kind = self.value(context.args[0]) if context.args else ast.Name("DeprecationWarning")
        match = next((self.value(k.value) for k in context.keywords if k.arg == "match"), None)
        if last.endswith("Regex") and len(context.args) > 1:
            match = self.value(context.args[1])
        inner = [s for s in getattr(node, "body", []) if not isinstance(s, ast.Pass)]
        is_expected = last in ("raises", "assertRaises", "assertRaisesRegex") and _ASSERTIONS & set(kinds)
        position = len(self.reading.demands)
        if is_expected:
            with self.passing(f"`{_short(context)}` around it expects it to fail"):
                body(ast.Name("caught"))
        else:
            body(ast.Name("caught"))
        last_one = _expression_of(inner[-1]) if inner else None
        with self.passing("it is to raise"):
            subject = self.value(last_one) if last_one is not None else inner[-1] if inner else None
        demand = raising(kind, subject, match)
        self._demand([replace(demand, op="raises")], node)
        if not self.dead:
            self.reading.demands.insert(position, self.reading.demands.pop())

    def _try(self, node: ast.Try) -> str:
        for handler in node.handlers:  # try: f(), fail() / except ValueError: pass
            kinds = self._names(handler.type)
            tail = [*node.body, *node.orelse]
            if len(tail) > 1 and _is_failing(tail[-1]) and "BaseException" not in kinds and "" not in kinds:
                calls = [e for s in tail[:-1] if (e := _expression_of(s)) is not None]
                if (
                    calls
                    and handler.type is not None
                    and not ("Exception" in kinds and tail[-1] in node.body)
                ):
                    self._demand([raising(self.value(handler.type), self.value(calls[-1]))], node)
                    self._aside(handler.body)
                    self.block(node.finalbody)
                    return ""
        swallowed = [h for h in node.handlers if not _escapes(h, node)]
        ends = False
        if any(isinstance(inner, ast.Return) for s in node.finalbody for inner in ast.walk(s)):
            with self.passing("the `return` in `finally` swallows its failure"):
                self.block(node.body)
            ends = True
        elif swallowed:
            names = [self._names(handler.type) for handler in swallowed]
            with self._swallowing(names, "`except " + " | ".join(", ".join(n) for n in names) + "`"):
                self.block(node.body)
        else:
            ends = self.block(node.body)
        for handler in node.handlers:
            if handler.name:
                self.env[handler.name] = ast.Name("caught")
            kept = len(self.guards)
            with self.guarded(f"except {', '.join(self._names(handler.type))}"):
                self.block(handler.body)
            del self.guards[kept:]
        self.block(node.orelse)
        self.block(node.finalbody)
        return "returns before it" if ends and not node.handlers else ""

    @contextmanager
    def _swallowing(self, kinds: list[list[str]], shown: str) -> Iterator[None]:
        names = {name for group in kinds for name in group}
        if names & _ASSERTIONS:
            with self.passing(f"{shown} around it swallows its failure"):
                yield
        else:
            with self.guarded(*sorted(f"no {name}" for name in names)):
                yield

    @contextmanager
    def passing(self, reason: str) -> Iterator[None]:
        """What is demanded within does not fail the test."""
        self.dead.append(reason)
        yield
        self.dead.pop()

    @contextmanager
    def guarded(self, *guards: str) -> Iterator[None]:
        """What is demanded within is demanded under a condition alone."""
        self.guards.extend(guards)
        yield
        for guard in guards:
            if guard in self.guards:
                self.guards.remove(guard)

    # Names

    def _bind(self, target: ast.expr, value: ast.expr, node: ast.stmt) -> None:
        match target:
            case ast.Name(id=name):
                self.env[name] = _bounded(value)
                self.local.pop(name, None)
                if isinstance(value, ast.Lambda):
                    self.local[name] = (value, self.env, self.module)
            case ast.Tuple(elts=parts) | ast.List(elts=parts):
                listed = self._listed(value)
                for index, part in enumerate(parts):
                    is_known = listed is not None and len(listed) == len(parts)
                    item = listed[index] if is_known and listed else ast.Subscript(value, ast.Constant(index))
                    self._bind(part, item, node)
            case ast.Starred(value=inner):
                self._bind(inner, value, node)
            case ast.Attribute():
                owner = self.value(target.value)
                if isinstance(owner, ast.Name) and owner.id == "self":
                    self.env[f"self.{target.attr}"] = _bounded(value)
                else:
                    self.reading.patched.setdefault(f"{self._path(target.value)}.{target.attr}", _short(node))
            case ast.Subscript(value=owner, slice=ast.Constant(value=str() as key)) if (
                dotted(owner) == "sys.modules"
            ):
                self.reading.patched[f"sys.modules.{key}"] = _short(node)

    def _listed(self, value: ast.expr) -> list[ast.expr] | None:
        if isinstance(value, (ast.Tuple, ast.List, ast.Set)):
            return None if any(isinstance(e, ast.Starred) for e in value.elts) else list(value.elts)
        match value:
            case ast.Call(func=ast.Name(id="range"), args=[ast.Constant(value=int() as stop)]) if (
                stop <= _MAX_LOOP
            ):
                return [ast.Constant(i) for i in range(stop)]
            case ast.Call(func=ast.Name(id="enumerate"), args=[inner]):
                items = self._listed(inner)
                pairs = enumerate(items or [])
                return None if items is None else [ast.Tuple([ast.Constant(i), item]) for i, item in pairs]
            case ast.Call(func=ast.Name(id="zip"), args=[first, second]):
                one, two = self._listed(first), self._listed(second)
                if one is not None and two is not None:
                    return [ast.Tuple([a, b]) for a, b in zip(one, two, strict=False)]
            case ast.Call(
                func=ast.Attribute(value=ast.Dict(keys=keys, values=values), attr="items"), args=[]
            ):
                if all(keys):
                    return [ast.Tuple([k, v]) for k, v in zip(keys, values, strict=True) if k is not None]
            case ast.Call(func=ast.Name(id="list" | "tuple" | "sorted" | "reversed"), args=[inner]):
                return self._listed(inner)
        return [] if constant(value) in ((), [], {}, "") else None

    def _names(self, node: ast.expr | None) -> list[str]:
        if isinstance(node, ast.Tuple):
            return [name for element in node.elts for name in self._names(element)]
        return [dotted(node).rpartition(".")[2] if node is not None else ""]

    def _path(self, node: ast.expr) -> str:
        return dotted(self.value(node)) or dotted(node) or _short(node)

    def _resolve(self, node: ast.expr) -> tuple[Module | None, ast.AST | None]:
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
        if self.steps > _MAX_STEPS * 20:
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
                self.env[target.id] = _bounded(found)
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
            case ast.Constant():
                return node
        return _folded(self._copied(node))

    def _copied(self, node: ast.expr) -> ast.expr:
        new = copy.copy(node)
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
            self._bind(generator.target, _each(listed), ast.Pass(lineno=0))
            conditions.extend(self.value(c) for c in generator.ifs)
        names = ast.comprehension(ast.Name("_"), ast.Name("_"), conditions, 0)
        if isinstance(node, ast.DictComp):
            found: ast.expr = ast.DictComp(self.value(node.key), self.value(node.value), [names])
        else:
            found = type(node)(self.value(node.elt), [names])
        self.env = kept
        return found

    def _global(self, node: ast.Name | ast.Attribute) -> ast.expr:
        """A name of the module: an import without its module, a constant as its value."""
        name = dotted(node)
        imports = self.module.scope.imports
        home, found = self.suite.resolve(self.module, name)
        if home is not None and isinstance(found, ast.expr) and self.depth < _MAX_DEPTH:
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
            return _bounded(self.value(node))
        finally:
            self.env, self.module, self.local, self.dead = env, module, local, dead
            self.depth -= 1

    def _call(self, node: ast.Call) -> ast.expr:
        name = dotted(node.func) if not isinstance(node.func, ast.Call) else ""
        if self.wrapped is not None and name == self.wrapped[0]:
            _, body = self.wrapped
            body()
            return ast.Constant(None)
        self._stop_by(node)
        self._patch(node)
        home, found = self._resolve(node)
        if isinstance(found, ast.ClassDef) and _is_always_equal(found):
            return ast.Name("ANY")
        value = self.env.get(name)
        if value is not None and isinstance(value, ast.Name) and value.id in self.local:
            found, home = self.local[value.id][0], self.local[value.id][2]
        is_helper = isinstance(found, FUNCTIONS) and not is_fixture(found) and not _is_context_manager(found)
        if home is not None and self.depth < _MAX_DEPTH and (is_helper or isinstance(found, ast.Lambda)):
            inlined = self._enter(found, self._arguments(found, node), home)  # type: ignore[arg-type]
            if inlined is not None:
                return inlined
        function = self.value(node.func)
        args = [self.value(arg) for arg in node.args]
        keywords = [ast.keyword(k.arg, self.value(k.value)) for k in node.keywords]
        keywords.sort(key=lambda k: k.arg or "~")
        if name in ("pytest.approx", "approx"):
            function = ast.Name("approx")
        return _bounded(ast.Call(function, args, keywords))

    def _arguments(self, function: Function | ast.Lambda, call: ast.Call) -> Env:
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

    def _enter(self, function: Function | ast.Lambda, arguments: Env, home: Module) -> ast.expr | None:
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

    def _stop_by(self, node: ast.expr) -> bool:
        if not isinstance(node, ast.Call):
            return False
        name = dotted(node.func)
        owner, _, last = name.rpartition(".")
        if last in _STOPS and (owner in ("pytest", "self", "unittest") or (not owner and last != "fail")):
            self._stop(node, last)
            return True
        return False

    def _stop(self, node: ast.AST, last: str) -> None:
        if not self.dead:
            under = f" under `{self.guards[-1]}`" if self.guards else ""
            self.reading.stops[f"{last} {' and '.join(self.guards)}"] = f"`{_short(node)}` in it{under}"

    def _patch(self, call: ast.Call) -> bool:
        """Note what a call replaces; whether it is one that does."""
        owner, _, last = dotted(call.func).rpartition(".")
        if last in ("start", "enter_context") and isinstance(call.func, ast.Attribute):
            inner = call.func.value if last == "start" else call.args[0] if call.args else None
            return isinstance(inner, ast.Call) and self._patch(inner)
        text = _short(call)
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
                    self.reading.patched[f"{self._path(target_node)}.{attribute}"] = text
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


def _marks(scope: Scope) -> Iterator[ast.expr]:
    value = scope.bound.get("pytestmark")
    if isinstance(value, (ast.List, ast.Tuple)):
        yield from value.elts
    elif isinstance(value, ast.expr):
        yield value


def _combined(rows: list[list[Env]]) -> Iterator[Env]:
    """Every combination of parameters; where they are too many, each row with the first of the others."""
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


def _names(node: ast.expr | None) -> list[str]:
    value = constant(node)
    if isinstance(value, str):
        return [name.strip() for name in value.split(",") if name.strip()]
    return [str(name) for name in value] if isinstance(value, (list, tuple)) else []


def _is_known(decorator: ast.expr) -> bool:
    name = dotted(decorator)
    return name.startswith(("pytest.", "mark.")) or ".mark." in name


def _wrapper_of(function: Function, is_factory: bool) -> tuple[Function | None, str]:
    """The function that a decorator puts in the place of another, and the parameter that stands for that one."""
    if _is_context_manager(function):
        return function, ""
    nested = [node for node in ast.walk(function) if isinstance(node, FUNCTIONS) and node is not function]
    if is_factory and nested:
        inner = [node for node in nested[1:] if node in list(ast.walk(nested[0]))]
        if inner:
            return inner[0], nested[0].args.args[0].arg if nested[0].args.args else ""
    if not function.args.args:
        return None, ""
    parameter = function.args.args[0].arg
    if not nested:
        returns = [node for node in ast.walk(function) if isinstance(node, ast.Return)]
        if any(isinstance(r.value, ast.Name) and r.value.id == parameter for r in returns):
            return None, ""
        return function, parameter
    return nested[0], parameter


def _is_context_manager(node: Function) -> bool:
    return any(
        dotted(d).rpartition(".")[2] in ("contextmanager", "asynccontextmanager") for d in node.decorator_list
    )


def _is_generator(node: Function) -> bool:
    stack: list[ast.AST] = list(node.body)
    while stack:
        current = stack.pop()
        if isinstance(current, (ast.Yield, ast.YieldFrom)):
            return True
        if not isinstance(current, (*FUNCTIONS, ast.Lambda, ast.ClassDef)):
            stack.extend(ast.iter_child_nodes(current))
    return False


def _returns_true(node: Function) -> bool:
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


def _is_failing(node: ast.stmt) -> bool:
    match node:
        case ast.Raise(exc=exc):
            return dotted(exc).rpartition(".")[2] == "AssertionError"
        case ast.Assert(test=ast.Constant(value=value)):
            return not value
        case ast.Expr(value=ast.Call(func=function)):
            return dotted(function) in ("pytest.fail", "self.fail", "fail")
    return False


def _escapes(handler: ast.ExceptHandler, around: ast.Try) -> bool:
    """Whether the failure goes on from a handler: it raises, fails or keeps the exception for later."""
    for node in (inner for statement in handler.body for inner in ast.walk(statement)):
        if isinstance(node, (ast.Raise, ast.Assert)) and constant(getattr(node, "test", None)) is not True:
            return True
        if isinstance(node, ast.Call) and dotted(node.func).rpartition(".")[2] in ("fail", "append", "put"):
            return True
        if isinstance(node, ast.Call) and dotted(node.func).rpartition(".")[2].startswith("assert"):
            return True
    return False


def _expression_of(node: ast.stmt) -> ast.expr | None:
    if isinstance(node, (ast.Expr, ast.Assign, ast.AnnAssign, ast.Return)):
        return node.value
    if isinstance(node, (ast.With, ast.AsyncWith, ast.For)) and node.body:
        return _expression_of(node.body[-1])
    return None


def _loaded(target: ast.expr) -> ast.expr:
    new = copy.copy(target)
    if hasattr(new, "ctx"):
        new.ctx = ast.Load()
    return new


def _each(iterated: ast.expr) -> ast.expr:
    return ast.Call(ast.Name("each"), [iterated], [])


def _joined(one: Env, other: Env, condition: str) -> Env:
    found = {}
    for name in one.keys() & other.keys():
        is_same = one[name] is other[name] or text_of(one[name]) == text_of(other[name])
        found[name] = one[name] if is_same else ast.Name("either")
    return found


def _bounded(node: ast.expr) -> ast.expr:
    """The expression; a name made of its digest where it is too long to carry along."""
    for count, _ in enumerate(ast.walk(node)):
        if count > _MAX_SIZE:
            digest = blake2b(text_of(node).encode("utf-8", "surrogatepass"), digest_size=6).hexdigest()
            return ast.Name(f"long_{digest}")
    return node


def _folded(node: ast.expr) -> ast.expr:
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


def _short(node: ast.AST) -> str:
    """The first line of a statement, bounded."""
    text = ast.unparse(node).partition("\n")[0].rstrip(":")
    return text if len(text) <= 120 else text[:119] + "…"
