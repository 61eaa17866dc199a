"""The values of the expressions of a test: names, helpers and fixtures are replaced by their definitions."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager

from loop_close.testcode.demands import BUILT_IN, Demand, TestAnalysis
from loop_close.testcode.nodes import (
    MAX_LOOP,
    MUTATORS,
    PURE,
    Env,
    after,
    argument_names,
    bounded,
    changed_by,
    changed_in,
    constant,
    copied,
    dotted,
    each,
    exception_names,
    folded,
    given_in,
    http_status,
    is_container,
    last_name,
    short,
    text_of,
    written_elements,
)
from loop_close.testcode.suite import (
    FUNCTIONS,
    Function,
    Module,
    Test,
    TestSuite,
    is_always_equal,
    is_context_manager,
    is_fixture,
    is_generator,
)

STOPS = {"skip", "skipTest", "SkipTest", "importorskip", "xfail", "Skipped", "skip_module"}
ASSERTION = re.compile(r"assert|expect(?:_|$)")
ASSERTIONS = {"AssertionError", "Exception", "BaseException", "Failed", ""}
_REPLACE = {"setattr", "object", "delattr"}
MAX_DEPTH = 4
_MAX_STEPS = 12_000


class TooMuchError(Exception):
    """A test is too large to be followed."""


class Values:
    """The names of a test while it is followed, and their values."""

    def __init__(self, suite: TestSuite, test: Test) -> None:
        self.suite = suite
        self.test = test
        self.module = test.home
        self.reading = TestAnalysis()
        self.env: Env = {}
        self.local: dict[str, tuple[Function | ast.Lambda, Env, Module]] = {}
        self.guards: list[str] = []
        self.dead: list[str] = []
        self.depth = 0
        self.is_brief = False
        self.steps = 0
        self.returned: list[tuple[ast.expr, int]] = []
        self.at_yield: Callable[[ast.expr | None], None] | None = None
        self.given = given_in(test.node)
        self.captured: dict[str, list[str]] = {}
        self.is_judged = False
        self.wrapped: tuple[str, Callable[[], None]] | None = None

    def block(self, body: Sequence[ast.stmt]) -> str:
        """Follow statements, as the heir of this class does."""
        raise NotImplementedError

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
                listed = written_elements(value)
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
                elif target.attr in ("__code__", "__call__", "__dict__"):
                    self.reading.patched.setdefault(dotted(target.value), short(node))
                else:
                    self.reading.patched.setdefault(f"{self.path(target.value)}.{target.attr}", short(node))
            case ast.Subscript(value=owner, slice=ast.Constant(value=str() as key)) if (
                dotted(owner) == "sys.modules"
            ):
                self.reading.patched[f"sys.modules.{key}"] = short(node)
            case ast.Subscript(value=owner, slice=index):
                key = next(self._keys(owner), "")
                if is_container(self.env.get(key)):
                    call = ast.Call(
                        ast.Attribute(self.env[key], "__setitem__"), [self.value(index), value], []
                    )
                    is_whole = isinstance(owner, (ast.Name, ast.Attribute))
                    new = changed_by(self.env[key], "__setitem__", call) if is_whole else after(call)
                    self.replace(key, new)

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
        """The expression with its names replaced by their values."""
        self.steps += 1
        if self.steps > (3 * _MAX_STEPS if self.is_brief else _MAX_STEPS):
            raise TooMuchError
        match node:
            case ast.Name(id=name):
                return self._state(self.env[name]) if name in self.env else self._global(node)
            case ast.Attribute(value=owner, attr=attr):
                is_free = isinstance(owner, ast.Name) and owner.id not in self.env
                if is_free and isinstance(owner, ast.Name) and owner.id in self.module.imports:
                    return self._global(node)
                found = self.value(owner)
                if isinstance(found, ast.Name) and f"{found.id}.{attr}" in self.env:
                    return self._state(self.env[f"{found.id}.{attr}"])
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
                parameters = [ast.arg(f"_{i}") for i in range(len(own))]
                return ast.Lambda(ast.arguments([], parameters, None, [], [], None, []), found)
            case ast.Yield(value=inner) | ast.YieldFrom(value=inner):
                if self.at_yield is not None:
                    self.at_yield(self.value(inner) if inner is not None else None)
                return ast.Name("sent")
            case ast.JoinedStr(values=parts) if not all(isinstance(part, ast.Constant) for part in parts):
                return bounded(folded(ast.JoinedStr([self.value(part) for part in parts])))
            case ast.FormattedValue(value=inner, conversion=conversion, format_spec=form):
                found = self.value(inner)
                if form is not None or conversion not in (-1, 115):
                    way = ast.Constant(f"{conversion} {form and text_of(form)}")
                    return ast.Call(ast.Name("format"), [found, way], [])
                return found if constant(found) is ... else ast.Constant(str(constant(found)))
            case ast.Constant():
                return node
            case ast.Compare() | ast.BinOp():
                with self.judging():
                    return folded(bounded(self._copied(node)))
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
        first = node.generators[0]
        listed = self.value(first.iter)
        items = written_elements(listed)
        is_plain = len(node.generators) == 1 and not first.ifs and not isinstance(node, ast.DictComp)
        if items is not None and not items and is_plain:
            return ast.List([])
        if is_plain and items is not None and len(items) <= MAX_LOOP and not self.is_brief:
            found = []
            for item in items:
                self.bind(first.target, item, ast.Pass(lineno=0))
                found.append(self.value(node.elt))  # type: ignore[union-attr]
            self.env = kept
            return bounded(ast.Set(found) if isinstance(node, ast.SetComp) else ast.List(found))
        conditions: list[ast.expr] = []
        for index, generator in enumerate(node.generators):
            self.bind(
                generator.target, each(self.value(generator.iter) if index else listed), ast.Pass(lineno=0)
            )
            conditions.extend(self.value(c) for c in generator.ifs)
        names = ast.comprehension(ast.Name("_"), ast.Name("_"), conditions, 0)
        if isinstance(node, ast.DictComp):
            made: ast.expr = ast.DictComp(self.value(node.key), self.value(node.value), [names])
        else:
            made = type(node)(self.value(node.elt), [names])
        self.env = kept
        return bounded(made)

    def _global(self, node: ast.Name | ast.Attribute) -> ast.expr:
        """A name of the module: an import without its module, a constant as its value."""
        name = dotted(node)
        imports = self.module.imports
        home, found = self.suite.resolve(self.module, name)
        if home is not None and isinstance(found, ast.expr) and self.depth < MAX_DEPTH:
            value = self._elsewhere(home, found)
            last = name.rpartition(".")[2]
            is_filled = constant(value) in ([], {}, ()) and last in self.given
            is_changed = is_filled or (is_container(value) and last in home.changed)
            return after(value) if is_changed and self.is_judged else value
        status = http_status(name, imports)
        if status is not None:
            return status
        if isinstance(found, ast.ClassDef) and is_always_equal(found):
            return ast.Name("ANY")
        if isinstance(node, ast.Attribute):
            owner = node.value.id if isinstance(node.value, ast.Name) else ""
            _, attribute = imports.get(owner, ("", ""))
            is_class = attribute[:1].isupper()
            if is_class or (node.attr in BUILT_IN and owner != "pytest"):
                return ast.Attribute(ast.Name(attribute or owner), node.attr)
            return ast.Name(node.attr)
        origin, attribute = imports.get(name, ("", ""))
        if attribute in BUILT_IN - {"approx", "ANY"}:  # it is not what is built in
            return ast.Attribute(ast.Name(origin.rpartition(".")[2]), attribute)
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
        if isinstance(found, ast.ClassDef) and is_always_equal(found):
            return ast.Name("ANY")
        value = self.env.get(name)
        if value is not None and isinstance(value, ast.Name) and value.id in self.local:
            found, home = self.local[value.id][0], self.local[value.id][2]
        is_helper = isinstance(found, FUNCTIONS) and not is_fixture(found) and not is_context_manager(found)
        if home is not None and self.depth < MAX_DEPTH and (is_helper or isinstance(found, ast.Lambda)):
            with self.judging(False):
                outer, self.at_yield = self.at_yield, None
                inlined = self.enter(found, self.arguments(found, node), home)  # type: ignore[arg-type]
                self.at_yield = outer
            if isinstance(found, FUNCTIONS) and is_generator(found):
                inlined = None  # it does not run yet
            if found is not None and (changed_in(found) or given_in(found)):
                self.may_change((key for arg in node.args for key in self._keys(arg)), node.func)
            if inlined is not None:
                return self._state(inlined)
        if name in ("asyncio.run", "anyio.run") and len(node.args) == 1:
            return self.value(node.args[0])
        function = self.value(node.func)
        if isinstance(node.func, ast.Attribute) and node.func.attr == "enter_context" and node.args:
            reason = self.swallower(node.args[0])
            if reason:
                self.dead.append(reason)
        last = last_name(function) or getattr(function, "attr", "")
        is_known = last in PURE or ASSERTION.match(last) is not None
        with self.judging(is_known):
            args = [self.value(arg) for arg in node.args]
            keywords = [ast.keyword(k.arg, self.value(k.value)) for k in node.keywords]
        keywords.sort(key=lambda k: k.arg or "~")
        if name in ("pytest.approx", "approx"):
            function = ast.Name("approx")
        found_call = ast.Call(function, args, keywords)
        if not is_known:
            self._pass_on(node, found_call)
        return bounded(folded(found_call))

    # What may change a container

    @contextmanager
    def judging(self, is_judged: bool = True) -> Iterator[None]:
        """What is read within is what the test demands something of, or not."""
        kept, self.is_judged = self.is_judged, is_judged
        yield
        self.is_judged = kept

    def judged(self, node: ast.expr) -> ast.expr:
        """The expression, as what the test demands something of."""
        with self.judging():
            return self.value(node)

    def _state(self, value: ast.expr) -> ast.expr:
        """The value of a name; for a container of which something is demanded, its possible later value."""
        changed: ast.expr | None = getattr(value, "_after", None)
        return changed if changed is not None and self.is_judged else value

    def _keys(self, node: ast.AST) -> Iterator[str]:
        """The names and attributes in an argument through which a container can be changed."""
        match node:
            case ast.Name(id=name):
                yield name
                yield from self.captured.get(name, ())
            case ast.Attribute(value=ast.Name(id="self"), attr=attr):
                yield f"self.{attr}"
            case ast.Call(func=ast.Name(id=name)) if name in PURE:
                return
            case ast.Lambda():
                yield from (*changed_in(node), *given_in(node))
            case _:
                for child in ast.iter_child_nodes(node):
                    yield from self._keys(child)

    def _pass_on(self, node: ast.Call, call: ast.Call) -> None:
        """A call is given a container that it may change, or changes one itself."""
        if isinstance(node.func, ast.Attribute) and node.func.attr in MUTATORS:
            key = next(self._keys(node.func.value), "")
            if isinstance(node.func.value, (ast.Name, ast.Attribute)) and is_container(self.env.get(key)):
                self.replace(key, changed_by(self.env[key], node.func.attr, call))
            else:
                self.may_change([key], call)
        given = (key for arg in (*node.args, *(k.value for k in node.keywords)) for key in self._keys(arg))
        self.may_change(given, call)

    def may_change(self, keys: Iterable[str], by: ast.expr, *, is_any: bool = False) -> None:
        """Containers are no longer known where something is demanded of them.

        :param is_any: also names that are not containers, where a function binds them again.
        """
        for key in dict.fromkeys(keys):
            value = self.env.get(key)
            if value is not None and (is_any or is_container(value) or hasattr(value, "_after")):
                new = copied(value)
                new._after = after(by)  # type: ignore[attr-defined]
                self.replace(key, new)

    def replace(self, key: str, new: ast.expr) -> None:
        """Give a name, and all others for the same object, their new value."""
        old = self.env[key]
        self.env |= {other: new for other, value in self.env.items() if value is old}

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
        named = zip(function.args.kwonlyargs, function.args.kw_defaults, strict=True)
        defaults |= {arg.arg: default for arg, default in named if default is not None}
        return {name: self.value(default) for name, default in defaults.items()} | given

    def enter(self, function: Function | ast.Lambda, arguments: Env, home: Module) -> ast.expr | None:
        """Follow a function of the suite in place; the value it returns, None if that is not one expression."""
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
            value: ast.expr | None = ast.Constant(None)
            if self.returned:
                first, guards = self.returned[0]
                is_one = guards <= kept and len({text_of(each) for each, _ in self.returned}) == 1
                value = first if is_one else None
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

    def swallower(self, context: ast.expr) -> str:
        """In words, if a context manager swallows the failure of an assertion."""
        made = self.value(context)
        last = last_name(made)
        if not isinstance(made, ast.Call) or ASSERTIONS.isdisjoint(
            n for arg in made.args for n in exception_names(arg)
        ):
            return ""
        if last == "suppress":
            return f"`{short(context)}` around it swallows its failure"
        is_expected = last in ("raises", "assertRaises", "assertRaisesRegex")
        return f"`{short(context)}` around it expects it to fail" if is_expected else ""

    def is_foreign(self, node: ast.expr) -> bool:
        """Whether something is imported from the code under test, or from a package that is not known."""
        return self.module.is_foreign(dotted(node)) and self.resolve(node)[1] is None

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
            case [_, ast.Constant(value=str()), *_] if last == "spy":
                return True
            case [target_node, ast.Constant(value=str() as attribute), *_] if last in _REPLACE:
                self.reading.patched[f"{self.path(target_node)}.{attribute}"] = text
            case [target_node, *_] if last == "multiple" or (last == "dict" and owner.endswith("patch")):
                given = [k.arg or "" for k in call.keywords]
                if last == "dict" and len(call.args) > 1 and isinstance(call.args[1], ast.Dict):
                    given += [str(k.value) for k in call.args[1].keys if isinstance(k, ast.Constant)]
                path = dotted(target_node)
                if isinstance(target_node, ast.Constant):
                    path = str(target_node.value)
                self.reading.patched.update((f"{path}.{arg}", text) for arg in given)
            case [target_node, ast.Constant(value=str() as key), *_] if last == "setitem":
                self.reading.patched[f"{dotted(target_node)}.{key}"] = text
            case _:
                return False
        return True

    # What the test is given: marks, parameters, fixtures, and what Hypothesis draws

    def rows(self, mark: ast.expr, node: Function) -> list[Env] | None:
        """The rows of a ``parametrize``; a symbol if they are not written out."""
        name = last_name(mark)
        if not isinstance(mark, ast.Call) or name not in ("parametrize", "expand", "parameterized"):
            return None
        args = {k.arg: k.value for k in mark.keywords}
        args |= zip(("argnames", "argvalues"), mark.args, strict=False)
        if name != "parametrize":
            own = [arg.arg for arg in node.args.args]
            names, values = own[1:] if self.test.owners else own, mark.args[0] if mark.args else None
        else:
            names, values = argument_names(args.get("argnames")), args.get("argvalues")
        listed = written_elements(self.value(values)) if values is not None else None
        if listed is None:
            rows = f"each({text_of(self.value(values)) if values is not None else ''})"
            is_one = len(names) == 1
            return [{n: ast.Name(rows if is_one else f"{rows}[{i}]") for i, n in enumerate(names)}]
        if not listed:
            self.reading.stops["parametrize"] = "has no parameters left"
        if self.is_brief:  # the rows themselves are demanded, and one of them is followed
            self.reading.demands += [
                Demand("call", f"row {text_of(item)}", text=f"row {short(item)}") for item in listed
            ]
            listed = listed[:1]
        found = []
        for item in listed:
            if isinstance(item, ast.Call) and last_name(item) == "param":
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

    def drawn(self, node: Function) -> None:
        """Note what Hypothesis draws the arguments from, and how often."""
        given = next((d for d in node.decorator_list if last_name(d) == "given"), None)
        if not isinstance(given, ast.Call):
            return
        names = [arg.arg for arg in (*node.args.args, *node.args.kwonlyargs)]
        named = {k.arg: k.value for k in given.keywords if k.arg}
        if given.args:
            named |= dict(zip(names[-len(given.args) :], given.args, strict=False))
        for index, (name, strategy) in enumerate(sorted(named.items(), key=lambda item: text_of(item[1]))):
            self.env[name] = ast.Name(f"drawn_{index}")
            demand = Demand("drawn", text_of(self.value(strategy)), text=short(given), line=given.lineno)
            self.reading.demands.append(demand)
        examples: ast.expr = ast.Constant(100)
        for decorator in node.decorator_list:
            if isinstance(decorator, ast.Call) and last_name(decorator) == "settings":
                examples = next((k.value for k in decorator.keywords if k.arg == "max_examples"), examples)
        count = constant(self.value(examples))
        self.reading.demands.append(Demand(">=", "max_examples", text_of(examples), count, line=given.lineno))

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
