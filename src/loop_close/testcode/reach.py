"""Follow a test from its first statement to its last: what it demands, and what of that can still fail it."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from hashlib import blake2b

from loop_close.testcode.demands import Demand, TestAnalysis, demands_of, of_call, raising
from loop_close.testcode.nodes import (
    MAX_LOOP,
    after,
    changed_in,
    combined,
    constant,
    dotted,
    each,
    escapes,
    exception_names,
    expression_of,
    folded,
    given_in,
    is_container,
    is_failing,
    joined,
    last_name,
    loaded,
    short,
    text_of,
    written_elements,
)
from loop_close.testcode.suite import (
    FUNCTIONS,
    Function,
    Scope,
    Test,
    TestSuite,
    is_context_manager,
    is_generator,
    returns_true,
    wrapper_of,
)
from loop_close.testcode.values import (
    ASSERTIONS,
    MAX_DEPTH,
    STOPS,
    TooMuchError,
    Values,
)

_EXITS = {"sys.exit", "os._exit", "pytest.exit", "exit", "quit", "os.abort", "SystemExit", "os.kill"}
_RAISES = {"raises", "warns", "deprecated_call"}
_RAISES |= {"assertRaises", "assertRaisesRegex", "assertWarns", "assertWarnsRegex"}
_BEFORE = ("setUpClass", "setup_class", "asyncSetUp", "setUp", "setup_method", "setup")
_AFTER = ("tearDown", "teardown_method", "asyncTearDown")


def read(suite: TestSuite, test: Test, is_brief: bool = False) -> TestAnalysis:
    """Follow a test, with its fixtures, decorators and parameters.

    :param is_brief: of parameters and loops only the first round is followed, as for a test that is too large.
    """
    walk = Walk(suite, test)
    walk.is_brief = is_brief
    try:
        walk.run()
    except (RecursionError, TooMuchError):
        if not is_brief:
            return read(suite, test, is_brief=True)
        whole = ast.dump(ast.Module([*test.node.body, *map(ast.Expr, test.node.decorator_list)], []))
        digest = blake2b(whole.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()
        walk.reading.excess = digest
    reading = walk.reading
    if not (reading.demands or reading.dead or reading.excess):  # all it demands is that nothing is raised
        for call, why in reading.made:
            demand = Demand("runs", text_of(call), text=text_of(call), line=test.node.lineno)
            if why:
                reading.dead.append((demand, why))
            else:
                reading.demands.append(demand)
    reading.steps, reading.is_brief = walk.steps, is_brief
    return reading


class Walk(Values):
    """One pass over a test and what it uses."""

    # The whole of a test

    def run(self) -> None:
        """Follow the whole test."""
        test, node = self.test, self.test.node
        decorators = [d for owner in test.owners for d in owner.decorator_list] + list(node.decorator_list)
        marks = [*decorators, *self._marks()]
        rows = [found for mark in marks if (found := self.rows(mark, node)) is not None]
        for mark in marks:
            self._mark(mark)
        for statement in self.module.values:
            self.stop_by(statement)
        for owner, values in self.module.scope.attributes.items():
            if owner.partition(".")[0] in self.module.scope.imports:
                for name, value in values.items():
                    self.reading.patched[f"{owner}.{name}"] = f"{owner}.{name} = {text_of(value)}"
        if "yield" in test.home.source(node) and is_generator(node):
            self.dead.append("has a `yield`: pytest does not run it")
        if "__code__" in self.module.scope.attributes.get(test.name, {}):
            self.dead.append(f"`{test.name}.__code__` is replaced")
        self.drawn(node)
        for place, fixture in self.suite.autouse(test):
            self.fixture(place, fixture)
        used = [m for m in marks if isinstance(m, ast.Call) and last_name(m) == "usefixtures"]
        for name in (str(arg.value) for mark in used for arg in mark.args if isinstance(arg, ast.Constant)):
            self.ask(name)
        for name in _BEFORE:
            self._method(name)
        base = dict(self.env)
        for row in combined(rows):
            self.env = {**base, **row}
            self._decorated([d for d in node.decorator_list if not _is_known(d)], node)
        for name in _AFTER:
            self._method(name)

    def _mark(self, node: ast.expr, depth: int = 0) -> None:
        """Note what a mark skips or replaces."""
        if isinstance(node, (ast.List, ast.Tuple)):
            for element in node.elts:
                self._mark(element, depth)
            return
        name = dotted(node)
        last = name.rpartition(".")[2]
        if last in ("skip", "skipIf", "skipUnless", "skipif", "xfail", "expectedFailure"):
            condition = node.args[0] if isinstance(node, ast.Call) and node.args else None
            if last not in ("skipif", "skipIf", "skipUnless", "xfail"):
                condition = None
            value = constant(condition) if condition is not None else True
            if value is ... or bool(value) is not (last == "skipUnless"):
                key = f"{last} {text_of(condition) if condition is not None else ''}"
                self.reading.stops[key] = f"has `@{short(node)}`"
        elif last in ("patch", "object", "dict", "multiple") and isinstance(node, ast.Call):
            self.patch(node)
        elif depth < 3 and "." not in name and isinstance(node, ast.Name):
            _, value_node = self.suite.resolve(self.module, name)
            if isinstance(value_node, ast.expr):
                self._mark(value_node, depth + 1)

    def _marks(self) -> Iterator[ast.expr]:
        """The marks of ``pytestmark``, of the module and of the classes."""
        places = dict.fromkeys((self.module, self.test.module))
        values: list[ast.AST | None] = [place.scope.bound.get("pytestmark") for place in places]
        for owner in self.test.owners:
            values.append(self.suite.members(self.module, owner).get("pytestmark", (None, None))[1])
        for value in values:
            if isinstance(value, (ast.List, ast.Tuple)):
                yield from value.elts
            elif isinstance(value, ast.expr):
                yield value

    def _method(self, name: str) -> None:
        for owner in self.test.owners:
            home, member = self.suite.members(self.module, owner).get(name, (None, None))
            if home is not None and isinstance(member, FUNCTIONS):
                self.enter(member, {}, home)

    def _decorated(self, decorators: Sequence[ast.expr], node: Function) -> None:
        """Run the body through the decorators that are written in the suite, the outermost first."""
        for index, decorator in enumerate(decorators):
            home, found = self.suite.resolve(self.module, dotted(decorator))
            if self.is_foreign(decorator):
                with self.inside(f"@{short(decorator)}"):
                    self._decorated(decorators[index + 1 :], node)
                return
            if home is None or not isinstance(found, FUNCTIONS):
                continue
            wrapper, parameter = wrapper_of(found, isinstance(decorator, ast.Call))
            if wrapper is None:
                continue
            inner = decorators[index + 1 :]
            is_called = [False]

            def body(inner: Sequence[ast.expr] = inner, is_called: list[bool] = is_called) -> None:
                is_called[0] = True
                self._decorated(inner, node)

            outer, self.wrapped = self.wrapped, (parameter, body)
            if is_context_manager(found):
                self.at_yield = lambda _: body()
                self.enter(found, {}, home)
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
        kept = len(self.guards)
        self.block(node.body)
        del self.guards[kept:]
        self.wrapped = wrapped

    def _parameters_of(self, node: Function) -> None:
        names = [arg.arg for arg in (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs)]
        for name in names[1:] if self.test.owners else names:
            if name not in self.env:
                self.ask(name)

    # Statements

    def block(self, body: Sequence[ast.stmt]) -> str:
        """Follow statements; in words why nothing after them is reached, if so."""
        for index, statement in enumerate(body):
            reason = self.compound(statement) or self.statement(statement)
            if reason:
                if index + 1 < len(body):
                    with self.passing(reason):
                        self.block(body[index + 1 :])
                return reason
        return ""

    def statement(self, node: ast.stmt) -> str:
        """Follow one statement; in words why nothing after it is reached, if so."""
        match node:
            case ast.Assert(test=test):
                if isinstance(test, ast.Constant) and not test.value:
                    return self._fails(node)
                self._demand(demands_of(self.judged(test)), node)
            case ast.Expr(value=value):
                return self._expression(value, node)
            case ast.Assign(targets=targets, value=value):
                found = self.value(value)
                self._made(found)
                for target in targets:
                    self.bind(target, found, node)
            case ast.AnnAssign(target=target, value=ast.expr() as value):
                self.bind(target, self.value(value), node)
            case ast.AugAssign(target=target, op=op, value=value):
                left = self.value(loaded(target))
                self.bind(target, folded(ast.BinOp(left, op, self.value(value))), node)
            case ast.Return(value=value):
                self.returned.append((self.value(value) if value else ast.Constant(None), len(self.guards)))
                return f"returns before it (line {node.lineno})"
            case ast.Raise(exc=exc):
                name = dotted(exc)
                last = name.rpartition(".")[2]
                if last in STOPS:
                    self.stop(node, last)
                    return f"raises {last} before it (line {node.lineno})"
                if last == "AssertionError":
                    return self._fails(node)
                if last in _EXITS:
                    return f"`{short(node)}` before it"
                return f"raises before it (line {node.lineno})"
            case ast.Continue() | ast.Break():
                return f"`{short(node)}` before it"
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                self.local[node.name] = (node, self.env, self.module)
                self.env[node.name] = ast.Name(node.name)
                self.captured[node.name] = [*changed_in(node), *given_in(node)]
                self.may_change(given_in(node), self.env[node.name])
                self.may_change(changed_in(node), self.env[node.name], is_any=True)
            case ast.Delete(targets=targets):
                for target in targets:
                    self.value(loaded(target))
        return ""

    def compound(self, node: ast.stmt) -> str:
        """Follow a statement that has others in it."""
        match node:
            case ast.If():
                return self._if(node)
            case ast.For() | ast.AsyncFor():
                return self._for(node)
            case ast.While(test=test):
                never = constant(self.judged(test))
                if never is not ... and not never:
                    with self.passing(f"`{short(node)}` around it never holds"):
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
            case ast.Try() | ast.TryStar():
                return self._try(node)
            case ast.Match(subject=subject, cases=cases):
                text = text_of(self.value(subject))
                for case in cases:
                    with self.guarded(f"{text} is {text_of(case.pattern)}"):
                        self.block(case.body)
        return ""

    def _fails(self, node: ast.stmt) -> str:
        self._demand([Demand("truthy", "False")], node)
        return f"fails before it (line {node.lineno})"

    def _expression(self, value: ast.expr, node: ast.stmt) -> str:
        if isinstance(value, ast.Await):
            value = value.value
        if not isinstance(value, ast.Call):
            is_unused = isinstance(value, ast.GeneratorExp)
            with self.passing(f"`{short(value)}` is never consumed" if is_unused else ""):
                self.value(value)
            return ""
        name = dotted(value.func)
        last = name.rpartition(".")[2]
        if self.stop_by(value):
            return f"`{short(value)}` before it" if last != "importorskip" else ""
        if name in _EXITS:
            return f"`{short(value)}` before it"
        if last == "fail" and name.partition(".")[0] in ("pytest", "self", "fail"):
            return self._fails(node)
        if last == "assume" and value.args and self.is_hypothesis(name):
            self.guards.append(text_of(self.judged(value.args[0])))
            return ""
        _, function = self.resolve(value)
        patched = self.patch(value)
        is_unused = (
            isinstance(function, FUNCTIONS) and is_generator(function) and not is_context_manager(function)
        )
        with self.passing(f"`{short(value)}` is never consumed" if is_unused else ""):
            found = self.value(value)
        if not patched and isinstance(found, ast.Call):
            demands = of_call(found) if last_name(found.func) != "isinstance" else None
            if demands is not None:
                self._demand(demands, node)
            self._made(found)
        return ""

    def is_hypothesis(self, name: str) -> bool:
        """Whether a name is imported from Hypothesis."""
        return self.module.imports.get(name.partition(".")[0], ("", ""))[0].partition(".")[0] == "hypothesis"

    def _made(self, found: ast.expr) -> None:
        if isinstance(found, ast.Call):
            self.reading.made.append((found, self.dead[-1] if self.dead else ""))

    def _demand(self, demands: list[Demand], node: ast.stmt) -> None:
        text, line = short(node), node.lineno
        if not demands:
            self.reading.void.append(text)
        for demand in demands:
            demand = replace(demand, text=text, line=line, guards=frozenset(self.guards))
            if self.dead:
                self.reading.dead.append((demand, self.dead[-1]))
            else:
                self.reading.demands.append(demand)

    def _if(self, node: ast.If) -> str:
        test = self.judged(node.test)
        value = constant(test)
        if value is not ...:
            taken, other = (node.body, node.orelse) if value else (node.orelse, node.body)
            with self.passing(f"`if {short(node.test)}` around it {'always' if value else 'never'} holds"):
                self._aside(other)
            return "returns before it" if self.block(taken) else ""
        for body, positive in ((node.body, False), (node.orelse, True)):
            if len(body) == 1 and is_failing(body[0]):
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
            self.env = then if ends_otherwise else joined(then, self.env)
        if ends and ends_otherwise:
            return f"both ways of `if {short(node.test)}` end before it"
        if ends != ends_otherwise:
            self.guards.append(fails if ends else holds)
        return ""

    def _aside(self, body: Sequence[ast.stmt]) -> None:
        kept, local, returned = dict(self.env), dict(self.local), list(self.returned)
        self.block(body)
        self.env, self.local, self.returned = kept, local, returned

    def _for(self, node: ast.For | ast.AsyncFor) -> str:
        iterated = self.value(node.iter)
        listed = written_elements(iterated)
        if listed is not None and not listed:
            with self.passing(f"the loop around it goes over nothing: `{short(node)}`"):
                self._aside(node.body)
            self.block(node.orelse)
            return ""
        kept = len(self.guards)
        if listed is not None and len(listed) <= (1 if self.is_brief else MAX_LOOP):
            ended = ""
            for item in listed:
                self.bind(node.target, item, node)
                with self.passing(ended):
                    reason = self.block(node.body)
                ended = ended or ("" if reason.startswith("`continue`") else reason)
        else:
            self._forget(node)
            self.bind(node.target, each(iterated), node)
            self.block(node.body)
        del self.guards[kept:]
        self.block(node.orelse)
        return ""

    def _forget(self, loop: ast.stmt) -> None:
        """A name that a loop binds again has no one value in it."""
        for inner in ast.walk(loop):
            if isinstance(inner, ast.Name) and isinstance(inner.ctx, ast.Store) and inner.id in self.env:
                self.env[inner.id] = ast.Name("varying")
        for name in changed_in(loop):
            if is_container(self.env.get(name)):
                self.replace(name, after(ast.Name("varying")))
        self.may_change(given_in(loop), ast.Name("varying"))

    def _with(self, node: ast.With | ast.AsyncWith, items: list[ast.withitem]) -> str:
        if not items:
            return "returns before it" if self.block(node.body) else ""
        item, rest = items[0], items[1:]
        context = item.context_expr
        if isinstance(context, (ast.Name, ast.Attribute)):  # made before
            made = self.value(context)
            context = made if isinstance(made, ast.Call) else context
        last = last_name(context)
        is_written = isinstance(self.resolve(context)[1], (*FUNCTIONS, ast.ClassDef))
        if isinstance(context, ast.Call) and not is_written:
            last = last_name(self.value(context.func)) or last
        outcome = ""

        def body(value: ast.expr | None = None) -> None:
            nonlocal outcome
            if item.optional_vars is not None:
                entered = value or ast.Call(ast.Name("entered"), [self.value(context)], [])
                self.bind(item.optional_vars, entered, node)
            outcome = self._with(node, rest)

        if isinstance(context, ast.Call):
            if last in _RAISES and len(context.args) < 2 + last.endswith("Regex"):
                self._raises(context, node, last, body)
                return ""
            if last == "suppress":
                with self._swallowing([exception_names(arg) for arg in context.args], f"`{short(context)}`"):
                    body()
                return ""
            if self.patch(context):
                body(ast.Name("patched"))
                return outcome
        home, found = self.resolve(context)
        if home is not None and isinstance(context, ast.Call):
            if isinstance(found, FUNCTIONS) and is_context_manager(found) and self.depth < MAX_DEPTH:
                outer, self.at_yield = self.at_yield, body
                self.enter(found, self.arguments(found, context), home)
                self.at_yield = outer
                return outcome
            leave = Scope(found.body).bound.get("__exit__") if isinstance(found, ast.ClassDef) else None
            if isinstance(leave, FUNCTIONS) and returns_true(leave):
                with self.passing(f"`{short(context)}` around it swallows its failure"):
                    body()
                return ""
        names = {n.id for n in ast.walk(item.optional_vars or ast.Pass()) if isinstance(n, ast.Name)}
        is_used = any(isinstance(n, ast.Name) and n.id in names for s in node.body for n in ast.walk(s))
        is_foreign = self.is_foreign(context) and not is_used
        kept = len(self.dead)
        with self.inside(f"with {short(context)}") if is_foreign else nullcontext():
            body(self.value(context))
        del self.dead[kept:]
        return outcome

    def _raises(self, context: ast.Call, node: ast.stmt, last: str, body: Callable[..., None]) -> None:
        kinds = exception_names(context.args[0]) if context.args else ["Exception"]
        kind = self.value(context.args[0]) if context.args else ast.Name("DeprecationWarning")
        match = next((self.value(k.value) for k in context.keywords if k.arg == "match"), None)
        if last.endswith("Regex") and len(context.args) > 1:
            match = self.value(context.args[1])
        inner = [s for s in getattr(node, "body", []) if not isinstance(s, ast.Pass)]
        is_expected = last in ("raises", "assertRaises", "assertRaisesRegex") and ASSERTIONS & set(kinds)
        position = len(self.reading.demands)
        if is_expected:
            with self.passing(f"`{short(context)}` around it expects it to fail"):
                body(ast.Name("caught"))
        else:
            body(ast.Name("caught"))
        with self.passing("it is to raise"):
            subject = self._done(inner[-1]) if inner else None
        demand = raising(kind, subject, match)
        self._demand([replace(demand, op="raises")], node)
        if not self.dead:
            self.reading.demands.insert(position, self.reading.demands.pop())

    def _done(self, node: ast.stmt) -> ast.expr:
        """What a statement does, as an expression."""
        match node:
            case ast.Assign(targets=[ast.Attribute() | ast.Subscript() as target], value=value):
                return ast.Call(ast.Name("set"), [self.value(loaded(target)), self.value(value)], [])
            case ast.Delete(targets=[target, *_]):
                return ast.Call(ast.Name("delete"), [self.value(loaded(target))], [])
            case ast.Raise(exc=ast.expr() as exc):
                return ast.Call(ast.Name("raise_"), [self.value(exc)], [])
        found = expression_of(node)
        calls = [inner for inner in ast.walk(node) if isinstance(inner, ast.Call)]
        return self.value(found if found is not None else calls[-1] if calls else ast.Constant(None))

    def _try(self, node: ast.Try | ast.TryStar) -> str:
        for handler in node.handlers:  # try: f(), fail() / except ValueError: pass
            kinds = exception_names(handler.type)
            tail = [*node.body, *node.orelse]
            if len(tail) > 1 and is_failing(tail[-1]) and "BaseException" not in kinds and "" not in kinds:
                is_caught_too = "Exception" in kinds and tail[-1] in node.body
                if handler.type is not None and not is_caught_too:
                    with self.passing("it is to raise"):
                        self.block(tail[:-1])
                        done = self._done(tail[-2])
                    self._demand([raising(self.value(handler.type), done)], node)
                    self._aside(handler.body)
                    self.block(node.finalbody)
                    return ""
        swallowed = [h for h in node.handlers if not escapes(h)]
        ends = ""
        if any(isinstance(inner, ast.Return) for s in node.finalbody for inner in ast.walk(s)):
            with self.passing("the `return` in `finally` swallows its failure"):
                self.block(node.body)
            ends = "returns before it"
        elif swallowed:
            names = [exception_names(handler.type) for handler in swallowed]
            with self._swallowing(names, "`except " + " | ".join(", ".join(n) for n in names) + "`"):
                self.block(node.body)
        else:
            ends = self.block(node.body)
        for handler in node.handlers:
            if handler.name:
                self.env[handler.name] = ast.Name("caught")
            kept = len(self.guards)
            with self.guarded(f"except {', '.join(exception_names(handler.type))}"):
                self.block(handler.body)
            del self.guards[kept:]
        self.block(node.orelse)
        self.block(node.finalbody)
        return "returns before it" if ends and not node.handlers else ""

    @contextmanager
    def _swallowing(self, kinds: list[list[str]], shown: str) -> Iterator[None]:
        names = {name for group in kinds for name in group}
        if names & ASSERTIONS:
            with self.passing(f"{shown} around it swallows its failure"):
                yield
        else:
            with self.guarded(*sorted(f"no {name}" for name in names)):
                yield

    @contextmanager
    def passing(self, reason: str) -> Iterator[None]:
        """What is demanded within does not fail the test, if there is a reason."""
        kept = len(self.dead)
        self.dead += [reason] if reason else []
        yield
        if reason:
            del self.dead[kept:]

    @contextmanager
    def inside(self, shown: str) -> Iterator[None]:
        """What is demanded within is inside a context that may swallow its failure."""
        guard = f"context {1 + sum(guard.startswith('context ') for guard in self.guards)}"
        self.reading.contexts.setdefault(guard, shown)
        with self.guarded(guard):
            yield

    @contextmanager
    def guarded(self, *guards: str) -> Iterator[None]:
        """What is demanded within is demanded under a condition alone."""
        self.guards.extend(guards)
        yield
        for guard in guards:
            if guard in self.guards:
                self.guards.remove(guard)


def _is_known(decorator: ast.expr) -> bool:
    name = dotted(decorator)
    return name.startswith(("pytest.", "mark.")) or ".mark." in name
